// Bundles of kernels that were warmed or found: see cache/bundle.h for the file.
#pragma once

#include <diecast/cache/bundle.h>
#include <diecast/runtime/warm.h>

#include <string>
#include <vector>

namespace diecast {

// An entry of a bundle with its place in the order of entries.
struct BundleEntry {
  Digest key;
  std::string compiler;
  Bytes bytes;
};

// That of each kernel that was warmed. Errors: the first that an outcome has.
Result<std::vector<BundleEntry>> bundle_entries(Runtime& runtime,
                                                std::span<const WarmOutcome> outcomes);

// Writes entries in any order; of one key and compiler the first stays. Errors: those of
// BundleWriter.
Result<BundleWriter::Written> write_bundle(const std::string& path,
                                           std::vector<BundleEntry> entries);

}  // namespace diecast
