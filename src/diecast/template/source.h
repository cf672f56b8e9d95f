// Rendering makes one complete text with nothing left to include: device headers, the constants,
// the asserts, the kernel's signature, then the file's own lines. Each part stands under its #line
// with a logical name and never a path, so the same text from any place has one key.
#pragma once

#include <diecast/base/error.h>
#include <diecast/template/build_kind.h>
#include <diecast/template/embedded.h>
#include <diecast/template/specialization.h>

#include <set>
#include <string>

namespace diecast {

struct Source {
  std::string name;    // "quantize_nvfp4.cu": the program name given to the compiler
  std::string symbol;  // the kernel's symbol, on the host its entry's: the template's name
  std::string text;
  BuildKind build = BuildKind::plain;
};

// The parts that all sources of a template have in common. Errors: parse_error for an #include that
// is not <diecast/device/...>, unknown_template (a header) with what was meant.
struct SourceParts {
  std::string headers, asserts, code;
  std::set<std::string> declared;  // enums whose words are a device header's
};
Result<SourceParts> source_parts(const Template& tmpl, const TemplateFiles& files,
                                 BuildKind build = BuildKind::plain);

// What a text may have, since a cache entry holds it whole.
inline constexpr std::size_t kMostTextBytes = 960 << 10;

// Renders a specialization. `parts` are those of its template and of the same build. Errors:
// not_supported for a text that is too large.
Result<Source> render(const Specialization& specialization, const SourceParts& parts,
                      BuildKind build = BuildKind::plain);
Result<Source> render(const Specialization& specialization, const TemplateFiles& files,
                      BuildKind build = BuildKind::plain);

}  // namespace diecast
