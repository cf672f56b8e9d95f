// The words of the error table and the one way an error is printed.
#include <diecast/base/error.h>

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

}  // namespace diecast
