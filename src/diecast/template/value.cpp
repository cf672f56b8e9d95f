// Element types, values and bindings; see value.h. The one spelling of a value is made here and
// nowhere else.
#include <diecast/base/text.h>
#include <diecast/template/value.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace diecast {
namespace {

constexpr std::string_view kDTypeNames[] = {"bf16", "f16", "f32", "e4m3", "e5m2", "e8m0", "u8",
                                            "i32",  "u32", "i64", "f64",  "i8",   "u16",  "u64"};

}  // namespace

std::string_view dtype_name(DType type) { return name_of(type, kDTypeNames); }

std::optional<DType> parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kDTypeNames); ++i)
    if (kDTypeNames[i] == name) return static_cast<DType>(i);
  return std::nullopt;
}

const std::vector<std::string>& dtype_names() {
  static const auto& names =
      *new std::vector<std::string>(std::begin(kDTypeNames), std::end(kDTypeNames));
  return names;
}

Value Value::of(DType type) {
  const auto number = static_cast<std::int64_t>(type);
  if (dtype_bits(type) == 0) return {ParameterType::type, number, cat("DType(", number, ")")};
  return {ParameterType::type, number, std::string(dtype_name(type))};
}

Value Value::real(float finite) {
  const float value = finite == 0 ? 0.0f : finite;
  std::array<char, 32> text;
  char* const begin = text.data();
  char* const end = std::to_chars(begin, begin + text.size(), value).ptr;
  return {ParameterType::real, std::bit_cast<std::int32_t>(value), std::string(begin, end)};
}

std::optional<Value> parse_real(std::string_view text) {
  float value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return Value::real(value);
}

std::string cpp_real(std::string_view spelling) {
  return cat(spelling, spelling.find_first_of(".e") == spelling.npos ? ".0f" : "f");
}

std::string Value::spelling() const { return word.empty() ? cat(number) : word; }

Bindings::Bindings(std::initializer_list<std::pair<std::string, Value>> entries) {
  for (const auto& [name, value] : entries) set(name, value);
}

Bindings& Bindings::set(std::string name, Value value) {
  for (auto& entry : entries_) {
    if (entry.first != name) continue;
    entry.second = std::move(value);
    return *this;
  }
  entries_.emplace_back(std::move(name), std::move(value));
  return *this;
}

Bindings& Bindings::set(std::string name, std::int64_t number) {
  return set(std::move(name), Value::integer(number));
}

Bindings& Bindings::set(std::string name, bool value) {
  return set(std::move(name), Value::boolean(value));
}

Bindings& Bindings::set(std::string name, DType type) {
  return set(std::move(name), Value::of(type));
}

Bindings& Bindings::set(std::string name, double finite) {
  return set(std::move(name), Value::real(static_cast<float>(finite)));
}

Bindings& Bindings::set(std::string name, std::string_view word) {
  return set(std::move(name), Value{ParameterType::enumeration, 0, std::string(word)});
}

const Value* Bindings::find(std::string_view name) const {
  for (const auto& entry : entries_)
    if (entry.first == name) return &entry.second;
  return nullptr;
}

}  // namespace diecast
