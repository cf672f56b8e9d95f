// The operating system behind the seam, and what is built on it: whole reads and writes, errors
// with a fix. Interrupted calls are repeated here or in the loops; no caller sees EINTR.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <utility>

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

int lock_range(int file, short type, std::uint64_t offset, std::uint64_t length) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(offset);
  range.l_len = static_cast<off_t>(length);
  const int result = until_uninterrupted([&] { return ::fcntl(file, F_OFD_SETLK, &range); });
  return result == -EACCES ? -EAGAIN : result;  // POSIX allows both for "held by another"
}

class SystemFiles final : public FileSystem {
 public:
  int open_at(int directory, const char* path, int flags, mode_t mode) override {
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
    return until_uninterrupted([&] { return ::ftruncate(file, static_cast<off_t>(size)); });
  }
  int reserve(int file, std::uint64_t size) override {
    return until_uninterrupted([&] { return ::fallocate(file, 0, 0, static_cast<off_t>(size)); });
  }
  int change_mode(int file, mode_t mode) override {
    return or_errno([&] { return ::fchmod(file, mode); });
  }
  int status(int file, struct stat* out) override {
    return or_errno([&] { return ::fstat(file, out); });
  }
  int status_at(int directory, const char* path, struct stat* out, int flags) override {
    return or_errno([&] { return ::fstatat(directory, path, out, flags); });
  }
  int make_directory_at(int directory, const char* path, mode_t mode) override {
    return or_errno([&] { return ::mkdirat(directory, path, mode); });
  }
  int link_descriptor(int file, int directory, const char* name) override {
    char source[32];
    snprintf(source, sizeof source, "/proc/self/fd/%d", file);
    return or_errno([&] { return ::linkat(AT_FDCWD, source, directory, name, AT_SYMLINK_FOLLOW); });
  }
  int link_at(int from_directory, const char* from, int to_directory, const char* to) override {
    return or_errno([&] { return ::linkat(from_directory, from, to_directory, to, 0); });
  }
  int rename_at(int from_directory, const char* from, int to_directory, const char* to,
                unsigned flags) override {
    if (flags == 0) {
      return or_errno([&] { return ::renameat(from_directory, from, to_directory, to); });
    }
    return static_cast<int>(or_errno(
        [&] { return ::syscall(SYS_renameat2, from_directory, from, to_directory, to, flags); }));
  }
  int unlink_at(int directory, const char* path, int flags) override {
    return or_errno([&] { return ::unlinkat(directory, path, flags); });
  }
  int set_times(int file, const struct timespec times[2]) override {
    return or_errno([&] { return ::futimens(file, times); });
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

std::string fix_for(int code, const std::string& path) {
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      return cat("check the spelling of ", path, " and that its directory exists");
    case EACCES:
    case EPERM:
      return cat("see who may use it with `ls -ld ", path, "`, or give another path");
    case EEXIST:
      return cat("remove ", path, " or give another path");
    case EISDIR:
      return "give the path of a file, not of a directory";
    case ENOSPC:
    case EDQUOT:
      return cat("free space (`df -h ", path, "`) or give a path on another disk");
    case EROFS:
      return cat(path, " is on a read-only file system; give a path on a writable one");
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (`ulimit -n`)";
    case ENAMETOOLONG:
    case ELOOP:
      return "give a shorter path without circular links";
    case EFBIG:
      return "raise the limit of file sizes (`ulimit -f`) or give a path on another file system";
    default:
      return cat("check the disk that holds ", path, " (`dmesg`), or give another path");
  }
}

}  // namespace

FileSystem& system_files() {
  static SystemFiles* files = new SystemFiles;  // never destroyed: used while the process ends
  return *files;
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : files_(other.files_), number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    files_ = other.files_;
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

Descriptor::~Descriptor() { close(); }

int Descriptor::close() {
  const int number = std::exchange(number_, -1);
  return number >= 0 ? files_->close(number) : 0;
}

int read_exactly(FileSystem& files, int file, void* buffer, std::size_t size,
                 std::uint64_t offset) {
  auto* to = static_cast<std::byte*>(buffer);
  while (size > 0) {
    const ssize_t count = files.read_at(file, to, size, offset);
    if (count == -EINTR) continue;
    if (count < 0) return static_cast<int>(count);
    if (count == 0) return -EIO;
    to += count;
    size -= static_cast<std::size_t>(count);
    offset += static_cast<std::uint64_t>(count);
  }
  return 0;
}

int write_exactly(FileSystem& files, int file, const void* data, std::size_t size,
                  std::uint64_t offset) {
  const auto* from = static_cast<const std::byte*>(data);
  while (size > 0) {
    const ssize_t count = files.write_at(file, from, size, offset);
    if (count == -EINTR) continue;
    if (count < 0) return static_cast<int>(count);
    if (count == 0) return -EIO;  // would go on for ever
    from += count;
    size -= static_cast<std::size_t>(count);
    offset += static_cast<std::uint64_t>(count);
  }
  return 0;
}

Result<Bytes> read_file(FileSystem& files, const std::string& path, std::uint64_t limit) {
  // O_NONBLOCK: a FIFO must not hang the caller before it is seen to be one.
  const Descriptor file(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK, 0));
  if (!file) return file_error("open", path, file.number());
  struct stat status;
  if (const int result = files.status(file.number(), &status); result < 0) {
    return file_error("read", path, result);
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::io_error,
                 cat("cannot read ", quote(path, 1000), ": not a regular file"),
                 "give the path of a regular file"};
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > limit) {
    return Error{ErrorCode::io_error,
                 cat("cannot read ", quote(path, 1000), ": ", size, " bytes, and at most ", limit,
                     " are accepted here"),
                 "give the path of a smaller file"};
  }
  Bytes bytes(static_cast<std::size_t>(size));
  if (const int result = read_exactly(files, file.number(), bytes.data(), bytes.size(), 0);
      result < 0) {
    return file_error("read", path, result);
  }
  return bytes;
}

Error file_error(std::string_view doing, std::string_view path, int negative_errno) {
  const int code = -negative_errno;
  const char* text = ::strerrordesc_np(code);  // unlike strerror: no locale, no shared buffer
  const ErrorCode word = code == ENOENT || code == ENOTDIR ? ErrorCode::file_not_found
                         : code == EEXIST                  ? ErrorCode::file_exists
                                                           : ErrorCode::io_error;
  return {word,
          cat("cannot ", doing, " ", quote(path, 1000), ": ",
              text != nullptr ? text : "unknown error", " (errno ", code, ")"),
          fix_for(code, quote(path, 1000))};
}

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) == sizeof bits) return bits;
  // Early in a boot: time, process and a stack address tell apart; O_EXCL does the rest.
  struct timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::uint64_t mixed[] = {
      static_cast<std::uint64_t>(now.tv_sec), static_cast<std::uint64_t>(now.tv_nsec),
      static_cast<std::uint64_t>(::getpid()), reinterpret_cast<std::uintptr_t>(&bits)};
  return xxh3_128(std::as_bytes(std::span(mixed))).low;
}

std::string hex16(std::uint64_t bits) { return Digest{bits, 0}.hex().substr(0, 16); }

}  // namespace diecast
