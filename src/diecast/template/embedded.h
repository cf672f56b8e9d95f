// The built-in templates and device headers: embedded in the library at build, or read from a
// checkout's `templates` folder when one is named (DIECAST_TEMPLATE_DIR); and headers of the
// caller's own.
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

  // Adds a header of the caller's own: `name` is what templates include, "my/common.h". The same
  // text again is fine. Errors: invalid_argument (the name, a zero byte), file_exists (another text
  // under that name).
  Result<void> add_header(const std::string& name, std::string_view text);
  // Adds the headers FOLDER/my/common.h of a folder under their paths in it. What no template could
  // include is passed over. Errors: file_not_found, io_error, invalid_argument (a folder of
  // thousands of files), those of add_header().
  Result<void> add_headers_of(const std::string& folder);

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
