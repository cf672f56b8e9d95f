// What a text may ask of the preprocessor; see complete_source.h. Whatever is not listed here is
// refused.
#include <diecast/base/text.h>
#include <diecast/template/complete_source.h>
#include <diecast/template/parse/allowed_words.h>
#include <diecast/template/parse/code_tokens.h>
#include <diecast/template/parse/token.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>

namespace diecast {
namespace {

using namespace allowed_words;
using CodeLine = std::span<const CodeToken>;

std::string alternatives(std::span<const std::string_view> list) {
  return join(std::vector<std::string>(list.begin(), list.end()), ", ");
}

std::string allowed_pragmas() {
  std::vector<std::string> names;
  for (const Pragma& pragma : kPragmas)
    names.push_back(cat(pragma.first, pragma.second.empty() ? "" : " ", pragma.second));
  return join(names, ", ");
}

// What a "..." literal says to _Pragma.
std::string unquoted(std::string_view literal) {
  std::string text;
  for (std::size_t i = 1; i + 1 < literal.size(); ++i) {
    if (literal[i] == '\\' && (literal[i + 1] == '"' || literal[i + 1] == '\\')) ++i;
    text += literal[i];
  }
  return text;
}

constexpr const char* kComplete =
    "a kernel's text is complete in itself: use a device header, or write it here";

// The logical file and line of an offset: what its #line lines say, as an error shows it.
Error error_in(const Source& source, const CodeFault& fault) {
  SourceLine line{source.name, "", 1, 1};
  std::string_view rest = source.text;
  for (std::size_t begin = 0;; ++line.number) {
    const std::size_t end = std::min(rest.find('\n', begin), rest.size());
    const std::string_view text = rest.substr(begin, end - begin);
    if (fault.offset <= end || end == rest.size()) {
      line.text = text;
      const int column = static_cast<int>(std::min(fault.offset, end) - begin) + 1;
      return error_at(line, column, fault.what, fault.fix);
    }
    const auto parts = words(text);
    if (parts.size() == 3 && parts[0] == "#line" && parts[2].size() > 2) {
      line.number = static_cast<int>(parse_integer(parts[1]).value_or(1)) - 1;
      line.file = parts[2].substr(1, parts[2].size() - 2);
    }
    begin = end + 1;
  }
}

// Checks the tokens of one text. A fault ends it.
class Check {
 public:
  explicit Check(CodeLine tokens) : tokens_(tokens) {}

  std::optional<CodeFault> run() {
    for (std::size_t i = 0; i < tokens_.size() && !fault_; ++i) check_word(i);
    for (std::size_t i = 0; i < tokens_.size() && !fault_; ++i)
      if (tokens_[i].first && tokens_[i].is("#")) check_directive(line_from(i));
    for (std::size_t i = 0; i < conditions_.size() && !fault_; ++i) check_condition(conditions_[i]);
    return fault_;
  }

 private:
  void refuse(const CodeToken& token, std::string what, std::string fix) {
    if (!fault_) fault_ = CodeFault{token.offset, std::move(what), std::move(fix)};
  }
  // The tokens behind a '#', to the end of its line.
  CodeLine line_from(std::size_t hash) const {
    std::size_t end = hash + 1;
    while (end < tokens_.size() && !tokens_[end].first) ++end;
    return tokens_.subspan(hash, end - hash);
  }
  bool is(std::size_t at, std::string_view what) const {
    return at < tokens_.size() && tokens_[at].is(what);
  }

  // Whether these words stand before a token, the first of them at the start of a line.
  bool follows(std::size_t at, std::initializer_list<std::string_view> before) const {
    if (at < before.size() || !tokens_[at - before.size()].first) return false;
    std::size_t place = at - before.size();
    return std::ranges::all_of(before, [&](std::string_view each) { return is(place++, each); });
  }

  void check_word(std::size_t at);
  void check_pragma_operator(std::size_t at);
  void check_directive(CodeLine line);
  void check_define(CodeLine line);
  void check_pastes(CodeLine body, const std::set<std::string_view>& parameters);
  void check_condition(CodeLine condition);
  void check_line(CodeLine line);
  void check_pragma(CodeLine pragma, const CodeToken& at);

