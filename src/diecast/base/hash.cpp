// XXH3 and the record format; see hash.h.
#include <diecast/base/hash.h>
#include <diecast/base/hash_avx2.h>

#define XXH_INLINE_ALL  // header only: nothing to link, one copy of the code in this file
#include <xxhash.h>

#include <cstring>

namespace diecast {

std::string Digest::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(32, '0');
  for (int i = 0; i < 16; ++i) {
    out[i] = kDigits[(high >> (60 - 4 * i)) & 15];
    out[16 + i] = kDigits[(low >> (60 - 4 * i)) & 15];
  }
  return out;
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
  const auto put = [&](std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  };
  put(tag, 2);
  put(bytes.size(), 4);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

Record& Record::add(std::uint16_t tag, std::string_view text) { return add(tag, as_bytes(text)); }

Record& Record::add(std::uint16_t tag, std::uint64_t number) {
  std::byte bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(number >> (8 * i));
  return add(tag, ByteSpan(bytes));
}

std::optional<Record::Field> Record::take(ByteSpan& left) {
  constexpr std::size_t kHead = 6;  // tag and length
  if (left.size() < kHead) return std::nullopt;
  const auto byte = [&](std::size_t at) { return std::to_integer<std::uint32_t>(left[at]); };
  const auto tag = static_cast<std::uint16_t>(byte(0) | byte(1) << 8);
  const std::size_t length = byte(2) | byte(3) << 8 | byte(4) << 16 | byte(5) << 24;
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
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(field.bytes[i]) << (8 * i);
  return value;
}

}  // namespace diecast
