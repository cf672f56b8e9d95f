// The lines of a header that say how the kernel is called: size, arg, launch; and where and with
// what it runs: require, target, exchange, sample.
#include <diecast/base/text.h>
#include <diecast/template/parse/expression_parser.h>
#include <diecast/template/parse/header_parser.h>

#include <algorithm>

namespace diecast {
namespace {

// What an author of `target sm_90` wants most often.
std::string with_later_ones(std::string_view name) {
  const auto cc = name.starts_with("sm_") ? parse_integer(name.substr(3)) : std::nullopt;
  return cc && *cc >= 80 ? cat(", or ", name, "+ for it and all later ones") : "";
}

}  // namespace

std::string meant_type(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
      {"float", "f32"},          {"float32", "f32"},  {"half", "f16"},
      {"__half", "f16"},         {"float16", "f16"},  {"bfloat16", "bf16"},
      {"__nv_bfloat16", "bf16"}, {"int", "i32"},      {"int32_t", "i32"},
      {"unsigned", "u32"},       {"uint32_t", "u32"}, {"int64_t", "i64"},
      {"uint8_t", "u8"},         {"bool", "u8"},      {"double", "f64"},
      {"float64", "f64"},        {"int8_t", "i8"},    {"char", "i8"},
      {"uint16_t", "u16"},       {"uint64_t", "u64"}, {"__nv_fp8_e4m3", "e4m3"},
      {"__nv_fp8_e5m2", "e5m2"}};
  for (const auto& [name, ours] : kElsewhere)
    if (word == name) return cat("; did you mean `", ours, "`?");
  return did_you_mean(word, known);
}

Result<void> HeaderParser::read_size(Tokens& tokens) {
  Size size;
  size.place = place_;
  size.comment = comment_;
  DIECAST_TRY(size.name, declare(tokens, Case::lower, "size"));
  if (tokens.accept("=")) {
    DIECAST_TRY(const Token by, tokens.expect_word("the parameter that fixes the size"));
    size.fixed_by = by.text;
    if (const Token& next = tokens.peek(); next.kind == Token::Kind::symbol)
      return tokens.error(
          next, "a size is fixed by one parameter, not by an expression",
          cat("write `size ", size.name, " = ", by.text,
              "` and the expression where the size is used, or a parameter for it"));
  }
  size.device = tokens.accept("device");
  if (tokens.accept("divisible")) {
    DIECAST_TRY(size.divisible, ExpressionParser::parse_operand(tokens));
  }
  template_->sizes_.push_back(std::move(size));
  return {};
}

Result<void> HeaderParser::read_argument(Tokens& tokens) {
  Argument argument;
  argument.place = place_;
  argument.comment = comment_;
  DIECAST_TRY(const Token name, tokens.expect_word("the name of an argument"));
  argument.name = name.text;
  if (const Argument* first = template_->argument(name.text))
    return tokens.error(name,
                        cat(name.shown(), " is an argument twice: first on ", seen(first->place)),
                        "remove one");
  if (tokens.peek().kind == Token::Kind::end) {
    argument.kind = Argument::Kind::size;
    template_->arguments_.push_back(std::move(argument));
    return {};
  }
  DIECAST_CHECK(check_name(tokens, name, Case::lower, "argument"));
  const Token kind = tokens.peek();
  if (kind.is("in") || kind.is("out") || kind.is("inout")) {
    DIECAST_CHECK(read_tensor(tokens, argument));
  } else if (kind.is("struct")) {
    DIECAST_CHECK(read_structure(tokens, argument));
  } else if (tokens.accept("tensor_map")) {
    argument.kind = Argument::Kind::tensor_map;
    argument.bytes = 128;  // CUtensorMap
  } else {
    argument.kind = Argument::Kind::scalar;
    DIECAST_CHECK(read_type_name(tokens, argument));
    if (const Token next = tokens.peek(); next.is("[") || next.is("*"))
      return tokens.error(next, "a tensor has a direction before its type",
                          cat("write `arg ", name.text, " in ", argument.type,
                              " [...]`; out if it is written, inout if it is both"));
  }
  template_->arguments_.push_back(std::move(argument));
  return {};
}

