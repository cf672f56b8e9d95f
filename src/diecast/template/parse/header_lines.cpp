// The lines of a header: which there are, and those that declare parameters and rules. Arguments
// and the launch stand in header_arguments.cpp.
#include <diecast/base/text.h>
#include <diecast/template/parse/expression_parser.h>
#include <diecast/template/parse/header_parser.h>
#include <diecast/template/parse/reserved.h>

#include <algorithm>
#include <set>

namespace diecast {
namespace {

const std::vector<std::string>& line_words() {
  static const auto& words =
      *new std::vector<std::string>{"shape",   "option", "tune",   "let",      "size",   "arg",
                                    "require", "launch", "target", "exchange", "sample", "use"};
  return words;
}

bool is_upper(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}
bool is_lower(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

// Of a statement of several lines, those of all of them.
std::string comment_of(std::string_view statement) {
  std::vector<std::string> comments;
  for (const std::string_view line : split(statement, '\n'))
    if (const std::size_t slashes = line.find("//"); slashes != std::string_view::npos)
      comments.emplace_back(trim(line.substr(slashes + 2)));
  return join(comments, " ");
}

std::string in_case(std::string_view name, bool upper) {
  std::string out(name);
  for (char& c : out) {
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

Result<void> HeaderParser::read_line(std::string_view text, int column) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  const std::string_view statement = text.substr(0, text.find("//"));
  comment_ = comment_of(text);
  if (trim(statement).empty()) return {};
  const auto words = diecast::words(statement);
  if (only_enums_ && (words.size() < 2 || words[1] != "enum")) return {};
  if (words[0] == "use") return read_use(trim(trim(statement).substr(words[0].size())));
  const SourceLine line = line_at(place_);
  const auto begin = static_cast<std::size_t>(column - 1);
  DIECAST_TRY(Tokens tokens, Tokens::read(line, begin, begin + text.size()));
  const Token first = tokens.next();
  const auto read = [&]() -> Result<void> {
    if (first.is("shape")) return read_parameter(tokens, Parameter::Kind::shape);
    if (first.is("option")) return read_parameter(tokens, Parameter::Kind::option);
    if (first.is("tune")) return read_parameter(tokens, Parameter::Kind::tune);
    if (first.is("let")) return read_let(tokens);
    if (first.is("size")) return read_size(tokens);
    if (first.is("arg")) return read_argument(tokens);
    if (first.is("require")) return read_require(tokens);
    if (first.is("launch")) return read_launch(tokens);
    if (first.is("target")) return read_target(tokens);
    if (first.is("exchange")) return read_exchange(tokens);
    if (first.is("sample")) return read_sample(tokens);
    return tokens.error(
        first, cat("no line starts with ", first.shown(), did_you_mean(first.text, line_words())),
        cat("a line starts with one of ", join(line_words(), ", ")));
  };
  DIECAST_CHECK(read());
  return tokens.expect_end();
}

Result<void> HeaderParser::check_name(const Tokens& tokens, const Token& token, Case letters,
                                      std::string_view what) {
  const std::string_view name = token.text;
  const bool upper = letters == Case::upper || (letters == Case::either && is_upper(name));
  if (upper ? !is_upper(name) : !is_lower(name))
    return tokens.error(
        token,
        cat(what, " ", token.shown(), upper ? " is not in UPPER CASE" : " is not in lower case"),
        letters == Case::upper
            ? cat("write `", in_case(name, true), "`: it is fixed at compile time")
        : letters == Case::lower
            ? cat("write `", in_case(name, false), "`: it is given at launch")
            : cat("write `", in_case(name, true), "` (fixed at compile time) or `",
                  in_case(name, false), "` (read at launch)"));
  if (const std::string_view why = reserved_word(name); !why.empty())
    return tokens.error(token, cat(token.shown(), " is taken: ", why), "choose another name");
  if (name == template_->name_ + "_body")
    return tokens.error(token, cat(token.shown(), " is taken: the kernel's body is called so"),
                        "choose another name");
  if (const auto found = declared_.find(name); found != declared_.end())
    return tokens.error(token,
                        cat(token.shown(), " is declared twice: first on ", seen(found->second)),
                        "rename one or remove it");
  return {};
}

Result<std::string> HeaderParser::declare(Tokens& tokens, Case letters, std::string_view what) {
  DIECAST_TRY(const Token token, tokens.expect_word(cat("the name of a ", what)));
  DIECAST_CHECK(check_name(tokens, token, letters, what));
  if (token.text == template_->name_)
    return tokens.error(token, cat(token.shown(), " is taken: the kernel itself is called so"),
                        "choose another name");
  declared_.emplace(token.text, place_);
  return std::string(token.text);
}

Result<ParameterType> HeaderParser::read_type(Tokens& tokens) {
  static const auto& names = *new std::vector<std::string>{"int", "bool", "type", "enum", "float"};
  DIECAST_TRY(const Token type, tokens.expect_word("int, bool, type, enum or float"));
  const auto found = std::find(names.begin(), names.end(), type.text);
  if (found == names.end())
    return tokens.error(type,
                        cat("a parameter is no ", type.shown(), did_you_mean(type.text, names)),
                        "write int, bool, type, enum or float");
  return static_cast<ParameterType>(found - names.begin());
}

Result<void> HeaderParser::read_parameter(Tokens& tokens, Parameter::Kind kind) {
  Parameter parameter;
  parameter.kind = kind;
  parameter.place = place_;
  parameter.comment = comment_;
  DIECAST_TRY(parameter.type, read_type(tokens));
  const bool tune = kind == Parameter::Kind::tune;
  if (kind == Parameter::Kind::shape && parameter.type == ParameterType::real)
    return tokens.error(tokens.peek(), "a shape counts elements and is no float",
                        "write `option float`, or `shape int`");
  const Token name = tokens.peek();
  DIECAST_TRY(parameter.name, declare(tokens, tune ? Case::either : Case::upper,
                                      tune                             ? "tune"
                                      : kind == Parameter::Kind::shape ? "shape"
                                                                       : "option"));
  DIECAST_CHECK(read_allowed(tokens, parameter));
  DIECAST_CHECK(read_default(tokens, parameter));
  DIECAST_CHECK(read_approx(tokens, parameter));
  if (!parameter.compiled() && parameter.type != ParameterType::integer &&
      parameter.type != ParameterType::boolean)
    return tokens.error(name, "a tune that is read at launch is an int or a bool",
                        cat("write `", in_case(name.text, true), "`: fixed at compile time"));
  if (!parameter.compiled() && !parameter.fallback)
    return tokens.error(tokens.peek(), "a tune that is read at launch needs a default",
                        "end the line with `= VALUE`");
  template_->parameters_.push_back(std::move(parameter));
  return {};
}

Result<void> HeaderParser::read_allowed(Tokens& tokens, Parameter& parameter) {
  if (parameter.type == ParameterType::boolean)
    parameter.allowed = {Value::boolean(false), Value::boolean(true)};
  const bool words =
      parameter.type == ParameterType::type || parameter.type == ParameterType::enumeration;
  if (!words && !tokens.peek().is("{")) return {};
  if (parameter.type == ParameterType::boolean)
    return tokens.error(tokens.peek(), "a bool has no set of values", "remove it");
  DIECAST_CHECK(tokens.expect("{", cat("before the values of ", parameter.name)));
  if (tokens.peek().is("}"))
    return tokens.error(tokens.peek(), cat("the set of ", parameter.name, " is empty"),
                        "write its values, separated by commas");
  std::set<std::string> known;
  do {
    const Token at = tokens.peek();
    DIECAST_TRY(Value value, read_value(tokens, parameter));
    if (!known.insert(value.spelling()).second)
      return tokens.error(at, cat("`", value.spelling(), "` is in the set twice"), "remove one");
    parameter.allowed.push_back(std::move(value));
  } while (tokens.accept(","));
  return tokens.expect("}", "after the last value");
}

// A value of the set itself: a number, an element type, or a word that becomes an enumerator.
Result<Value> HeaderParser::read_value(Tokens& tokens, const Parameter& parameter) {
  const bool real = parameter.type == ParameterType::real;
  const bool minus = (real || parameter.type == ParameterType::integer) && tokens.accept("-");
  const Token token = tokens.next();
  if (real) {
    if (const auto value = parse_real(cat(minus ? "-" : "", token.text))) return *value;
    return tokens.error(token, cat("expected a number, found ", token.shown()), "write a number");
  }
  if (parameter.type == ParameterType::integer) {
    if (token.kind != Token::Kind::number)
      return tokens.error(token, cat("expected a number, found ", token.shown()),
                          token.kind == Token::Kind::real
                              ? cat("an int is whole: write `option float ", parameter.name, "`")
                              : "write a number");
    if (minus && parameter.kind == Parameter::Kind::shape)
      return tokens.error(token, "a shape is not negative", "write a number of 0 or more");
    return Value::integer(minus ? -token.number : token.number);
  }
  if (parameter.type == ParameterType::type) {
    if (const auto type = parse_dtype(token.text)) return Value::of(*type);
    return tokens.error(
        token,
        cat("no element type is called ", token.shown(), meant_type(token.text, dtype_names())),
        cat("the element types are ", join(dtype_names(), ", ")));
  }
  if (token.kind != Token::Kind::word || !is_lower(token.text) || token.text[0] == '_')
    return tokens.error(token, cat("expected a word in lower case, found ", token.shown()),
                        "write words such as linear, s128x4");
  return Value{ParameterType::enumeration, static_cast<std::int64_t>(parameter.allowed.size()),
               std::string(token.text)};
}

Result<void> HeaderParser::read_approx(Tokens& tokens, Parameter& parameter) {
  const Token at = tokens.peek();
  if (!tokens.accept("approx")) return {};
  if (parameter.kind != Parameter::Kind::tune)
    return tokens.error(at, "`approx` is said of tunes: an option may change results without it",
                        "remove it");
  parameter.sums = Parameter::Sums::approx;
  if (tokens.accept("by")) {
    DIECAST_CHECK(tokens.expect("sizes", "after `approx by`"));
    parameter.sums = Parameter::Sums::approx_by_sizes;
  } else if (!parameter.compiled()) {
    return tokens.error(at, "a tune that is read at launch is chosen by sizes",
                        cat("write `approx by sizes`, or `", in_case(parameter.name, true),
                            "`: fixed at compile time"));
  }
  return {};
}

Result<void> HeaderParser::read_default(Tokens& tokens, Parameter& parameter) {
  if (!tokens.accept("=")) return {};
  const bool minus = tokens.accept("-");
  const Token token = tokens.next();
  auto value = parameter.read(cat(minus ? "-" : "", token.text));
  if (!value)
    return tokens.error(token, cat(token.shown(), " is not a value of ", parameter.name),
                        cat("the default is ", parameter.allowed_text()));
  parameter.fallback = *std::move(value);
  return {};
}

}  // namespace diecast
