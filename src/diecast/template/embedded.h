// The built-in templates and device headers: embedded in the library at build, or read from a
// checkout's `templates` folder when one is named (DIECAST_TEMPLATE_DIR).
#pragma once

#include <diecast/base/error.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

class TemplateFiles {
 public:
  // The files that the library carries.
  static TemplateFiles embedded();
  // Reads *.cu and device/*.h of a folder, and those in the folders of it and of device/. Errors:
  // file_not_found, io_error.
  static Result<TemplateFiles> from_directory(const std::string& directory);

  std::vector<std::string> template_names() const;  // sorted, without ".cu"
  const std::string* template_text(std::string_view name) const;
  std::vector<std::string> header_names() const;  // "diecast/device/base/simt.h"
  const std::string* header_text(std::string_view name) const;
  // Of a header that is not there: "; simt.h is <diecast/device/base/simt.h>" if it is in another
  // folder, "; did you mean <diecast/device/base/simt.h>?", or nothing.
  std::string meant(std::string_view header) const;

 private:
  std::map<std::string, std::string, std::less<>> templates_, headers_;
};

}  // namespace diecast
