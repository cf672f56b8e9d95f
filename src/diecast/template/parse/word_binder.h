// Gives bare words their meaning: beside a parameter that has such a word, `linear` is
// LAYOUT_linear, and beside a float option 7 is 7.0. And says what kind of value an expression has.
// Not a public header.
#pragma once

#include <diecast/template/expr_node.h>
#include <diecast/template/parse/token.h>
#include <diecast/template/template.h>

#include <string>
#include <string_view>

namespace diecast {

// The parameters and the lets that an expression names must be declared by then.
class WordBinder {
 public:
  explicit WordBinder(const Template& tmpl) : template_(tmpl) {}

  // `line` is where the expression stands. Errors: parse_error for what is no word of the set that
  // stands on the other side, and for an order of words.
  Result<void> bind(Expression& expression, const SourceLine& line) const;
  // Of a bound expression: an element type, a word, a bool or else a number.
  ParameterType type(const Expression& expression) const;
  // The parameter whose words a bound expression has, or none.
  const Parameter* set(const Expression& expression) const;

 private:
  using Node = Expression::Node;
  struct At {
    Expression& expression;
    const SourceLine& line;
  };
  Result<void> walk(Node& node, const At& at) const;
  Result<void> bind_reals(Node& node, const At& at) const;
  Result<void> give_real(Node& node, const Parameter& set, const At& at) const;
  const Parameter* real_of(const Node& node) const;
  Result<void> give(Node& node, const Parameter& set, const At& at) const;
  Result<void> give_name(Node& node, const Parameter& set, const At& at) const;
  const Parameter* set_of(const Node& node) const;
  Error no_number(const Node& node, const At& at) const;
  bool is_real(const Node& node) const;
  bool is_bool(const Node& node) const;
  bool is_element_type(const Node& node) const;

  const Template& template_;
};

}  // namespace diecast
