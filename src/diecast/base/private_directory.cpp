// Making and removing the folder; see private_directory.h.
#include <diecast/base/private_directory.h>
#include <diecast/base/text.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

namespace diecast {
namespace {

constexpr std::string_view kPrefix = "diecast-", kRandom = "XXXXXX";
constexpr std::string_view kLock = "in-use";  // held while the folder is

bool may_be_ours(FileSystem& files, int base, const std::string& name) {
  struct stat status;
  return files.status_at(base, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) >= 0 &&
         S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

// Made an hour ago or longer by us, whom alone it lets in, without the lock that is made next.
bool was_never_used(FileSystem& files, int base, const std::string& name) {
  struct stat status;
  return files.status_at(base, cat(name, '/', kLock).c_str(), &status, AT_SYMLINK_NOFOLLOW) ==
             -ENOENT &&
         files.status_at(base, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) >= 0 &&
         (status.st_mode & 0777) == 0700 && files.now_seconds() - status.st_mtim.tv_sec >= 3600;
}

// What processes that were killed have left.
void remove_leftovers(FileSystem& files, const std::string& base) {
  const Descriptor folder(files, files.open_at(AT_FDCWD, base.c_str(), O_RDONLY | O_DIRECTORY, 0));
  if (!folder) return;
  std::vector<std::string> found;
  files.list_directory(folder.number(), [&](std::string_view name) {
    if (name.starts_with(kPrefix) && name.size() == kPrefix.size() + kRandom.size())
      found.emplace_back(name);
    return true;
  });
  std::error_code ignored;
  for (const std::string& name : found) {
    if (!may_be_ours(files, folder.number(), name)) continue;
    const Descriptor inside(  // a path of two parts would ask the kernel for openat2
        files,
        files.open_at(folder.number(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
    if (inside && is_left_over(files, inside.number(), std::string(kLock)))
      std::filesystem::remove_all(cat(base, '/', name), ignored);
    else if (was_never_used(files, folder.number(), name))
      files.unlink_at(folder.number(), name.c_str(), AT_REMOVEDIR);  // only if it is empty
  }
}

}  // namespace

Error temporary_error(std::string_view doing, const std::string& path, int negative_errno) {
  Error error = file_error(doing, path, negative_errno);
  error.fix = "set TMPDIR to the absolute path of a folder that has room and that you may write";
  return error;
}

Result<PrivateDirectory> PrivateDirectory::make() {
  FileSystem& files = system_files();
  std::string base = environment_variable("TMPDIR");
  if (base.substr(0, 1) != "/") base = "/tmp";
  remove_leftovers(files, base);
  std::string path = cat(base, '/', kPrefix, kRandom);
  if (::mkdtemp(path.data()) == nullptr)
    return temporary_error("make a directory like", path, -errno);
  PrivateDirectory out(path);
  const std::string lock = cat(path, '/', kLock);
  const int file = files.open_at(AT_FDCWD, lock.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0) return temporary_error("make", lock, file);
  out.lock_ = Descriptor(files, file);
  files.try_lock(file, 0, 1);  // without locks nobody takes it for left over
  return out;
}

PrivateDirectory::PrivateDirectory(PrivateDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;  // a leftover in a temporary directory harms nobody
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string PrivateDirectory::file(std::string_view name) const { return cat(path_, "/", name); }

}  // namespace diecast
