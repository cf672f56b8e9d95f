// Evaluating an expression and printing it as C++; see expr.h.
#include <diecast/base/text.h>
#include <diecast/template/expr.h>
#include <diecast/template/parse/expression_parser.h>

#include <set>

namespace diecast {
namespace {

using Node = Expression::Node;

struct OperationText {
  Operation operation;
  const char* text;
  int precedence;
};
constexpr OperationText kTexts[] = {{Operation::literal, "", 9},
                                    {Operation::name, "", 9},
                                    {Operation::bits, "", 9},
                                    {Operation::negate, "-", 8},
                                    {Operation::invert, "!", 8},
                                    {Operation::multiply, " * ", 7},
                                    {Operation::divide, " / ", 7},
                                    {Operation::remainder, " % ", 7},
                                    {Operation::add, " + ", 6},
                                    {Operation::subtract, " - ", 6},
                                    {Operation::less, " < ", 5},
                                    {Operation::less_equal, " <= ", 5},
                                    {Operation::greater, " > ", 5},
                                    {Operation::greater_equal, " >= ", 5},
                                    {Operation::equal, " == ", 4},
                                    {Operation::not_equal, " != ", 4},
                                    {Operation::both, " && ", 3},
                                    {Operation::either, " || ", 2},
                                    {Operation::choose, "", 1},
                                    {Operation::minimum, "expression::min", 9},
                                    {Operation::maximum, "expression::max", 9},
                                    {Operation::ceil_div, "ceil_div", 9},
                                    {Operation::align_up, "align_up", 9}};

const OperationText& text_of(const Node& node) {
  return kTexts[static_cast<std::size_t>(node.operation)];
}

bool grows(Operation operation) {
  return operation == Operation::multiply || operation == Operation::add ||
         operation == Operation::subtract;
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
      case Operation::name:
        return spell_(node.name);
      case Operation::bits:
        return cat("diecast::bits<", node.name, ">()");
      case Operation::negate:
      case Operation::invert:
        return text_of(node).text + child(*node.a, 9, node);
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
    const bool compared = (outer == 4 || outer == 5) && (mine == 4 || mine == 5 || mine == 8);
    const bool negative = node.operation == Operation::literal && node.number < 0;
    return mine < weakest || mixed || compared || negative ? cat("(", print(node), ")")
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
  if (node.operation == Operation::literal) return *out = node.number, true;
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
