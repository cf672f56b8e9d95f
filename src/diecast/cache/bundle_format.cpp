// Header and footer of a bundle. The header is constant; what there is to say stands in the footer,
// so that a bundle is written in one go and its digest taken on the way.
#include <diecast/base/bytes.h>
#include <diecast/cache/bundle_format.h>

#include <algorithm>
#include <cstring>

namespace diecast::bundle_format {
namespace {

using little_endian::put;
using little_endian::take;

constexpr char kBundleMagic[] =
    "\x89"
    "DCB\r\n\x1a\n";
constexpr char kBundleEnd[] = "\r\nDCBEND";
constexpr std::uint64_t kMajor = 1, kMinor = 0;

}  // namespace

std::array<std::byte, kBundleHeaderBytes> header() {
  std::array<std::byte, kBundleHeaderBytes> out = {};
  std::memcpy(out.data(), kBundleMagic, 8);
  put(out.data() + 8, kMajor, 2);
  put(out.data() + 10, kMinor, 2);
  put(out.data() + 12, kBundleHeaderBytes, 4);
  return out;
}

std::array<std::byte, kCovered> write_footer(const Footer& footer) {
  std::array<std::byte, kCovered> out = {};
  put(out.data(), footer.index_offset, 8);
  put(out.data() + 8, footer.entries, 8);
  put(out.data() + 16, footer.compiler_bytes, 8);
  put(out.data() + 24, footer.file_bytes, 8);
  put(out.data() + 32, footer.checksum);
  std::memcpy(out.data() + 56, kBundleEnd, 8);  // 8 bytes before it are reserved
  return out;
}

bool read_footer(ByteSpan bytes, Footer& out) {
  if (bytes.size() < kCovered) return false;
  const auto number = [&](std::size_t at) { return take<std::uint64_t>(bytes.data() + at); };
  out = {number(0), number(8), number(16), number(24),
         little_endian::take_digest(bytes.data() + 32)};
  return std::ranges::equal(write_footer(out), bytes.first(kCovered));
}

}  // namespace diecast::bundle_format
