// The numbers of the bundle format, for its writer and its reader. Offsets stand in
// cache/README.md.
#pragma once

#include <diecast/base/hash.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace diecast::bundle_format {

inline constexpr std::uint64_t kAlign = 64;  // of entries
inline constexpr std::size_t kHeaderBytes = 64, kPlaceBytes = 40, kFooterBytes = 96;
inline constexpr std::uint64_t kMostEntries = 1u << 20, kMostCompilerBytes = 1u << 20;
inline constexpr std::size_t kCovered = 64;  // of the footer, by the file's SHA-256

struct Footer {
  std::uint64_t index_offset = 0, entries = 0, compiler_bytes = 0, file_bytes = 0;
  Digest checksum;  // of the index and the compilers' names
};

std::array<std::byte, kHeaderBytes> header();
// Without the SHA-256, which comes after it.
std::array<std::byte, kCovered> write_footer(const Footer& footer);
bool read_footer(ByteSpan bytes, Footer& out);  // false: it does not end a bundle

void put(std::byte* to, std::uint64_t value, int count);
std::uint64_t take(const std::byte* from, int count);
inline std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kAlign - 1) / kAlign * kAlign;
}

}  // namespace diecast::bundle_format
