// The second look at what check_complete() has seen: compiler and assembler write down which files
// they open, and a file beside the source's own is an error. A g++ does not tell of __has_include,
// which only the first look finds.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/private_directory.h>
#include <diecast/template/source.h>

#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// Options that have them write their lists, into the directory that they run in, and start no one
// who writes none.
std::vector<std::string> listing_options(bool clang);

// Reads the lists. `text_file` is the source's own. Errors: parse_error naming the file.
Result<void> opened_nothing_else(const Source& source, const PrivateDirectory& directory,
                                 std::string_view text_file);

}  // namespace diecast
