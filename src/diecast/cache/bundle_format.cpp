// Header and footer of a bundle. The header is constant; what there is to say stands in the footer,
// so that a bundle is written in one go and its digest taken on the way.
#include <diecast/cache/bundle_format.h>

#include <algorithm>
#include <cstring>

namespace diecast::bundle_format {
namespace {

constexpr char kMagic[] =
    "\x89"
    "DCB\r\n\x1a\n";
constexpr char kEnd[] = "\r\nDCBEND";
constexpr std::uint64_t kMajor = 1, kMinor = 0;

}  // namespace

void put(std::byte* to, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint64_t take(const std::byte* from, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return value;
}

std::array<std::byte, kHeaderBytes> header() {
  std::array<std::byte, kHeaderBytes> out = {};
  std::memcpy(out.data(), kMagic, 8);
  put(out.data() + 8, kMajor, 2);
  put(out.data() + 10, kMinor, 2);
  put(out.data() + 12, kHeaderBytes, 4);
  return out;
}

std::array<std::byte, kCovered> write_footer(const Footer& footer) {
  std::array<std::byte, kCovered> out = {};
  put(out.data(), footer.index_offset, 8);
  put(out.data() + 8, footer.entries, 8);
  put(out.data() + 16, footer.compiler_bytes, 8);
  put(out.data() + 24, footer.file_bytes, 8);
  put(out.data() + 32, footer.checksum.high, 8);
  put(out.data() + 40, footer.checksum.low, 8);
  std::memcpy(out.data() + 56, kEnd, 8);  // 8 bytes before it are reserved
  return out;
}

bool read_footer(ByteSpan bytes, Footer& out) {
  if (bytes.size() < kCovered) return false;
  out = {take(bytes.data(), 8),
         take(bytes.data() + 8, 8),
         take(bytes.data() + 16, 8),
         take(bytes.data() + 24, 8),
         {take(bytes.data() + 32, 8), take(bytes.data() + 40, 8)}};
  return std::ranges::equal(write_footer(out), bytes.first(kCovered));
}

}  // namespace diecast::bundle_format
