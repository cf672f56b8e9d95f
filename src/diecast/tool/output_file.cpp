// See output_file.h.
#include <diecast/base/text.h>
#include <diecast/tool/output_file.h>

#include <filesystem>

namespace diecast::tool {

Result<void> check_no_input(const std::string& output, std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    std::error_code none;  // of what is not there
    if (std::filesystem::equivalent(output, input, none))
      return Error{ErrorCode::file_exists,
                   cat("the output ", quote(output, 1000), " is the input ", quote(input, 1000)),
                   "give the output another name; what is read is never changed"};
  }
  return {};
}

}  // namespace diecast::tool
