// Short templates with something wrong in their headers, and what is said of it.
#pragma once

#include <diecast/template/template.h>

#include <string>

namespace diecast {

// The error of a template whose header has these lines, the first of them line 2.
inline std::string error(const std::string& lines) {
  const auto tmpl = Template::parse("k", "/* diecast\n" + lines + "\n*/\nDIECAST_KERNEL {}\n");
  return tmpl ? "parsed" : tmpl.error().message();
}

// The same with a launch line after them.
inline std::string error_of(const std::string& lines) {
  return error(lines + "\nlaunch grid(1) block(32)");
}

inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace diecast
