// The operating system behind the seam. Interrupted calls are repeated here, so that no caller
// needs to: of a file system in user space (FUSE) any call may be. Close is the one exception,
// because Linux has closed the descriptor all the same.
#include <diecast/base/file.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <string_view>

namespace diecast {
namespace {

template <class Call>
auto or_errno(Call call) {
  const auto result = call();
  return result < 0 ? static_cast<decltype(result)>(-errno) : result;
}

// For calls that may be repeated after a signal without having done anything.
template <class Call>
auto until_uninterrupted(Call call) {
  auto result = or_errno(call);
  while (result == -EINTR) result = or_errno(call);
  return result;
}

// Whether this process may not make a file so long: asked first, because a call that would ends a
// process that does not ignore SIGXFSZ.
bool is_beyond_limit(std::uint64_t size) {
  struct rlimit limit;
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         size > limit.rlim_cur;
}

int lock_range(int file, short type, std::uint64_t offset, std::uint64_t length) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(offset);
  range.l_len = static_cast<off_t>(length);
  const int result = until_uninterrupted([&] { return ::fcntl(file, F_OFD_SETLK, &range); });
  return result == -EACCES ? -EAGAIN : result;  // POSIX allows both for "held by another"
}

// openat2 of Linux 5.6, declared here because the headers to build with may be older than the
// kernel to run on: its number, its struct open_how, RESOLVE_NO_SYMLINKS and RESOLVE_BENEATH.
constexpr long kOpenAt2 = 437;
struct OpenHow {
  std::uint64_t flags, mode, resolve;
};
constexpr std::uint64_t kNoLinks = 0x04, kBeneath = 0x08;

// One call for a path of several components, none of which may be a link or lead out of
// `directory`; -ENOSYS where kernel or sandbox lack it.
int open_without_links(int directory, const char* path, int flags, mode_t mode) {
  const OpenHow how{static_cast<std::uint64_t>(flags | O_CLOEXEC), mode, kNoLinks | kBeneath};
  const int result = until_uninterrupted(
      [&] { return static_cast<int>(::syscall(kOpenAt2, directory, path, &how, sizeof how)); });
  return result == -EPERM ? -ENOSYS : result;  // a sandbox that does not know the call
}

class SystemFiles final : public FileSystem {
 public:
  int open_at(int directory, const char* path, int flags, mode_t mode) override {
    if ((flags & O_NOFOLLOW) != 0 && path[0] != '/' &&
        std::string_view(path).find('/') != std::string_view::npos) {
      return open_without_links(directory, path, flags, mode);
    }
    return until_uninterrupted([&] { return ::openat(directory, path, flags | O_CLOEXEC, mode); });
  }
  int close(int file) override {
    const int result = or_errno([&] { return ::close(file); });
    return result == -EINTR ? 0 : result;  // Linux has closed it; closing again could hit another's
  }
  ssize_t read_at(int file, void* buffer, std::size_t size, std::uint64_t offset) override {
    return until_uninterrupted(
        [&] { return ::pread(file, buffer, size, static_cast<off_t>(offset)); });
  }
  ssize_t write_at(int file, const void* data, std::size_t size, std::uint64_t offset) override {
    if (is_beyond_limit(offset + size)) return -EFBIG;
    return until_uninterrupted(
        [&] { return ::pwrite(file, data, size, static_cast<off_t>(offset)); });
  }
  int sync_data(int file) override {
    return until_uninterrupted([&] { return ::fdatasync(file); });
  }
  int sync_all(int file) override {
    return until_uninterrupted([&] { return ::fsync(file); });
  }
  int truncate(int file, std::uint64_t size) override {
    if (is_beyond_limit(size)) return -EFBIG;
    return until_uninterrupted([&] { return ::ftruncate(file, static_cast<off_t>(size)); });
  }
  int reserve(int file, std::uint64_t size) override {
    if (is_beyond_limit(size)) return -EFBIG;
    return until_uninterrupted([&] { return ::fallocate(file, 0, 0, static_cast<off_t>(size)); });
  }
  int free_space(int file, std::uint64_t* bytes) override {
    struct statvfs found;
    const int result = until_uninterrupted([&] { return ::fstatvfs(file, &found); });
    if (result >= 0) *bytes = std::uint64_t{found.f_bavail} * found.f_frsize;
    return result;
  }
  int change_mode(int file, mode_t mode) override {
    return until_uninterrupted([&] { return ::fchmod(file, mode); });
  }
  int status(int file, struct stat* out) override {
    return until_uninterrupted([&] { return ::fstat(file, out); });
  }
  int status_at(int directory, const char* path, struct stat* out, int flags) override {
    return until_uninterrupted([&] { return ::fstatat(directory, path, out, flags); });
  }
  int make_directory_at(int directory, const char* path, mode_t mode) override {
    return until_uninterrupted([&] { return ::mkdirat(directory, path, mode); });
  }
  int link_descriptor(int file, int directory, const char* name) override {
    char source[32];
    snprintf(source, sizeof source, "/proc/self/fd/%d", file);
    return until_uninterrupted(
        [&] { return ::linkat(AT_FDCWD, source, directory, name, AT_SYMLINK_FOLLOW); });
  }
  int link_at(int from_directory, const char* from, int to_directory, const char* to) override {
    return until_uninterrupted([&] { return ::linkat(from_directory, from, to_directory, to, 0); });
  }
  int rename_at(int from_directory, const char* from, int to_directory, const char* to,
                unsigned flags) override {
    if (flags == 0) {
      return until_uninterrupted(
          [&] { return ::renameat(from_directory, from, to_directory, to); });
    }
    return static_cast<int>(until_uninterrupted(
        [&] { return ::syscall(SYS_renameat2, from_directory, from, to_directory, to, flags); }));
  }
  int unlink_at(int directory, const char* path, int flags) override {
    return until_uninterrupted([&] { return ::unlinkat(directory, path, flags); });
  }
  ssize_t read_link_at(int directory, const char* path, char* text, std::size_t size) override {
    return until_uninterrupted([&] { return ::readlinkat(directory, path, text, size); });
  }
  int set_times(int file, const struct timespec times[2]) override {
    return until_uninterrupted([&] { return ::futimens(file, times); });
  }
  int list_directory(int directory, const std::function<bool(const char*)>& each) override {
    // A descriptor of its own: fdopendir takes it over, and the caller's keeps its position.
    const int own = open_at(directory, ".", O_RDONLY | O_DIRECTORY, 0);
    if (own < 0) return own;
    DIR* stream = ::fdopendir(own);
    if (stream == nullptr) {
      const int result = -errno;
      ::close(own);
      return result;
    }
    int result = 0;
    bool more = true;
    while (more) {
      errno = 0;
      const dirent* entry = ::readdir(stream);
      if (entry == nullptr && errno == EINTR) continue;
      if (entry == nullptr) {
        result = -errno;
        break;
      }
      const std::string_view name = entry->d_name;
      more = name == "." || name == ".." || each(entry->d_name);
    }
    ::closedir(stream);
    return result;
  }
  int try_lock(int file, std::uint64_t offset, std::uint64_t length) override {
    return lock_range(file, F_WRLCK, offset, length);
  }
  int unlock(int file, std::uint64_t offset, std::uint64_t length) override {
    return lock_range(file, F_UNLCK, offset, length);
  }
  std::int64_t now_seconds() override { return ::time(nullptr); }
};

}  // namespace

FileSystem& system_files() {
  static SystemFiles* files = new SystemFiles;  // never destroyed: used while the process ends
  return *files;
}

}  // namespace diecast
