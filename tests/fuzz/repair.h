// Mutants of entries and bundles with checksums that fit again: without that a reader turns nearly
// all of them away at the first digest, and what lies behind it is never fuzzed.
#pragma once

#include <string>
#include <string_view>

namespace diecast::testing {

// The digests of header, record, metadata and payload, as far as the header's lengths say where
// those are. `lengths`: first the file's and the payload's length are made those of the bytes.
std::string repaired_entry(std::string_view input, bool lengths);

// Likewise the file's length, the index's checksum and the SHA-256 at the end.
std::string repaired_bundle(std::string_view input);

}  // namespace diecast::testing
