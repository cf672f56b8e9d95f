// A private folder of one test, removed with everything in it; and what tests ask of a folder.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : TemporaryDirectory("/tmp") {}
  explicit TemporaryDirectory(const std::string& parent) {
    std::string name = parent + "/diecast-test-XXXXXX";
    path_ = ::mkdtemp(name.data()) != nullptr ? name : "";
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// For tests of thousands of cases: where a sync costs nothing, if there is such a place.
inline std::string memory_directory() {
  std::error_code ignored;
  const auto status = std::filesystem::status("/dev/shm", ignored);
  const bool sticky =
      (status.permissions() & std::filesystem::perms::sticky_bit) != std::filesystem::perms::none;
  return std::filesystem::is_directory(status) && sticky && ::access("/dev/shm", W_OK) == 0
             ? "/dev/shm"
             : "/tmp";
}

// Whether a file can be written in `folder` without a name.
inline bool has_unnamed_files(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
  return file >= 0;
}

// Every file and folder below `folder`, relative to it, sorted.
inline std::vector<std::string> tree(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    names.push_back(entry.path().lexically_relative(folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline mode_t mode_of(const std::string& path) {
  struct stat status = {};
  ::lstat(path.c_str(), &status);
  return status.st_mode;
}

// The open file descriptors of this process.
inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    count += !entry.path().empty();
  }
  return count;
}

}  // namespace diecast::testing
