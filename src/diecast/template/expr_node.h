// The tree of an expression and the arithmetic it means; shared by the parser, the evaluator, the
// C++ printer and the compiled form. Not a public header.
#pragma once

#include <diecast/template/expr.h>

#include <bit>
#include <memory>
#include <optional>

namespace diecast {

enum class Operation : std::uint8_t {
  literal,
  real,  // a float option's value: stands beside one alone, and is the number of its bits
  name,
  bits,
  negate,
  invert,
  multiply,
  divide,
  remainder,
  add,
  subtract,
  shift_left,
  shift_right,
  bit_and,
  bit_or,
  bit_xor,
  complement,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  both,
  either,
  choose,
  minimum,
  maximum,
  ceil_div,
  align_up
};

// No chain of operations and no nest of parentheses goes deeper: hostile text cannot overflow the
// stack of anything that walks a tree, and Program's stack is an array.
inline constexpr int kDeepest = 64;

struct Expression::Node {
  Operation operation = Operation::literal;
  std::int64_t number = 0;  // literal
  std::string name;         // name; bits: its type; literal: `true` or `false`, if so written;
                            // real: as it is spelled
  std::unique_ptr<Node> a, b, c;
  int depth = 1;
  bool bracketed = false;
  int column = 0;  // of its operator, or of its first character
};

enum class Fault : std::uint8_t { none, overflow, zero_divisor, negative_length, bad_shift };

// ceil_div and align_up speak of lengths: a negative one is a fault instead of a rounding puzzle.
inline Fault round_up(Operation operation, std::int64_t a, std::int64_t b,
                      std::int64_t* out) noexcept {
  if (b == 0) return Fault::zero_divisor;
  if (a < 0 || b < 0) return Fault::negative_length;
  if ((b & (b - 1)) == 0)  // blocks and threads come in powers of two: no division
    *out = (a >> std::countr_zero(static_cast<std::uint64_t>(b))) + ((a & (b - 1)) != 0);
  else
    *out = a / b + (a % b != 0);
  if (operation == Operation::ceil_div) return Fault::none;
  return __builtin_mul_overflow(*out, b, out) ? Fault::overflow : Fault::none;
}

// A negative number has no shift to the left in C++17, and no number one by more than its bits.
inline Fault shift(Operation operation, std::int64_t a, std::int64_t b,
                   std::int64_t* out) noexcept {
  const bool left = operation == Operation::shift_left;
  if (b < 0 || b > 63 || (left && a < 0)) return Fault::bad_shift;
  if (left && a > INT64_MAX >> b) return Fault::overflow;
  *out = left ? a << b : a >> b;
  return Fault::none;
}

// The value of every operation that needs all its operands. `b` is ignored by those of one.
// Always inlined: a launch runs several, and the value then stays in a register.
[[gnu::always_inline]] inline Fault apply(Operation operation, std::int64_t a, std::int64_t b,
                                          std::int64_t* out) noexcept {
  const auto overflow = [](bool happened) { return happened ? Fault::overflow : Fault::none; };
  const auto value = [out](std::int64_t number) { return *out = number, Fault::none; };
  switch (operation) {
    case Operation::negate:
      return overflow(__builtin_sub_overflow(std::int64_t{0}, a, out));
    case Operation::invert:
      return value(a == 0);
    case Operation::multiply:
      return overflow(__builtin_mul_overflow(a, b, out));
    case Operation::add:
      return overflow(__builtin_add_overflow(a, b, out));
    case Operation::subtract:
      return overflow(__builtin_sub_overflow(a, b, out));
    case Operation::divide:
    case Operation::remainder:
      if (b == 0) return Fault::zero_divisor;
      if (b == -1 && a == INT64_MIN) return Fault::overflow;
      return value(operation == Operation::divide ? a / b : a % b);
    case Operation::shift_left:
    case Operation::shift_right:
      return shift(operation, a, b, out);
    case Operation::bit_and:
      return value(a & b);
    case Operation::bit_or:
      return value(a | b);
    case Operation::bit_xor:
      return value(a ^ b);
    case Operation::complement:
      return value(~a);
    case Operation::less:
      return value(a < b);
    case Operation::less_equal:
      return value(a <= b);
    case Operation::greater:
      return value(a > b);
    case Operation::greater_equal:
      return value(a >= b);
    case Operation::equal:
      return value(a == b);
    case Operation::not_equal:
      return value(a != b);
    case Operation::minimum:
      return value(a < b ? a : b);
    case Operation::maximum:
      return value(a > b ? a : b);
    default:
      return round_up(operation, a, b, out);
  }
}

// The value of a tree in which every name that counts is constant. A subtree that has none
// (overflow, division by zero) is not folded: whether it is ever reached is known only at launch.
std::optional<std::int64_t> fold(const Expression::Node& node, const Names& constant);

}  // namespace diecast
