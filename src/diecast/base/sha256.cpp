// The hash function of FIPS 180-4, section 6.2, on 64-byte blocks.
#include <diecast/base/sha256.h>

#include <algorithm>
#include <bit>

namespace diecast {
namespace {

constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t word_at(const std::byte* from) {
  return std::to_integer<std::uint32_t>(from[0]) << 24 |
         std::to_integer<std::uint32_t>(from[1]) << 16 |
         std::to_integer<std::uint32_t>(from[2]) << 8 | std::to_integer<std::uint32_t>(from[3]);
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::block(const std::byte* from) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = word_at(from + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                              ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const std::uint32_t two =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  const std::array<std::uint32_t, 8> sum = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += sum[i];
}

void Sha256::add(ByteSpan bytes) {
  std::size_t used = bytes_ % 64;
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (used == 0 && bytes.size() >= 64) {
      block(bytes.data());
      bytes = bytes.subspan(64);
      continue;
    }
    const std::size_t count = std::min(64 - used, bytes.size());
    std::copy_n(bytes.begin(), count, buffer_.begin() + static_cast<std::ptrdiff_t>(used));
    bytes = bytes.subspan(count);
    used += count;
    if (used == 64) block(buffer_.data()), used = 0;
  }
}

Sha256Digest Sha256::finish() {
  const std::uint64_t bits = bytes_ * 8;
  const std::array<std::byte, 64> zeros = {};
  const std::byte one{0x80};
  add(ByteSpan(&one, 1));
  add(ByteSpan(zeros).first((120 - bytes_ % 64) % 64));
  std::array<std::byte, 8> length;
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  add(length);
  Sha256Digest out;
  for (std::size_t i = 0; i < 32; ++i) {
    out[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return out;
}

std::optional<Sha256Digest> parse_sha256(std::string_view text) {
  if (text.size() != 64) return std::nullopt;
  Sha256Digest out;
  for (std::size_t i = 0; i < 32; ++i) {
    const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = static_cast<std::byte>(high << 4 | low);
  }
  return out;
}

}  // namespace diecast
