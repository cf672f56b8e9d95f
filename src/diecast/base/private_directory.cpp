// Making and removing the folder; see private_directory.h.
#include <diecast/base/file.h>
#include <diecast/base/private_directory.h>
#include <diecast/base/text.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace diecast {

Result<PrivateDirectory> PrivateDirectory::make() {
  std::string base = environment_variable("TMPDIR");
  if (base.substr(0, 1) != "/") base = "/tmp";
  std::string path = base + "/diecast-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    Error error = file_error("make a directory like", path, -errno);
    error.fix = "set TMPDIR to the absolute path of a folder that has room and that you may write";
    return error;
  }
  return PrivateDirectory(std::move(path));
}

PrivateDirectory::PrivateDirectory(PrivateDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;  // a leftover in a temporary directory harms nobody
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string PrivateDirectory::file(std::string_view name) const { return cat(path_, "/", name); }

}  // namespace diecast
