// The template most tests of this floor speak of: every kind of line, in tests/template/golden.
#pragma once

#include <diecast/template/embedded.h>
#include <diecast/template/specialization.h>

#include <memory>
#include <string>

namespace diecast {

inline std::string golden_directory() { return DIECAST_SOURCE_DIR "/tests/template/golden"; }

inline const TemplateFiles& golden_files() {
  static const TemplateFiles files = TemplateFiles::from_directory(golden_directory()).value();
  return files;
}

inline const std::string& scale_rows_text() { return *golden_files().template_text("scale_rows"); }

inline std::shared_ptr<const Template> scale_rows() {
  return Template::parse("scale_rows", scale_rows_text()).value();
}

inline Target target(std::string_view name) { return Target::parse(name).value(); }

}  // namespace diecast
