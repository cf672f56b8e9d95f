// XXH3 and the record format; see hash.h.
#include <diecast/base/bytes.h>
#include <diecast/base/hash.h>
#include <diecast/base/hash_avx2.h>
#include <diecast/base/machine.h>

#define XXH_INLINE_ALL  // header only: nothing to link, one copy of the code in this file
#include <xxhash.h>

#include <iterator>

namespace diecast {
namespace {

constexpr std::size_t kHead = 6;  // of a record's field: tag and length

}  // namespace

std::string hex(ByteSpan bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    out += kDigits[std::to_integer<unsigned>(byte >> 4)];
    out += kDigits[std::to_integer<unsigned>(byte & std::byte{15})];
  }
  return out;
}

std::string Digest::hex() const {
  std::byte bytes[16];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::byte>(high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<std::byte>(low >> (56 - 8 * i));
  }
  return diecast::hex(bytes);
}

Digest xxh3_128(ByteSpan bytes) {
  return has_avx2() ? xxh3_128_avx2(bytes) : xxh3_128_baseline(bytes);
}

Digest xxh3_128_baseline(ByteSpan bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string_view Record::Field::text() const {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Record& Record::add(std::uint16_t tag, ByteSpan bytes) {
  std::byte head[kHead];
  little_endian::put(head, tag, 2);
  little_endian::put(head + 2, bytes.size(), 4);
  bytes_.insert(bytes_.end(), std::begin(head), std::end(head));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

Record& Record::add(std::uint16_t tag, std::string_view text) { return add(tag, as_bytes(text)); }

Record& Record::add(std::uint16_t tag, std::uint64_t number) {
  std::byte bytes[8];
  little_endian::put(bytes, number, 8);
  return add(tag, ByteSpan(bytes));
}

std::optional<Record::Field> Record::take(ByteSpan& left) {
  if (left.size() < kHead) return std::nullopt;
  const auto tag = little_endian::take<std::uint16_t>(left.data());
  const std::size_t length = little_endian::take<std::uint32_t>(left.data() + 2);
  left = left.subspan(kHead);
  if (length > left.size()) return std::nullopt;
  const Field field{tag, left.first(length)};
  left = left.subspan(length);
  return field;
}

std::optional<std::vector<Record::Field>> Record::parse(ByteSpan bytes) {
  std::vector<Field> fields;
  while (!bytes.empty()) {
    const auto field = take(bytes);
    if (!field) return std::nullopt;
    fields.push_back(*field);
  }
  return fields;
}

std::optional<std::uint64_t> Record::number(const Field& field) {
  if (field.bytes.size() != 8) return std::nullopt;
  return little_endian::take<std::uint64_t>(field.bytes.data());
}

}  // namespace diecast
