// The integer expressions of `require`, `launch`, shapes and facts: signed 64-bit, checked for
// overflow and division by zero. One parse serves three readers: evaluation by diecast, the
// static_assert of the rendered source, and a compiled form whose evaluation costs nanoseconds.
//
//   + - * / %  << >> & | ^ ~  ! && ||  == != < <= > >=  in {a, b}  ?:
//   min(a,b) max(a,b) ceil_div(a,b) align_up(a,b)  bits(TYPE)  true false
//
// Names: parameters, lets, sizes, `host` (0 or 1), `cc` (90, 100, ... ; 0 on host); in `launch`
// also `sm_count` and `shared_optin`. An element type is written by its name (IN == bf16), and so
// is a word beside a parameter that has it (LAYOUT == linear); anywhere else a word is
// LAYOUT_linear.
#pragma once

#include <diecast/base/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// A name's value, or none if it is unknown where the expression stands.
using Names = std::function<std::optional<std::int64_t>(std::string_view)>;

class Expression {
 public:
  struct Node;

  Expression() = default;  // the literal 0
  // `where` ("quantize.cu:12") and `column` (of text's first character, from 1) go into errors, and
  // so does the whole `line` the text stands in, if it is given.
  static Result<Expression> parse(std::string_view text, std::string_view where, int column,
                                  std::string_view line = {});
  static Expression literal(std::int64_t value);

  const std::string& text() const { return text_; }
  // Every identifier with its column, functions and the argument of bits() left out.
  struct Name {
    std::string name;
    int column;
  };
  const std::vector<Name>& names() const { return names_; }
  const std::vector<Name>& types() const { return types_; }  // arguments of bits()

  // bits(T) asks `names` for "bits:T". Errors: value_not_allowed (overflow, division by zero,
  // rounding of a negative number) with the values, unknown_parameter.
  Result<std::int64_t> evaluate(const Names& names) const;
  // The same in C++, for a static_assert: names as `spell` writes them (by default as they are),
  // bits(T) as diecast::bits<T>(), arithmetic widened to 64 bits.
  using Spell = std::function<std::string(std::string_view)>;
  std::string cpp(const Spell& spell = {}) const;

 private:
  friend class Program;
  friend class StepProgram;
  friend class ExpressionParser;
  friend class WordBinder;
  std::shared_ptr<Node> root_;
  std::string text_, where_;
  std::vector<Name> names_, types_;
};

// An expression with its constants folded; what is left are numbered slots, filled before a launch.
class Program {
 public:
  Program() = default;
  // `constant` gives the value of a name known now; `slot` the number of one known at launch.
  static Result<Program> compile(const Expression& expression, const Names& constant,
                                 const std::function<std::optional<int>(std::string_view)>& slot);
  // No allocation, no lock. False on overflow or division by zero.
  bool evaluate(std::span<const std::int64_t> slots, std::int64_t* result) const noexcept;
  // The value, if no slot is left; none as well if there is no value (1 / 0).
  std::optional<std::int64_t> constant() const;
  std::optional<int> slot() const;  // the one whose number is the value, if it is as simple as that
  // The slot whose number, rounded up to a power of two and perhaps divided by a smaller one, is
  // the value; and how many zero bits the value then ends in.
  struct Rounded {
    int slot, zeros;
  };
  std::optional<Rounded> rounded_slot() const;

 private:
  friend class ProgramWriter;
  struct Instruction {
    std::uint8_t operation, right;  // where the right value comes from
    std::int32_t jump;
    std::int64_t operand;
  };
  std::vector<Instruction> code_;
  std::size_t slots_ = 0;  // how many must be there
};

}  // namespace diecast
