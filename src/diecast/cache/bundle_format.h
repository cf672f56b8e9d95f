// The numbers of the bundle format, for its writer and its reader. Offsets stand in
// cache/FORMAT.md.
#pragma once

#include <diecast/cache/entry_header.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace diecast::bundle_format {

inline constexpr std::size_t kBundleHeaderBytes = 64, kPlaceBytes = 40, kFooterBytes = 96;
inline constexpr std::uint64_t kMostEntries = 1u << 20, kMostCompilerBytes = 1u << 20;
inline constexpr std::size_t kCovered = 64;  // of the footer, by the file's SHA-256

struct Footer {
  std::uint64_t index_offset = 0, entries = 0, compiler_bytes = 0, file_bytes = 0;
  Digest checksum;  // of the index and the compilers' names
};

std::array<std::byte, kBundleHeaderBytes> header();
// Without the SHA-256, which comes after it.
std::array<std::byte, kCovered> write_footer(const Footer& footer);
bool read_footer(ByteSpan bytes, Footer& out);  // false: it does not end a bundle

}  // namespace diecast::bundle_format