Result<void> HeaderParser::read_type_name(Tokens& tokens, Argument& argument) {
  DIECAST_TRY(const Token type, tokens.expect_word("an element type"));
  argument.type = type.text;
  if (parse_dtype(type.text)) return {};
  const Parameter* parameter = template_->parameter(type.text);
  if (parameter != nullptr && parameter->type == ParameterType::type) return {};
  std::vector<std::string> known = dtype_names();
  for (const Parameter& each : template_->parameters_)
    if (each.type == ParameterType::type) known.push_back(each.name);
  return tokens.error(
      type, cat("no element type is called ", type.shown(), meant_type(type.text, known)),
      cat("an argument's type is one of ", join(known, ", "),
          "; a direction (in, out, inout), struct or tensor_map may stand here too"));
}

Result<void> HeaderParser::read_structure(Tokens& tokens, Argument& argument) {
  argument.kind = Argument::Kind::structure;
  tokens.next();
  do {
    DIECAST_TRY(const Token part, tokens.expect_word("the structure's C++ name"));
    if (!argument.type.empty()) argument.type += "::";
    argument.type += part.text;
  } while (tokens.accept("::"));
  const Token bytes = tokens.next();
  // 4 KiB is what a kernel's parameters may have in all on every target.
  if (bytes.kind != Token::Kind::number || bytes.number < 1 || bytes.number > 4096)
    return tokens.error(bytes, cat("expected the structure's size in bytes, found ", bytes.shown()),
                        "write a number from 1 to 4096");
  argument.bytes = bytes.number;
  return {};
}

Result<void> HeaderParser::read_require(Tokens& tokens) {
  DIECAST_TRY(Expression condition, ExpressionParser::parse(tokens));
  template_->requirements_.push_back({std::move(condition), comment_, place_});
  return {};
}

Result<void> HeaderParser::read_launch(Tokens& tokens) {
  if (template_->launch_.place.line == 0) template_->launch_.place = place_;
  do {
    static const auto& words = *new std::vector<std::string>{
        "grid", "block", "resident", "shared", "cluster", "cooperative", "dependent"};
    const Token clause = tokens.next();
    if (std::find(words.begin(), words.end(), clause.text) == words.end())
      return tokens.error(clause,
                          cat("launch has no ", clause.shown(), did_you_mean(clause.text, words)),
                          cat("it has ", join(words, ", ")));
    if (const auto [first, fresh] = clauses_.emplace(clause.text, place_); !fresh)
      return tokens.error(clause,
                          cat(clause.shown(), " is given twice: first on ", seen(first->second)),
                          "remove one");
    template_->launch_.places.emplace(clause.text, place_);
    DIECAST_CHECK(read_clause(tokens, clause));
  } while (tokens.peek().kind != Token::Kind::end);
  return {};
}

Result<void> HeaderParser::read_clause(Tokens& tokens, const Token& clause) {
  LaunchRule& launch = template_->launch_;
  if (clause.is("cooperative")) return launch.cooperative = true, Result<void>();
  if (clause.is("dependent")) {
    launch.dependent = true;
    if (!tokens.accept("(")) return {};
    const Token when = tokens.next();
    if (!when.is("late"))
      return tokens.error(when, cat("`dependent` takes `late`, not ", when.shown()),
                          "write dependent, or dependent(late) where the body waits itself");
    launch.late = true;
    return tokens.expect(")", "after late");
  }
  DIECAST_CHECK(tokens.expect("(", cat("after ", clause.text)));
  std::vector<Expression> values;
  const bool three = clause.is("grid") || clause.is("block");
  do {
    const Token at = tokens.peek();
    DIECAST_TRY(Expression value, ExpressionParser::parse(tokens));
    values.push_back(std::move(value));
    if (values.size() > (three ? 3u : 1u))
      return tokens.error(
          at, cat(clause.shown(), " takes ", three ? "one to three values" : "one value"),
          "remove it");
  } while (tokens.accept(","));
  DIECAST_CHECK(tokens.expect(")", cat("after the values of ", clause.text)));
  if (clause.is("grid"))
    launch.grid = std::move(values);
  else if (clause.is("block"))
    launch.block = std::move(values);
  else if (clause.is("resident"))
    launch.resident = std::move(values[0]);
  else
    (clause.is("shared") ? launch.shared : launch.cluster) = std::move(values[0]);
  return {};
}

