// Evaluating an expression and printing it as C++; see expr.h.
#include <diecast/base/text.h>
#include <diecast/template/expr.h>
#include <diecast/template/parse/expression_parser.h>
#include <diecast/template/value.h>

#include <set>

namespace diecast {
namespace {

using Node = Expression::Node;

struct OperationText {
  Operation operation;
  const char* text;
  int precedence;
};
constexpr OperationText kTexts[] = {{Operation::literal, "", 13},
                                    {Operation::real, "", 13},
                                    {Operation::name, "", 13},
                                    {Operation::bits, "", 13},
                                    {Operation::negate, "-", 12},
                                    {Operation::invert, "!", 12},
                                    {Operation::multiply, " * ", 11},
                                    {Operation::divide, " / ", 11},
                                    {Operation::remainder, " % ", 11},
                                    {Operation::add, " + ", 10},
                                    {Operation::subtract, " - ", 10},
                                    {Operation::shift_left, " << ", 9},
                                    {Operation::shift_right, " >> ", 9},
                                    {Operation::bit_and, " & ", 6},
                                    {Operation::bit_or, " | ", 4},
                                    {Operation::bit_xor, " ^ ", 5},
                                    {Operation::complement, "~", 12},
                                    {Operation::less, " < ", 8},
                                    {Operation::less_equal, " <= ", 8},
                                    {Operation::greater, " > ", 8},
                                    {Operation::greater_equal, " >= ", 8},
                                    {Operation::equal, " == ", 7},
                                    {Operation::not_equal, " != ", 7},
                                    {Operation::both, " && ", 3},
                                    {Operation::either, " || ", 2},
                                    {Operation::choose, "", 1},
                                    {Operation::minimum, "expression::min", 13},
                                    {Operation::maximum, "expression::max", 13},
                                    {Operation::ceil_div, "ceil_div", 13},
                                    {Operation::align_up, "align_up", 13}};

const OperationText& text_of(const Node& node) {
  return kTexts[static_cast<std::size_t>(node.operation)];
}

bool grows(Operation operation) {
  return operation == Operation::multiply || operation == Operation::add ||
         operation == Operation::subtract || operation == Operation::shift_left;
}

bool is_bitwise(Operation operation) {
  return operation >= Operation::shift_left && operation <= Operation::complement;
}

bool is_function(Operation operation) { return operation >= Operation::minimum; }

// Prints C++ that means the same in 64 bits: the constants of a source are ints, so the left side
// of what can grow is widened. Parentheses beyond need keep compilers from warning of a && b || c.
class CppPrinter {
 public:
  explicit CppPrinter(const Expression::Spell& spell) : spell_(spell) {}

  std::string print(const Node& node) const {
    switch (node.operation) {
      case Operation::literal:
        return cat(node.number, node.number > INT32_MAX ? "LL" : "");
      case Operation::real:
        return cpp_real(node.name);
      case Operation::name:
        return spell_(node.name);
      case Operation::bits:
        return cat("diecast::bits<", node.name, ">()");
      case Operation::negate:
      case Operation::invert:
        return text_of(node).text + child(*node.a, 13, node);
      case Operation::complement:
        return cat("~diecast::i64(", print(*node.a), ")");
      case Operation::choose:
        return cat(child(*node.a, 2, node), " ? ", child(*node.b, 2, node), " : ",
                   child(*node.c, 1, node));
      default:
        break;
    }
    const OperationText& text = text_of(node);
    if (is_function(node.operation))
      return cat("diecast::", text.text, "(", print(*node.a), ", ", print(*node.b), ")");
    const bool wide = grows(node.a->operation) || is_function(node.a->operation);
    const bool widen = grows(node.operation) && !wide;
    const std::string left =
        widen ? cat("diecast::i64(", print(*node.a), ")") : child(*node.a, text.precedence, node);
    return left + text.text + child(*node.b, text.precedence + 1, node);
  }

