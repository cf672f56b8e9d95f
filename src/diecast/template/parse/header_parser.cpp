// The three parts of a template file; see header_parser.h. What the header's lines mean stands in
// header_lines.cpp and header_arguments.cpp, what is checked at the end in header_checks.cpp.
#include <diecast/base/text.h>
#include <diecast/template/parse/code_scan.h>
#include <diecast/template/parse/header_parser.h>
#include <diecast/template/parse/reserved.h>
#include <diecast/template/requirements.h>

#include <algorithm>

namespace diecast {
namespace {

// How many brackets more a line opens than it closes.
int opened(std::string_view line) {
  int count = 0;
  for (const char c : line.substr(0, line.find("//")))
    count += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
  return count;
}

// Where the statement that begins at `at` ends: at its line's end, or that of an indented line
// behind it while a bracket is open.
std::size_t statement_end(std::string_view text, std::size_t at) {
  int open = 0;
  for (;;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    open += opened(text.substr(at, end - at));
    const char next = end + 1 < text.size() ? text[end + 1] : '\0';
    if (open <= 0 || (next != ' ' && next != '\t')) return end;
    at = end + 1;
  }
}

}  // namespace

HeaderParser::HeaderParser(std::string_view name, std::string_view text, const TemplateFiles& files)
    : files_(files) {
  template_->name_ = name;
  template_->text_ = text;
  template_->text_digest_ = xxh3_128(as_bytes(text));
  place_.file = template_->file();
  lines_[place_.file] = split(template_->text_, '\n');
}

Result<std::shared_ptr<const Template>> HeaderParser::parse(std::string_view name,
                                                            std::string_view text,
                                                            const TemplateFiles& files) {
  HeaderParser parser(name, text, files);
  DIECAST_CHECK(parser.read_file());
  DIECAST_CHECK(parser.check());
  return std::shared_ptr<const Template>(std::move(parser.template_));
}

SourceLine HeaderParser::line_at(const Place& place) const {
  std::string_view text = lines_.find(place.file)->second[static_cast<std::size_t>(place.line - 1)];
  if (text.ends_with('\r')) text.remove_suffix(1);
  return {place.file, std::string(text), 1, place.line};
}

// Of the template's own file.
SourceLine HeaderParser::line_at_offset(std::size_t offset) const {
  const std::string_view before = std::string_view(template_->text_).substr(0, offset);
  const auto line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  return line_at({template_->file(), line});
}

std::string HeaderParser::seen(const Place& place) const {
  const std::string line = cat("line ", place.line);
  return place.file == template_->file() ? line : cat(line, " of ", place.file);
}

Result<void> HeaderParser::read_file() {
  const std::string_view text = template_->text_;
  if (!is_identifier(template_->name_))
    return Error{ErrorCode::parse_error,
                 cat(quote(template_->name_, 60), " cannot name a kernel: it is no identifier"),
                 "name the file with letters, digits and underscores, as in my_kernel.cu"};
  if (const std::string_view why = reserved_kernel(template_->name_); !why.empty())
    return Error{ErrorCode::parse_error,
                 cat(quote(template_->name_, 60), " cannot name a kernel: ", why),
                 "give the file another name"};
  if (text.find('\0') != std::string_view::npos)
    return Error{ErrorCode::parse_error, cat(template_->name_, ".cu has a zero byte in it"),
                 "a template is text: write the file anew"};
  const std::size_t begin = find_opening(text, 0);
  if (begin == std::string_view::npos)
    return Error{ErrorCode::parse_error, cat(template_->name_, ".cu has no header"),
                 "start one with a line `/* diecast` and end it with `*/`"};
  const std::size_t end = text.find("*/", begin + kOpening.size());
  if (end == std::string_view::npos)
    return error_at(line_at_offset(begin), 1, "the header does not end", "end it with a line `*/`");
  DIECAST_CHECK(read_prose(begin));
  DIECAST_CHECK(read_header(template_->text_, begin + kOpening.size(), end));
  words_ = constants_of(*template_, Target{});
  return read_code(end + 2);
}

Result<void> HeaderParser::read_prose(std::size_t end) {
  int number = 0;
  for (std::string_view line : split(std::string_view(template_->text_).substr(0, end), '\n')) {
    ++number;
    line = trim(line);
    if (line.empty()) continue;
    if (!line.starts_with("//"))
      return error_at(line_at({template_->file(), number}), 1,
                      "only comment lines (//) stand above the header",
                      "move the code below the header");
    line.remove_prefix(2);
    if (line.starts_with(" ")) line.remove_prefix(1);
    if (!template_->prose_.empty()) template_->prose_ += '\n';
    template_->prose_ += line;
  }
  return {};
}

Result<void> HeaderParser::read_header(std::string_view text, std::size_t begin, std::size_t end) {
  const std::string_view before = text.substr(0, begin);
  place_.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  for (std::size_t at = begin; at <= end;) {
    const std::size_t stop = statement_end(text.substr(0, end), at);
    const std::size_t line = at == begin ? begin - kOpening.size() : at;
    const auto more = static_cast<int>(std::ranges::count(text.substr(at, stop - at), '\n'));
    if (more > 0)  // what errors show of it is all of it
      lines_[place_.file][static_cast<std::size_t>(place_.line - 1)] =
          text.substr(line, stop - line);
    DIECAST_CHECK(read_line(text.substr(at, stop - at), static_cast<int>(at - line) + 1));
    place_.line += more + 1;
    at = stop + 1;
  }
  return {};
}

Result<void> HeaderParser::read_code(std::size_t begin) {
  const std::string_view text = template_->text_;
  const std::size_t line_end = std::min(text.find('\n', begin), text.size());
  if (!trim(text.substr(begin, line_end - begin)).empty()) {
    const SourceLine line = line_at_offset(begin);
    return error_at(line, static_cast<int>(line.text.find("*/")) + 3,
                    "the code starts on the line after the header", "break the line here");
  }
  template_->code_offset_ = std::min(line_end + 1, text.size());
  const std::string_view before = text.substr(0, template_->code_offset_);
  template_->code_line_ = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  if (const std::size_t second = find_opening(text, begin); second != std::string_view::npos)
    return error_at(line_at_offset(second), 1, "a template has one header, and this is a second",
                    "a template is one kernel: write another file");
  const std::string bare = bare_code(template_->code());
  if (find_word(bare, "DIECAST_KERNEL") == std::string::npos)
    return Error{ErrorCode::parse_error,
                 cat(template_->name_, ".cu has no DIECAST_KERNEL { ... } below its header"),
                 "write the kernel's body there: its signature comes from the arg lines"};
  DIECAST_CHECK(check_directives(bare));
  return check_limits(bare);
}

Error HeaderParser::error_in_code(std::string_view bare, std::string_view at, std::string_view what,
                                  std::string fix) const {
  const auto offset = template_->code_offset_ + static_cast<std::size_t>(at.data() - bare.data());
  const std::string_view before = std::string_view(template_->text_).substr(0, offset);
  return error_at(line_at_offset(offset), static_cast<int>(offset - before.rfind('\n')), what,
                  std::move(fix));
}

Result<void> HeaderParser::check_directives(std::string_view bare) const {
  for (const Directive& line : directives(bare)) {
    if (line.word.starts_with("if") || line.word.starts_with("elif"))
      DIECAST_CHECK(check_condition(line, bare));
    if (line.word != "define") continue;
    const auto words = diecast::words(line.rest);
    const std::string_view name = words.empty() ? "" : words[0].substr(0, words[0].find('('));
    if (const auto found = declared_.find(name); found != declared_.end())
      return error_in_code(bare, name,
                           cat("`", name, "` is declared on ", seen(found->second),
                               ": a macro would stand in its place"),
                           "remove it, or choose another name");
  }
  return {};
}

// A limit is a macro already: what declares it, or gives it a value, would declare or change a
// number. In `#ifndef` of it, a habit of code for many compilers, nothing happens.
Result<void> HeaderParser::check_limits(std::string_view bare) const {
  const auto refused = [&](std::string_view at, std::string_view name) {
    return error_in_code(bare, at,
                         cat("`", name, "` is there already: every kernel has the limits of C"),
                         "remove it, or choose another name");
  };
  std::string_view asked;  // by the directive before
  for (const Directive& line : directives(bare)) {
    const auto words = diecast::words(line.rest);
    const std::string_view name = words.empty() ? "" : words[0];
    if (line.word == "define" && name != asked &&
        std::ranges::find(limits(), name) != limits().end())
      return refused(name, name);
    asked = line.word == "ifndef" ? name : "";
  }
  for (const std::string_view name : limits())
    for (std::string_view rest = bare;;) {
      const std::size_t at = find_word(rest, name);
      if (at == rest.npos) break;
      const std::string_view behind = trim(rest.substr(at + name.size()));
      if (behind.starts_with('=') && !behind.starts_with("=="))
        return refused(rest.substr(at), name);
      rest.remove_prefix(at + name.size());
    }
  return {};
}

// The preprocessor, which knows no constants, would take each of them for 0; and what the renderer
// defines it always defines.
Result<void> HeaderParser::check_condition(const Directive& line, std::string_view bare) const {
  constexpr std::string_view kMacros = "of macros there are DIECAST_HOST and DIECAST_CC";
  for (const auto& [name, number] : declared_)
    if (const std::size_t at = find_word(line.rest, name); at != std::string_view::npos)
      return error_in_code(
          bare, line.rest.substr(at),
          cat("`", name, "` is a constant, not a macro: here it would always be 0"),
          cat("if constexpr (... ", name, " ...) in the code; ", kMacros));
  for (const auto& [name, number] : words_)
    if (const std::size_t at = find_word(line.rest, name); at != std::string_view::npos)
      return error_in_code(
          bare, line.rest.substr(at),
          cat("`", name, "` is a word of the header, not a macro: here it would always be 0"),
          std::string(kMacros));
  for (const std::string_view name : {"DIECAST_HOST", "DIECAST_CC"}) {
    const std::size_t at = find_word(line.rest, name);
    if (at == std::string_view::npos) continue;
    std::string_view before = trim(line.rest.substr(0, at));
    if (before.ends_with('(')) before = trim(before.substr(0, before.size() - 1));
    const bool asks = line.word.ends_with("def") || before.ends_with("defined");
    const bool again = find_word(line.rest.substr(at + name.size()), name) != line.rest.npos;
    const auto behind = static_cast<std::size_t>(line.rest.data() - bare.data()) + line.rest.size();
    const bool given = trim(bare.substr(behind)).starts_with("#define");  // for an editor
    if (asks && !again && !given)
      return error_in_code(
          bare, line.rest.substr(at),
          cat("`", name, "` is defined on every target: ",
              name == "DIECAST_HOST" ? "1 on the host, else 0" : "0 on the host"),
          cat("ask for its value: #if ", name, name == "DIECAST_HOST" ? "" : " >= 90"));
  }
  return {};
}

Error HeaderParser::error_on(const Place& place, std::string_view word, std::string_view what,
                             std::string fix) const {
  const SourceLine source = line_at(place);
  const std::size_t at = find_word(source.text, word);
  return error_at(source, at == std::string::npos ? 1 : static_cast<int>(at) + 1, what,
                  std::move(fix));
}

}  // namespace diecast
