// Lists of opened files, which are rules for make; see opened_files.h.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/compile/opened_files.h>

#include <algorithm>

namespace diecast {
namespace {

constexpr const char* kRead = "read";            // the compiler's list
constexpr const char* kAssembled = "assembled";  // the assembler's
constexpr std::uint64_t kListLimit = 1u << 20;

// The names behind the colon of a rule.
std::vector<std::string> prerequisites(std::string_view rule) {
  std::vector<std::string> names(1);
  rule = rule.substr(std::min(rule.find(": "), rule.size()));
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const std::string_view pair = rule.substr(i, 2);
    if (pair == "\\ " || pair == "\\#" || pair == "$$")
      names.back() += rule[++i];
    else if (rule[i] == ' ' || rule[i] == '\n' || pair == "\\\n")
      names.emplace_back();
    else
      names.back() += rule[i];
  }
  names.erase(names.begin());  // the colon
  std::erase(names, "");
  return names;
}

}  // namespace

std::vector<std::string> listing_options(bool clang) {
  std::vector<std::string> options = {"-MD", "-MF", kRead};
  if (clang) return options;  // which assembles by itself
  // Linkers would hand an object that says so to compilers, with options of its own.
  options.insert(options.end(), {cat("-Wa,--MD,", kAssembled), "-fno-use-linker-plugin"});
  return options;
}

Result<void> opened_nothing_else(const Source& source, const PrivateDirectory& directory,
                                 std::string_view text_file) {
  const std::string own =
      directory.path() + "/";  // what one part of the compiler hands to the next
  for (const char* list : {kRead, kAssembled}) {
    const auto rule = read_file(system_files(), directory.file(list), kListLimit);
    if (!rule) continue;
    const std::string_view text(reinterpret_cast<const char*>(rule->data()), rule->size());
    for (const std::string& name : prerequisites(text))
      if (name != text_file && name != "{standard input}" && !name.starts_with(own))
        return Error{ErrorCode::parse_error,
                     cat(source.name, " reads ", quote(name), ", which is outside its text"),
                     "a kernel's text is complete in itself: write what it needs into the file"};
  }
  return {};
}

}  // namespace diecast