  const CodeLine tokens_;
  std::optional<CodeFault> fault_;
  std::multimap<std::string_view, CodeLine> macros_;  // name: body
  std::vector<CodeLine> conditions_;
  std::set<std::string_view> seen_;  // macros whose bodies are checked as conditions
};

void Check::check_word(std::size_t at) {
  const CodeToken& token = tokens_[at];
  if (token.kind != CodeToken::Kind::word) return;
  if (listed(kFiles, token.spelling))
    return refuse(token, cat("`", token.spelling, "` asks for what is outside the text"),
                  kComplete);
  if (listed(kClock, token.spelling))
    return refuse(token, cat("`", token.spelling, "` changes from run to run"),
                  "leave it out: one text is compiled once and its code is kept");
  if (listed(kPragmaWords, token.spelling)) check_pragma_operator(at);
}

// _Pragma("unroll 4"), DIECAST_PRAGMA(unroll N), and the definition of the second by the first.
void Check::check_pragma_operator(std::size_t at) {
  const CodeToken& token = tokens_[at];
  if (token.spelling == "DIECAST_PRAGMA") {
    if (follows(at, {"#", "define"}) || follows(at, {"#", "undef"})) return;
    if (!is(at + 1, "(")) return refuse(token, "DIECAST_PRAGMA without its pragma", kComplete);
    return check_pragma(tokens_.subspan(at + 2), token);
  }
  const bool called = is(at + 1, "(");
  if (called && is(at + 3, ")") && tokens_[at + 2].spelling[0] == '"') {
    const CodeTokens inside = code_tokens(unquoted(tokens_[at + 2].spelling));
    if (!inside.fault) return check_pragma(inside.tokens, token);
  }
  const bool ours = at >= 4 && follows(at - 3, {"#", "define", "DIECAST_PRAGMA"}) &&
                    is(at - 3, "(") && is(at - 1, ")") && called && is(at + 2, "#") &&
                    is(at + 4, ")");
  if (!ours)
    refuse(token, "a _Pragma whose text is not in its place", "write _Pragma(\"unroll 4\") itself");
}

void Check::check_directive(CodeLine line) {
  if (line.size() == 1) return;  // a '#' alone says nothing
  const CodeToken& word = line[1];
  const CodeLine rest = line.subspan(2);
  if (!listed(kDirectives, word.spelling))
    return refuse(line[0],
                  cat("the directive `#", word.spelling, "` is none that a kernel may use"),
                  word.spelling == "include" ? std::string(kComplete)
                                             : cat("there are ", alternatives(kDirectives)));
  if (word.is("define")) return check_define(rest);
  if (word.is("line")) return check_line(line);
  if (word.is("pragma")) return check_pragma(rest, word);
  if (word.is("if") || word.is("elif")) conditions_.push_back(rest);
}

void Check::check_define(CodeLine line) {
  if (line.empty()) return;
  const CodeToken& name = line[0];
  std::size_t body = 1;
  std::set<std::string_view> parameters = {"__VA_ARGS__", "__VA_OPT__"};
  if (line.size() > 1 && line[1].is("(") && !line[1].blank_before)
    for (++body; body < line.size() && !line[body - 1].is(")"); ++body)
      parameters.insert(line[body].spelling);
  for (const CodeToken& token : line.subspan(0, body))
    for (const Pragma& pragma : kPragmas)
      if (token.is(pragma.first) || (!pragma.second.empty() && token.is(pragma.second)))
        return refuse(token, cat("`", token.spelling, "` is a word of pragmas, no macro's name"),
                      "choose another name");
  macros_.emplace(name.spelling, line.subspan(body));
  check_pastes(line.subspan(body), parameters);
}

// What is pasted must not become a word that is refused: one side is a word of its own that no
// such word has in it.
void Check::check_pastes(CodeLine body, const std::set<std::string_view>& parameters) {
  const auto harmless = [&](const CodeToken& side) {
    if (side.kind == CodeToken::Kind::symbol) return side.is(",");  // , ## __VA_ARGS__
    if (side.kind != CodeToken::Kind::word) return true;
    if (parameters.contains(side.spelling)) return false;
    const auto has = [&](std::string_view word) { return word.find(side.spelling) != word.npos; };
    return std::ranges::none_of(kFiles, has) && std::ranges::none_of(kClock, has) &&
           std::ranges::none_of(kPragmaWords, has);
  };
  for (std::size_t i = 1; i + 1 < body.size(); ++i)
    if (body[i].is("##") && !harmless(body[i - 1]) && !harmless(body[i + 1]))
      return refuse(body[i], "`##` could make any word here, one that reads a file too",
                    "put a word between the two: a##_of_##b");
}

void Check::check_condition(CodeLine condition) {
  for (const CodeToken& token : condition) {
    if (token.kind == CodeToken::Kind::text || token.is("#") || token.is("##"))
      return refuse(token, cat("`", token.spelling, "` in a condition of the preprocessor"),
                    "compare numbers and macros that are numbers");
    if (token.kind != CodeToken::Kind::word) continue;
    if (reserved(token.spelling) && !listed(kConditions, token.spelling))
      return refuse(token, cat("`", token.spelling, "` is no word for a condition"),
                    cat("there are DIECAST_HOST, DIECAST_CC, macros of the text, and ",
                        alternatives(kConditions)));
    if (!seen_.insert(token.spelling).second) continue;
    const auto [begin, end] = macros_.equal_range(token.spelling);
    for (auto macro = begin; macro != end; ++macro) conditions_.push_back(macro->second);
  }
}

// A compiler shows lines of the file that it names: it must be no path.
void Check::check_line(CodeLine line) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
  const bool number = line.size() > 2 && line[2].kind == CodeToken::Kind::number;
  bool name = line.size() == 3;
  if (line.size() == 4 && line[3].spelling.size() > 2) {
    const std::string_view text = std::string_view(line[3].spelling).substr(1);
    const std::string_view file = text.substr(0, text.size() - 1);
    name = line[3].spelling[0] == '"' && file.find_first_not_of(kLetters) == file.npos &&
           file[0] != '/' && file.find("..") == file.npos;
  }
  if (!number || !name)
    refuse(line[0], "a #line that names a path, or is no line number and name",
           "write #line 12 \"name.cu\", a name without a folder");
}

void Check::check_pragma(CodeLine pragma, const CodeToken& at) {
  if (pragma.empty()) return;
  for (const Pragma& each : kPragmas)
    if (pragma[0].is(each.first) &&
        (each.second.empty() || (pragma.size() > 1 && pragma[1].is(each.second))))
      return;
  refuse(at, cat("the pragma `", pragma[0].spelling, "` is none that a kernel may use"),
         cat("there are ", allowed_pragmas()));
}

}  // namespace

Result<void> check_complete(const Source& source) {
  const CodeTokens read = code_tokens(source.text);
  std::optional<CodeFault> fault = read.fault;
  if (!fault) fault = Check(read.tokens).run();
  if (fault) return error_in(source, *fault);
  return {};
}

}  // namespace diecast
