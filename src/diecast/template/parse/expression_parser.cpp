// The expression parser: precedence as in C++, both the parser's recursion and the tree's depth
// bounded.
#include <diecast/base/text.h>
#include <diecast/template/parse/expression_parser.h>

#include <set>

namespace diecast {
namespace {

struct BinaryOperator {
  std::string_view symbol;
  Operation operation;
  int precedence;  // higher binds tighter
};
constexpr BinaryOperator kBinary[] = {
    {"||", Operation::either, 1},        {"&&", Operation::both, 2},
    {"|", Operation::bit_or, 3},         {"^", Operation::bit_xor, 4},
    {"&", Operation::bit_and, 5},        {"==", Operation::equal, 6},
    {"!=", Operation::not_equal, 6},     {"<", Operation::less, 7},
    {"<=", Operation::less_equal, 7},    {">", Operation::greater, 7},
    {">=", Operation::greater_equal, 7}, {"<<", Operation::shift_left, 8},
    {">>", Operation::shift_right, 8},   {"+", Operation::add, 9},
    {"-", Operation::subtract, 9},       {"*", Operation::multiply, 10},
    {"/", Operation::divide, 10},        {"%", Operation::remainder, 10}};

// In C++ `FLAGS & 1 == 1` is `FLAGS & (1 == 1)`, which nobody means.
bool joins_bits(Operation operation) {
  return operation >= Operation::bit_and && operation <= Operation::bit_xor;
}
bool compares(const Expression::Node& node) {
  return !node.bracketed && node.operation >= Operation::less &&
         node.operation <= Operation::not_equal;
}

const BinaryOperator* binary_operator(const Token& token) {
  if (token.kind != Token::Kind::symbol) return nullptr;
  for (const BinaryOperator& each : kBinary)
    if (each.symbol == token.text) return &each;
  return nullptr;
}

struct Function {
  std::string_view name;
  Operation operation;
};
constexpr Function kFunctions[] = {{"min", Operation::minimum},
                                   {"max", Operation::maximum},
                                   {"ceil_div", Operation::ceil_div},
                                   {"align_up", Operation::align_up}};

// Counts one level of the parser's recursion while it lives.
struct Level {
  explicit Level(int& depth) : depth(depth) { ++depth; }
  ~Level() { --depth; }
  int& depth;
};

}  // namespace

Error ExpressionParser::too_deep(const Token& at) const {
  return tokens_.error(at, cat("the expression is more than ", kDeepest, " levels deep"),
                       "simplify it: name a part by a `let`");
}

Result<ExpressionParser::NodePointer> ExpressionParser::node(const Token& at, Operation operation,
                                                             NodePointer a, NodePointer b,
                                                             NodePointer c) {
  auto made = std::make_unique<Expression::Node>();
  for (const NodePointer* child : {&a, &b, &c})
    if (*child) made->depth = std::max(made->depth, (*child)->depth + 1);
  if (made->depth > kDeepest) return too_deep(at);
  made->operation = operation;
  made->column = at.column;
  made->a = std::move(a);
  made->b = std::move(b);
  made->c = std::move(c);
  return NodePointer(std::move(made));
}

Result<ExpressionParser::NodePointer> ExpressionParser::choice() {
  const Level level(depth_);
  if (depth_ > kDeepest) return too_deep(tokens_.peek());
  DIECAST_TRY(NodePointer condition, binary(1));
  const Token at = tokens_.peek();
  if (!tokens_.accept("?")) return condition;
  DIECAST_TRY(NodePointer yes, choice());
  DIECAST_CHECK(tokens_.expect(":", "between the two values of `?`"));
  DIECAST_TRY(NodePointer no, choice());
  return node(at, Operation::choose, std::move(condition), std::move(yes), std::move(no));
}

Result<ExpressionParser::NodePointer> ExpressionParser::binary(int weakest) {
  DIECAST_TRY(NodePointer left, unary());
  for (;;) {
    const Token at = tokens_.peek();
    const BinaryOperator* found = binary_operator(at);
    if (found == nullptr || found->precedence < weakest) return left;
    tokens_.next();
    DIECAST_TRY(NodePointer right, binary(found->precedence + 1));
    if (joins_bits(found->operation) && (compares(*left) || compares(*right)))
      return tokens_.error(at, cat(at.shown(), " takes in a comparison beside it, as in C++"),
                           "put parentheses around what is meant: (FLAGS & 1) == 1");
    DIECAST_TRY(left, node(at, found->operation, std::move(left), std::move(right)));
  }
}

Result<ExpressionParser::NodePointer> ExpressionParser::unary() {
  const Token at = tokens_.peek();
  if (!at.is("!") && !at.is("-") && !at.is("~")) return operand();
  const Level level(depth_);
  if (depth_ > kDeepest) return too_deep(at);
  tokens_.next();
  DIECAST_TRY(NodePointer inner, unary());
  return node(at,
              at.is("!")   ? Operation::invert
              : at.is("~") ? Operation::complement
                           : Operation::negate,
              std::move(inner));
}

Result<ExpressionParser::NodePointer> ExpressionParser::operand() {
  const Token at = tokens_.peek();
  if (tokens_.accept("(")) {
    DIECAST_TRY(NodePointer inner, choice());
    DIECAST_CHECK(tokens_.expect(")", "to close the parenthesis"));
    inner->bracketed = true;
    return inner;
  }
  if (at.kind != Token::Kind::word && at.kind != Token::Kind::number &&
      at.kind != Token::Kind::real)
    return tokens_.error(at, cat("expected a number, a name or `(`, found ", at.shown()),
                         "complete the expression here");
  tokens_.next();
  const bool call_of = at.kind == Token::Kind::word && tokens_.peek().is("(");
  DIECAST_TRY(NodePointer value, call_of ? call(at) : leaf(at));
  if (!tokens_.peek().is("in")) return value;
  if (value->operation != Operation::name && value->operation != Operation::bits)
    return tokens_.error(tokens_.peek(), "`in` asks for a name or bits(TYPE) before it",
                         "name the value by a `let`, and write that name");
  return among(std::move(value));
}

Result<ExpressionParser::NodePointer> ExpressionParser::leaf(const Token& at) {
  auto leaf = std::make_unique<Expression::Node>();
  leaf->number = at.is("true") ? 1 : at.number;
  leaf->column = at.column;
  if (at.kind == Token::Kind::real) {
    leaf->operation = Operation::real;
    leaf->name = at.text;
  } else if (at.kind == Token::Kind::word) {
    leaf->name = at.text;
    if (at.is("true") || at.is("false")) return NodePointer(std::move(leaf));
    leaf->operation = Operation::name;
    names_.push_back({leaf->name, at.column});
  }
  return NodePointer(std::move(leaf));
}

// `X in {a, b}` is `X == a || X == b`: nothing that reads the tree has to know of sets.
Result<ExpressionParser::NodePointer> ExpressionParser::among(NodePointer left) {
  const Level level(depth_);
  if (depth_ > kDeepest) return too_deep(tokens_.peek());
  tokens_.next();
  DIECAST_CHECK(tokens_.expect("{", "before the values of `in`"));
  NodePointer all;
  std::set<std::string> known;
  do {
    const Token at = tokens_.peek();
    DIECAST_TRY(NodePointer value, choice());
    if (const std::string text = tokens_.text_since(at.column); !known.insert(text).second)
      return tokens_.error(at, cat("`", text, "` is in the set twice"), "remove one");
    auto same = std::make_unique<Expression::Node>();
    same->operation = left->operation;
    same->name = left->name;
    same->column = left->column;
    DIECAST_TRY(NodePointer equal, node(at, Operation::equal, std::move(same), std::move(value)));
    if (!all) {
      all = std::move(equal);
    } else {
      DIECAST_TRY(all, node(at, Operation::either, std::move(all), std::move(equal)));
    }
  } while (tokens_.accept(","));
  DIECAST_CHECK(tokens_.expect("}", "after the values of `in`"));
  return all;
}

Result<ExpressionParser::NodePointer> ExpressionParser::call(const Token& function) {
  tokens_.next();
  if (function.is("bits")) return bits_of();
  for (const Function& each : kFunctions) {
    if (each.name != function.text) continue;
    DIECAST_TRY(NodePointer a, choice());
    DIECAST_CHECK(tokens_.expect(",", cat("between the two values of ", each.name)));
    DIECAST_TRY(NodePointer b, choice());
    DIECAST_CHECK(tokens_.expect(")", cat("after the two values of ", each.name)));
    return node(function, each.operation, std::move(a), std::move(b));
  }
  static const auto& names =
      *new std::vector<std::string>{"min", "max", "ceil_div", "align_up", "bits"};
  return tokens_.error(
      function, cat("there is no function ", function.shown(), did_you_mean(function.text, names)),
      "the functions are min, max, ceil_div, align_up and bits; bits(f32) / 8 is an f32's bytes");
}

Result<ExpressionParser::NodePointer> ExpressionParser::bits_of() {
  DIECAST_TRY(const Token type, tokens_.expect_word("an element type or a `type` parameter"));
  DIECAST_CHECK(tokens_.expect(")", "after the type of bits"));
  auto leaf = std::make_unique<Expression::Node>();
  leaf->operation = Operation::bits;
  leaf->name = type.text;
  leaf->column = type.column;
  types_.push_back({leaf->name, type.column});
  return NodePointer(std::move(leaf));
}

Result<Expression> ExpressionParser::finish(int column, Result<NodePointer> root) {
  DIECAST_TRY(NodePointer tree, std::move(root));
  Expression out;
  out.root_ = std::move(tree);
  out.text_ = tokens_.text_since(column);
  out.where_ = tokens_.line().where();
  out.names_ = std::move(names_);
  out.types_ = std::move(types_);
  return out;
}

Result<Expression> ExpressionParser::parse(Tokens& tokens) {
  const int column = tokens.peek().column;
  ExpressionParser parser(tokens);
  return parser.finish(column, parser.choice());
}

Result<Expression> ExpressionParser::parse_operand(Tokens& tokens) {
  const int column = tokens.peek().column;
  ExpressionParser parser(tokens);
  DIECAST_TRY(Expression operand, parser.finish(column, parser.operand()));
  const Token& next = tokens.peek();
  if (binary_operator(next) != nullptr || next.is("?"))
    return tokens.error(next,
                        cat("`", operand.text(), "` ends before ", next.shown(),
                            ": an expression stands in parentheses here"),
                        "put parentheses around all of it");
  return operand;
}

}  // namespace diecast
