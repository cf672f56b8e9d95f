// The one seam to the file system. FileSystem mirrors the system calls we use, one virtual each, so
// that tests can fail the N-th call, record calls, or model a crash; what is built on it (reading
// whole files, atomic publishing) knows nothing of that. Every call returns >= 0 or -errno; the
// system's own never -EINTR.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/hash.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace diecast {

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // Close-on-exec; AT_FDCWD is a directory; O_NOFOLLOW: no part of a relative path may be a link.
  virtual int open_at(int directory, const char* path, int flags, mode_t mode) = 0;
  virtual int close(int file) = 0;
  virtual ssize_t read_at(int file, void* buffer, std::size_t size, std::uint64_t offset) = 0;
  virtual ssize_t write_at(int file, const void* data, std::size_t size, std::uint64_t offset) = 0;
  virtual int sync_data(int file) = 0;  // fdatasync
  virtual int sync_all(int file) = 0;   // fsync; also for directories
  virtual int truncate(int file, std::uint64_t size) = 0;
  virtual int reserve(int file, std::uint64_t size) = 0;  // fallocate: early "no space"
  virtual int change_mode(int file, mode_t mode) = 0;
  virtual int status(int file, struct stat* out) = 0;
  virtual int status_at(int directory, const char* path, struct stat* out, int flags) = 0;
  virtual int make_directory_at(int directory, const char* path, mode_t mode) = 0;
  // Gives an O_TMPFILE descriptor its name (linkat through /proc/self/fd).
  virtual int link_descriptor(int file, int directory, const char* name) = 0;
  virtual int link_at(int from_directory, const char* from, int to_directory, const char* to) = 0;
  virtual int rename_at(int from_directory, const char* from, int to_directory, const char* to,
                        unsigned flags) = 0;  // renameat2
  virtual int unlink_at(int directory, const char* path, int flags) = 0;
  // The text of a symbolic link, not terminated; cut at `size` bytes.
  virtual ssize_t read_link_at(int directory, const char* path, char* text, std::size_t size) = 0;
  virtual int set_times(int file, const struct timespec times[2]) = 0;
  // Calls `each` with every name but "." and ".." until it returns false.
  virtual int list_directory(int directory, const std::function<bool(const char*)>& each) = 0;
  // Open-file-description byte-range lock, exclusive, never waits: -EAGAIN when somebody holds it.
  virtual int try_lock(int file, std::uint64_t offset, std::uint64_t length) = 0;
  virtual int unlock(int file, std::uint64_t offset, std::uint64_t length) = 0;
  virtual std::int64_t now_seconds() = 0;  // wall clock, for ages of files
};

// The operating system itself.
FileSystem& system_files();

// Closes what it holds.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(FileSystem& files, int number) : files_(&files), number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  int close();  // the result of close: some file systems report a failed write only here

 private:
  FileSystem* files_ = nullptr;
  int number_ = -1;
};

// Whether a file that its writer keeps locked is left over: this user's, not written for an hour,
// and no process holds it any more.
bool is_left_over(FileSystem& files, int directory, const std::string& name);

// Reads exactly `size` bytes at `offset` (short reads go on); -EIO at an early end.
int read_exactly(FileSystem& files, int file, void* buffer, std::size_t size, std::uint64_t offset);
int write_exactly(FileSystem& files, int file, const void* data, std::size_t size,
                  std::uint64_t offset);

// A regular file's whole content; an error above `limit` bytes.
Result<Bytes> read_file(FileSystem& files, const std::string& path, std::uint64_t limit);

// The text of a file that was read: without the byte order mark that some editors put before UTF-8.
std::string_view file_text(ByteSpan bytes);

// Errors: io_error (or file_not_found) naming the path, the system's text and a fix.
Error file_error(std::string_view doing, std::string_view path, int negative_errno);

// A file that appears whole: a temporary one in the folder of `path`, which commit() syncs and
// renames to `path`. So that name is the complete old file or the complete new one. Without
// commit() nothing remains, not even of a process that is killed: until then the file has no name.
// Where the file system knows no such files a kill leaves `.NAME.diecast-tmp-*`, which the next
// writer into that folder removes once it is an hour old. A file that is replaced keeps its
// permissions; a symbolic link is replaced, not followed. Errors of create: file_exists (a
// directory or device is in the way), file_not_found (no such directory), io_error.
class AtomicFile {
 public:
  // `most`: the permissions that it may have at most, whatever the umask or the file that it
  // replaces.
  static Result<AtomicFile> create(FileSystem& files, const std::string& path, mode_t most = 07777);
  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Result<void> reserve(std::uint64_t size);  // fails early when the disk has no room
  Result<void> write(ByteSpan bytes);        // at the end
  Result<void> write_at(ByteSpan bytes, std::uint64_t offset);
  Result<void> commit();  // data and directory synced before this returns

 private:
  AtomicFile() = default;
  int open_temporary(mode_t mode);
  int open_named(mode_t mode);
  int take_name();
  int copy_to_named();
  FileSystem* files_ = nullptr;
  Descriptor directory_;
  Descriptor file_;
  // Names inside the directory (temporary_: empty while the file has none); path_ for messages.
  std::string path_, temporary_, final_;
  std::uint64_t end_ = 0, reserved_ = 0;
};

// What `path` names in its directory is there after a loss of power. Errors: io_error.
Result<void> sync_directory_of(FileSystem& files, const std::string& path);

// For names nobody can guess: 64 unpredictable bits, and their 16 hex digits.
std::uint64_t random_bits();
std::string hex16(std::uint64_t bits);

}  // namespace diecast
