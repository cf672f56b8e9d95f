// GNU build ids, which tell two builds of one shared library apart.
#pragma once

#include <diecast/base/hash.h>

#include <cstddef>
#include <string>

namespace diecast {

// The build id among a segment's notes, as lower-case hex; empty if there is none.
std::string build_id_in_notes(ByteSpan notes, std::size_t alignment);
// Reads the build id of a shared object on disk without loading it; empty if it has none.
std::string build_id_of_file(const std::string& path);

}  // namespace diecast