 private:
  std::string child(const Node& node, int weakest, const Node& parent) const {
    const int mine = text_of(node).precedence, outer = text_of(parent).precedence;
    const bool mixed = mine == 3 && outer == 2;  // && under ||
    const bool compared = (outer == 7 || outer == 8) && (mine == 7 || mine == 8 || mine == 12);
    const bool bitwise = mine < 13 && (is_bitwise(node.operation) || is_bitwise(parent.operation));
    const bool negative = node.operation == Operation::literal && node.number < 0;
    return mine < weakest || mixed || compared || bitwise || negative ? cat("(", print(node), ")")
                                                                      : print(node);
  }

  const Expression::Spell& spell_;
};

struct Failure {
  Fault fault = Fault::none;
  const Node* at = nullptr;
  bool unknown = false;  // `at` is a name that nobody knows
};

bool evaluate_node(const Node& node, const Names& names, std::int64_t* out, Failure* failure) {
  if (node.operation == Operation::literal || node.operation == Operation::real)
    return *out = node.number, true;
  if (node.operation == Operation::name || node.operation == Operation::bits) {
    const auto value = names(node.operation == Operation::bits ? "bits:" + node.name : node.name);
    if (!value) return *failure = {Fault::none, &node, true}, false;
    return *out = *value, true;
  }
  std::int64_t a = 0, b = 0;
  if (!evaluate_node(*node.a, names, &a, failure)) return false;
  if (node.operation == Operation::choose)
    return evaluate_node(a != 0 ? *node.b : *node.c, names, out, failure);
  if (node.operation == Operation::both && a == 0) return *out = 0, true;
  if (node.operation == Operation::either && a != 0) return *out = 1, true;
  if (node.b && !evaluate_node(*node.b, names, &b, failure)) return false;
  if (node.operation == Operation::both || node.operation == Operation::either)
    return *out = b != 0, true;
  const Fault fault = apply(node.operation, a, b, out);
  if (fault != Fault::none) *failure = {fault, &node, false};
  return fault == Fault::none;
}

const char* fault_text(Fault fault) {
  switch (fault) {
    case Fault::zero_divisor:
      return "divides by zero";
    case Fault::negative_length:
      return "rounds a negative number";
    case Fault::bad_shift:
      return "shifts a negative number to the left, or by less than 0 or more than 63 bits";
    default:
      return "does not fit in 64 bits";
  }
}

std::string same_name(std::string_view name) { return std::string(name); }

}  // namespace

Result<Expression> Expression::parse(std::string_view text, std::string_view where, int column,
                                     std::string_view line) {
  SourceLine source{std::string(where), std::string(line.empty() ? text : line),
                    line.empty() ? column : 1};
  const auto begin = static_cast<std::size_t>(column - source.first_column);
  DIECAST_TRY(Tokens tokens, Tokens::read(source, begin, begin + text.size()));
  DIECAST_TRY(Expression expression, ExpressionParser::parse(tokens));
  if (const Token& rest = tokens.peek(); rest.kind != Token::Kind::end)
    return tokens.error(rest, cat("the expression should end before ", rest.shown()),
                        "remove it, or write the operator that joins it");
  return expression;
}

Expression Expression::literal(std::int64_t value) {
  auto node = std::make_shared<Node>();
  node->number = value;
  Expression expression;
  expression.root_ = std::move(node);
  expression.text_ = cat(value);
  return expression;
}

Result<std::int64_t> Expression::evaluate(const Names& names) const {
  if (!root_) return std::int64_t{0};
  std::int64_t value = 0;
  Failure failure;
  if (evaluate_node(*root_, names, &value, &failure)) return value;
  const std::string part = CppPrinter(same_name).print(*failure.at);
  if (failure.unknown)
    return Error{ErrorCode::unknown_parameter,
                 cat(where_, ": `", part, "` has no value in ", text_), "give it a value"};
  std::string what =
      cat(where_, ": `", text_, "` has no value: a part of it ", fault_text(failure.fault));
  std::set<std::string> listed;
  for (const Name& name : names_)
    if (const auto known = names(name.name); known && listed.insert(name.name).second)
      what += cat("\n", name.name, " = ", *known);
  return Error{ErrorCode::value_not_allowed, what, "choose values for which it has one"};
}

std::string Expression::cpp(const Spell& spell) const {
  return root_ ? CppPrinter(spell ? spell : Spell(same_name)).print(*root_) : "0";
}

}  // namespace diecast
