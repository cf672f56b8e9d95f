// The files of the repository, as tests of the tree itself see them.
#pragma once

#include <diecast/base/process.h>
#include <diecast/base/text.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::tree {

inline const std::string kRoot = DIECAST_SOURCE_DIR;

inline std::string text_of(const std::string& path) {
  std::ifstream file(std::filesystem::path(path).is_absolute() ? path : kRoot + "/" + path,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What git tracks, relative to the root. In a copy without git: every file outside build folders.
inline std::vector<std::string> files() {
  std::vector<std::string> out;
  ProcessRequest request;
  request.arguments = {"git", "-C", kRoot, "ls-files", "-z"};
  if (const auto listed = run_process(request);
      listed && listed->exit_code == 0 && std::filesystem::exists(kRoot + "/.git")) {
    for (const std::string_view name : split(listed->output, '\0'))
      if (!name.empty() && std::filesystem::is_regular_file(kRoot + "/" + std::string(name)))
        out.emplace_back(name);
    return out;
  }
  for (auto entry = std::filesystem::recursive_directory_iterator(kRoot);
       entry != std::filesystem::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().lexically_relative(kRoot).string();
    if (name.starts_with("build") || name == ".git") entry.disable_recursion_pending();
    if (entry->is_regular_file() && !name.starts_with("build")) out.push_back(name);
  }
  return out;
}

inline bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](auto end) { return name.ends_with(end); });
}

inline bool is_code(std::string_view name) {
  return ends_with_any(name, {".cpp", ".h", ".cu", ".cmake", ".sh", "CMakeLists.txt"});
}

inline bool is_text(std::string_view name) {
  return !name.ends_with(".safetensors") && !name.ends_with(".dce");
}

}  // namespace diecast::tree
