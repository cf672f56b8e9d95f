// SHA-256 (FIPS 180-4), for pins that somebody outside checks too (`sha256sum`). Inside diecast
// digests only find accidents, and XXH3 does that.
#pragma once

#include <diecast/base/hash.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace diecast {

using Sha256Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  Sha256();
  void add(ByteSpan bytes);
  Sha256Digest finish();  // once; afterwards the object is spent

 private:
  void block(const std::byte* from);
  std::array<std::uint32_t, 8> state_;
  std::array<std::byte, 64> buffer_;
  std::uint64_t bytes_ = 0;
};

// Parses 64 hex digits of either case; none for anything else.
std::optional<Sha256Digest> parse_sha256(std::string_view text);

}  // namespace diecast
