// What is built on the seam: descriptors that close themselves, whole reads and writes, errors with
// a fix, and names nobody can guess.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace diecast {
namespace {

// What `ls` and `df` can be asked about: the path itself, or the nearest folder above it that can
// be looked at.
std::string nearest_existing(std::string_view path) {
  std::string at(path);
  struct stat status;
  while (at != "/" && at != "." && system_files().status_at(AT_FDCWD, at.c_str(), &status, 0) < 0) {
    const std::size_t slash = at.rfind('/');
    at = slash == at.npos ? "." : at.substr(0, std::max<std::size_t>(slash, 1));
  }
  return quote(at, 1000);
}

std::string fix_for(int code, std::string_view given) {
  const std::string path = quote(given, 1000);
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      return cat("check the spelling of ", path, " and that its directory exists");
    case EACCES:
    case EPERM:
      return cat("see who may use it with `ls -ld ", nearest_existing(given),
                 "`, or give another path");
    case EEXIST:
      return cat("remove ", path, " or give another path");
    case EISDIR:
      return "give the path of a file, not of a directory";
    case ENOSPC:
    case EDQUOT:
      return cat("free space (`df -h ", nearest_existing(given),
                 "`) or give a path on another disk");
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
    if (count < 0) return static_cast<int>(count);
    if (count == 0) return -EIO;  // would go on for ever
    from += count;
    size -= static_cast<std::size_t>(count);
    offset += static_cast<std::uint64_t>(count);
  }
  return 0;
}

bool is_left_over(FileSystem& files, int directory, const std::string& name) {
  constexpr std::int64_t kLeftSeconds = 3600;
  struct stat status;
  if (files.status_at(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return false;
  if (files.now_seconds() - status.st_mtim.tv_sec < kLeftSeconds) return false;
  const Descriptor file(
      files, files.open_at(directory, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0));
  return file && files.try_lock(file.number(), 0, 1) >= 0;
}

namespace {

// `expected` is a hint: files of /proc say 0, and a file may grow while it is read.
Result<Bytes> read_to_end(FileSystem& files, int file, const std::string& path,
                          std::uint64_t expected, std::uint64_t limit) {
  Bytes bytes;
  std::uint64_t end = 0;
  if (expected <= limit) bytes.resize(expected + 1);  // one more finds the end, or too much
  while (end <= limit && end < bytes.size()) {
    const ssize_t count = files.read_at(file, bytes.data() + end, bytes.size() - end, end);
    if (count < 0) return file_error("read", path, static_cast<int>(count));
    if (count == 0) {
      bytes.resize(end);
      return bytes;
    }
    end += static_cast<std::uint64_t>(count);
    if (end == bytes.size()) bytes.resize(limit - end > end ? 2 * end : limit + 1);
  }
  return Error{ErrorCode::io_error,
               cat("cannot read ", quote(path, 1000), ": more than the ", limit,
                   " bytes that are accepted here"),
               "give the path of a smaller file"};
}

// Opens a regular file to read, and says how long it is.
Result<Descriptor> open_regular(FileSystem& files, const std::string& path, std::uint64_t& size) {
  // O_NONBLOCK: a FIFO must not hang the caller before it is seen to be one.
  Descriptor file(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK, 0));
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
  size = static_cast<std::uint64_t>(status.st_size);
  return file;
}

}  // namespace

Result<Bytes> read_file(FileSystem& files, const std::string& path, std::uint64_t limit) {
  std::uint64_t size = 0;
  DIECAST_TRY(const Descriptor file, open_regular(files, path, size));
  return read_to_end(files, file.number(), path, size, limit);
}

Result<FileStart> read_file_start(FileSystem& files, const std::string& path, std::size_t most) {
  FileStart out;
  DIECAST_TRY(const Descriptor file, open_regular(files, path, out.size));
  out.bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(most, out.size)));
  const int result = read_exactly(files, file.number(), out.bytes.data(), out.bytes.size(), 0);
  if (result < 0) return file_error("read", path, result);
  return out;
}

std::string_view file_text(ByteSpan bytes) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

Error file_error(std::string_view doing, std::string_view path, int negative_errno) {
  const int code = -negative_errno;
  const ErrorCode word = code == ENOENT || code == ENOTDIR ? ErrorCode::file_not_found
                         : code == EEXIST                  ? ErrorCode::file_exists
                                                           : ErrorCode::io_error;
  return {
      word,
      cat("cannot ", doing, " ", quote(path, 1000), ": ", errno_text(code), " (errno ", code, ")"),
      fix_for(code, path)};
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
