// Numbers as little-endian bytes, put down and taken up one by one: no structure is ever laid over
// a file's bytes, so alignment, padding and byte order of this machine do not matter.
#pragma once

#include <diecast/base/hash.h>

#include <cstddef>
#include <cstdint>

namespace diecast::little_endian {

// The lowest `count` bytes of a value.
inline void put(std::byte* to, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}
inline void put(std::byte* to, const Digest& digest) {
  put(to, digest.high, 8);
  put(to + 8, digest.low, 8);
}

// The next sizeof(T) bytes.
template <class T>
T take(const std::byte* from) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  }
  return static_cast<T>(value);
}
inline Digest take_digest(const std::byte* from) {
  return {take<std::uint64_t>(from), take<std::uint64_t>(from + 8)};
}

}  // namespace diecast::little_endian
