// Offsets are those of cache/FORMAT.md, written down here once more: the format's own code would
// repair only what it understands.
#include "fuzz/repair.h"

#include <diecast/base/hash.h>
#include <diecast/base/sha256.h>

#include <cstdint>
#include <cstring>

namespace diecast::testing {
namespace {

std::uint64_t take(const std::string& from, std::size_t offset, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(from[offset + static_cast<std::size_t>(i)])}
             << 8 * i;
  }
  return value;
}

void put(std::string& to, std::size_t offset, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    to[offset + static_cast<std::size_t>(i)] = static_cast<char>(value >> 8 * i);
  }
}

// The digest of a piece, if there is such a piece.
void put_digest(std::string& to, std::size_t offset, std::uint64_t from, std::uint64_t size) {
  if (from > to.size() || size > to.size() - from) return;
  const Digest digest = xxh3_128(as_bytes(to).subspan(from, size));
  put(to, offset, digest.high, 8);
  put(to, offset + 8, digest.low, 8);
}

}  // namespace

std::string repaired_entry(std::string_view input, bool lengths) {
  std::string out(input);
  constexpr std::size_t kTrailer = 16;
  if (out.size() < 128 + kTrailer) return out;
  std::uint64_t header = take(out, 12, 4);
  if (header < 128 || header > out.size() - kTrailer) put(out, 12, header = 128, 4);
  const std::uint64_t record = take(out, 24, 4), metadata = take(out, 28, 4);
  std::uint64_t payload = take(out, 32, 8);
  if (lengths) {
    payload = (header + record + metadata + 63) / 64 * 64;
    put(out, 16, out.size(), 8);
    put(out, 32, payload, 8);
    put(out, 40, out.size() - kTrailer - payload, 8);
    std::memcpy(out.data() + out.size() - kTrailer, "\r\nDCEEND", 8);
    put(out, out.size() - 8, out.size(), 8);
  }
  put_digest(out, 64, header, record);
  put_digest(out, 80, header, payload - header);
  put_digest(out, 96, payload, take(out, 40, 8));
  put_digest(out, header - 16, 0, header - 16);
  return out;
}

std::string repaired_bundle(std::string_view input) {
  std::string out(input);
  constexpr std::size_t kHeader = 64, kFooter = 96, kSha = 32;
  if (out.size() < kHeader + kFooter) return out;
  const std::size_t footer = out.size() - kFooter;
  const std::uint64_t index = take(out, footer, 8);
  put(out, footer + 24, out.size(), 8);
  put_digest(out, footer + 32, index, footer - index);
  Sha256 hash;
  hash.add(as_bytes(out).first(out.size() - kSha));
  const Sha256Digest digest = hash.finish();
  std::memcpy(out.data() + out.size() - kSha, digest.data(), kSha);
  return out;
}

}  // namespace diecast::testing
