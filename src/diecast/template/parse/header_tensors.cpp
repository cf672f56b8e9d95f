// The lines of a header that say which tensors a kernel takes: arg NAME in TYPE [shape] ...
#include <diecast/base/text.h>
#include <diecast/template/parse/expression_parser.h>
#include <diecast/template/parse/header_parser.h>

#include <algorithm>

namespace diecast {
namespace {

std::string in_upper_case(std::string name) {
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return name;
}

}  // namespace

Result<void> HeaderParser::read_tensor(Tokens& tokens, Argument& argument) {
  argument.kind = Argument::Kind::tensor;
  const Token direction = tokens.next();
  argument.direction = direction.is("in")    ? Argument::Direction::in
                       : direction.is("out") ? Argument::Direction::out
                                             : Argument::Direction::inout;
  DIECAST_CHECK(read_type_name(tokens, argument));
  DIECAST_CHECK(tokens.expect("[", "before the shape"));
  do {
    DIECAST_TRY(Expression extent, ExpressionParser::parse(tokens));
    argument.shape.push_back(std::move(extent));
  } while (tokens.accept(","));
  DIECAST_CHECK(tokens.expect("]", "after the shape"));
  while (tokens.peek().kind != Token::Kind::end) DIECAST_CHECK(read_fact(tokens, argument));
  return {};
}

// What is said of a tensor behind its shape.
Result<void> HeaderParser::read_fact(Tokens& tokens, Argument& argument) {
  const Token fact = tokens.next();
  if (fact.is("stride") && !argument.stride) {
    argument.stride = Expression::literal(1);
    if (!tokens.peek().is("(")) return {};
    DIECAST_TRY(argument.stride, ExpressionParser::parse_operand(tokens));
    return {};
  }
  if (fact.is("align") && !argument.align) {
    DIECAST_TRY(argument.align, ExpressionParser::parse_operand(tokens));
    return {};
  }
  if (fact.is("optional") && argument.optional.empty())
    return read_optional(tokens, fact, argument);
  if (fact.is("settled") && !argument.settled) {
    if (argument.direction != Argument::Direction::in)
      return tokens.error(
          fact, cat("`settled` says that nobody writes ", argument.name, ", and this kernel does"),
          "remove it");
    argument.settled = true;
    return {};
  }
  static const auto& facts =
      *new std::vector<std::string>{"stride", "align", "optional", "settled"};
  if (std::ranges::find(facts, fact.text) != facts.end())
    return tokens.error(fact, cat(fact.shown(), " is given twice"), "remove one");
  return tokens.error(
      fact, cat("a tensor has no fact ", fact.shown(), " here", did_you_mean(fact.text, facts)),
      "the facts are `stride`, `align BYTES`, `optional` and `settled`, each once");
}

// A tensor that may be missing: a bool of the spelling says whether it is there.
Result<void> HeaderParser::read_optional(const Tokens& tokens, const Token& at,
                                         Argument& argument) {
  Parameter has;
  has.type = ParameterType::boolean;
  has.name = cat("HAS_", in_upper_case(argument.name));
  has.allowed = {Value::boolean(false), Value::boolean(true)};
  has.fallback = Value::boolean(true);
  has.comment = cat(argument.name, " is there");
  has.place = place_;
  if (const auto [first, fresh] = declared_.emplace(has.name, place_); !fresh)
    return tokens.error(
        at, cat("`optional` declares ", has.name, ", which is declared on ", seen(first->second)),
        "remove that line: it is a bool whose default is 1");
  argument.optional = has.name;
  template_->parameters_.push_back(std::move(has));
  return {};
}

}  // namespace diecast
