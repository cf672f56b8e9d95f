// A template's parameters are bound to values: integers, booleans, element types, words of an
// enumeration and floats. Each has exactly one spelling, the same in labels, manifests, tuning
// tables, events and on the command line.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast {

// Element types of tensors and scalars. Packed E2M1 codes are u8: two codes a byte, low nibble
// first.
enum class DType : std::uint8_t {
  bf16,
  f16,
  f32,
  e4m3,
  e5m2,
  e8m0,
  u8,
  i32,
  u32,
  i64,
  f64,
  i8,
  u16,
  u64
};

std::string_view dtype_name(DType type);  // "bf16"; "unknown" for a number that is no type
std::optional<DType> parse_dtype(std::string_view name);
constexpr int dtype_bits(DType type) {  // 0: a number that is no type
  constexpr std::uint8_t bits[] = {16, 16, 32, 8, 8, 8, 8, 32, 32, 64, 64, 8, 16, 64};
  const auto at = static_cast<std::size_t>(type);
  return at < std::size(bits) ? bits[at] : 0;
}
const std::vector<std::string>& dtype_names();  // in the order of the enum

enum class ParameterType : std::uint8_t { integer, boolean, type, enumeration, real };

struct Value {
  ParameterType type = ParameterType::integer;
  std::int64_t number = 0;  // the integer; 0 or 1; the DType's or the enumerator's ordinal; of a
                            // float its 32 bits
  std::string word;         // types and enumerators: their name; floats: the shortest decimal

  static Value integer(std::int64_t number) { return {ParameterType::integer, number, {}}; }
  static Value boolean(bool value) { return {ParameterType::boolean, value, {}}; }
  static Value of(DType type);
  static Value real(float finite);  // -0 is 0
  std::string spelling() const;     // 4096, 1, bf16, linear, 0.1
  bool operator==(const Value&) const = default;
};

// Reads a decimal ("7", "0.1", "1e-5") as the nearest f32; none if it is no finite one.
std::optional<Value> parse_real(std::string_view text);
// Which decimals these are.
inline constexpr std::string_view kReals =
    "a number such as 0.1: 0, or of 1.4e-45 to 3.4028235e+38 in magnitude";
// A float's spelling in C++: "7" is "7.0f".
std::string cpp_real(std::string_view spelling);

// A map from parameter name to value, in the order in which they were set.
class Bindings {
 public:
  Bindings() = default;
  Bindings(std::initializer_list<std::pair<std::string, Value>> entries);

  Bindings& set(std::string name, Value value);  // replaces an earlier value of that name
  Bindings& set(std::string name, std::int64_t number);
  Bindings& set(std::string name, int number) { return set(std::move(name), std::int64_t{number}); }
  Bindings& set(std::string name, bool value);
  Bindings& set(std::string name, DType type);
  Bindings& set(std::string name, double finite);  // rounded to f32
  // Sets a word that the template's parameter has still to read: the right-hand side in a spelling.
  Bindings& set(std::string name, std::string_view word);
  Bindings& set(std::string name, const char* word) {
    return set(std::move(name), std::string_view(word));
  }

  const Value* find(std::string_view name) const;
  const std::vector<std::pair<std::string, Value>>& entries() const { return entries_; }
  bool operator==(const Bindings&) const = default;

 private:
  std::vector<std::pair<std::string, Value>> entries_;
};

}  // namespace diecast