Result<void> HeaderParser::read_target(Tokens& tokens) {
  if (const auto [first, fresh] = clauses_.emplace("target", place_); !fresh)
    return tokens.error(tokens.peek(), cat("there is a target line already: ", seen(first->second)),
                        "write all targets on one line");
  do {
    DIECAST_TRY(const Token name, tokens.expect_word("a target"));
    if (name.is("host")) {
      template_->host_ = true;
    } else if (tokens.accept("+")) {
      const auto cc =
          name.text.starts_with("sm_") ? parse_integer(name.text.substr(3)) : std::nullopt;
      if (!cc || *cc < 80 || *cc > 999)
        return tokens.error(name,
                            cat(name.shown(), " with + names no architecture and all later ones"),
                            "write sm_80+, sm_89+, sm_90+, sm_100+ or the like");
      if (template_->minimum_cc_ != 0)
        return tokens.error(name, cat(name.shown(), "+ after sm_", template_->minimum_cc_, "+"),
                            "write the lower one alone: it means all later ones too");
      template_->minimum_cc_ = static_cast<int>(*cc);
    } else {
      auto target = Target::parse(name.text);
      if (!target)
        return tokens.error(name, target.error().what,
                            cat(target.error().fix, with_later_ones(name.text)));
      template_->listed_targets_.push_back(*target);
    }
  } while (tokens.accept(","));
  return {};
}

Result<void> HeaderParser::read_exchange(Tokens& tokens) {
  static const auto& words = *new std::vector<std::string>{"none", "warp", "block"};
  DIECAST_TRY(const Token word, tokens.expect_word("none, warp or block"));
  const auto found = std::find(words.begin(), words.end(), word.text);
  if (found == words.end())
    return tokens.error(word, cat("exchange has no ", word.shown(), did_you_mean(word.text, words)),
                        "write none, warp or block");
  if (const auto [first, fresh] = clauses_.emplace("exchange", place_); !fresh)
    return tokens.error(word, cat("there is an exchange line already: ", seen(first->second)),
                        "remove one");
  template_->exchange_ = static_cast<Exchange>(found - words.begin());
  return {};
}

Result<void> HeaderParser::read_sample(Tokens& tokens) {
  do {
    DIECAST_TRY(const Token name, tokens.expect_word("the name of a shape or a size"));
    Samples samples{std::string(name.text), {}};
    if (const auto [first, fresh] = sampled_.emplace(samples.name, place_); !fresh)
      return tokens.error(name,
                          cat(name.shown(), " is sampled twice: first on ", seen(first->second)),
                          "write one set");
    DIECAST_CHECK(tokens.expect("{", "before the samples"));
    do {
      const bool minus = tokens.accept("-");
      const Token value = tokens.next();
      if (value.kind != Token::Kind::number)
        return tokens.error(value, cat("expected a number, found ", value.shown()),
                            "write a number");
      samples.values.push_back(minus ? -value.number : value.number);
      if (std::ranges::count(samples.values, samples.values.back()) > 1)
        return tokens.error(value, cat(samples.values.back(), " is sampled twice"), "remove one");
    } while (tokens.accept(","));
    DIECAST_CHECK(tokens.expect("}", "after the samples"));
    template_->samples_.push_back(std::move(samples));
  } while (tokens.peek().kind != Token::Kind::end);
  return {};
}

}  // namespace diecast
