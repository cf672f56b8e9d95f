// The words of the error table and the one way an error is printed.
#include <diecast/base/error.h>

#include <optional>

namespace diecast {

std::string_view code_word(ErrorCode code) {
  switch (code) {
#define DIECAST_CODE(name, text) \
  case ErrorCode::name:          \
    return #name;
    DIECAST_ERROR_CODES(DIECAST_CODE)
#undef DIECAST_CODE
  }
  return "internal";
}

std::string_view code_meaning(ErrorCode code) {
  switch (code) {
#define DIECAST_CODE(name, text) \
  case ErrorCode::name:          \
    return text;
    DIECAST_ERROR_CODES(DIECAST_CODE)
#undef DIECAST_CODE
  }
  return "";
}

std::string Error::message() const {
  std::string text = "diecast: ";
  text += code_word(code);
  text += ": ";
  for (char c : what) {
    text += c;
    if (c == '\n') text += "  ";
  }
  if (!fix.empty()) {
    text += "\n  fix: ";
    text += fix;
  }
  return text;
}

namespace {

std::optional<ErrorCode> code_of(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i) {
    if (word == code_word(static_cast<ErrorCode>(i))) return static_cast<ErrorCode>(i);
  }
  return std::nullopt;
}

// Later lines of `what` as they were before they were indented.
std::string not_indented(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && text.substr(i + 1, 2) == "  ") i += 2;
  }
  return out;
}

}  // namespace

std::optional<Error> Error::parse(std::string_view printed) {
  constexpr std::string_view kBegin = "diecast: ", kFix = "\n  fix: ";
  for (std::size_t at = printed.rfind(kBegin); at != printed.npos;
       at = at == 0 ? printed.npos : printed.rfind(kBegin, at - 1)) {
    if (at > 0 && printed[at - 1] != '\n') continue;
    std::string_view text = printed.substr(at + kBegin.size());
    const std::size_t colon = text.find(": ");
    const auto code = code_of(text.substr(0, colon));
    if (colon == text.npos || !code) continue;
    text.remove_prefix(colon + 2);
    const std::size_t end = text.find_last_not_of('\n') + 1, fix = text.rfind(kFix);
    if (fix == text.npos) return Error{*code, not_indented(text.substr(0, end)), ""};
    return Error{*code, not_indented(text.substr(0, fix)),
                 std::string(text.substr(fix + kFix.size(), end - fix - kFix.size()))};
  }
  return std::nullopt;
}

}  // namespace diecast
