// Digests and the tagged records they are taken of. hash.cpp is the only file that sees xxHash.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

inline ByteSpan as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string hex(ByteSpan bytes);  // two lower-case digits a byte

// A digest of 128 bits (XXH3). It finds accidents and proves nothing against an attacker.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Digest&) const = default;
  std::string hex() const;  // 32 lower-case digits, high word first
};

Digest xxh3_128(ByteSpan bytes);

// A record of tagged, length-prefixed fields: u16 tag, u32 length, bytes (little-endian). Two
// different field lists never make the same bytes ("a","bc" is not "ab","c").
class Record {
 public:
  struct Field {
    std::uint16_t tag;
    ByteSpan bytes;  // points into the record it was read from
    std::string_view text() const;
  };

  Record() = default;
  explicit Record(ByteSpan whole) : bytes_(whole.begin(), whole.end()) {}  // the bytes of one

  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  Record& add(std::uint16_t tag, ByteSpan bytes);
  Record& add(std::uint16_t tag, std::string_view text);
  Record& add(std::uint16_t tag, std::uint64_t number);  // eight bytes

  ByteSpan bytes() const { return bytes_; }
  Digest digest() const { return xxh3_128(bytes_); }

  // Takes the first field off the bytes of a record that are left; none if the lengths do not add
  // up.
  static std::optional<Field> take(ByteSpan& left);
  // Returns the fields of a record's bytes in order, or none if the lengths do not add up.
  static std::optional<std::vector<Field>> parse(ByteSpan bytes);
  static std::optional<std::uint64_t> number(const Field& field);

 private:
  Bytes bytes_;
};

}  // namespace diecast
