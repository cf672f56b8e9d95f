// The one seam to the file system. FileSystem mirrors the system calls we use, one virtual each, so
// that tests can fail the N-th call, record calls, or model a crash. Code that is built on it
// (reading whole files, atomic publishing) knows nothing of that. Every call returns >= 0 or
// -errno; those of the system itself never return -EINTR.
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
  // Opens close-on-exec. `directory` may be AT_FDCWD. With O_NOFOLLOW no part of a relative path
  // may be a link.
  virtual int open_at(int directory, const char* path, int flags, mode_t mode) = 0;
  virtual int close(int file) = 0;
  virtual ssize_t read_at(int file, void* buffer, std::size_t size, std::uint64_t offset) = 0;
  virtual ssize_t write_at(int file, const void* data, std::size_t size, std::uint64_t offset) = 0;
  virtual int sync_data(int file) = 0;  // fdatasync
  virtual int sync_all(int file) = 0;   // fsync; also for directories
  virtual int truncate(int file, std::uint64_t size) = 0;
  virtual int reserve(int file, std::uint64_t size) = 0;  // fallocate: early "no space"
  // fstatvfs: how many bytes this user may still write where `file` lies.
  virtual int free_space(int file, std::uint64_t* bytes) = 0;
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
  // Reads the text of a symbolic link, without a terminator, at most `size` bytes of it.
  virtual ssize_t read_link_at(int directory, const char* path, char* text, std::size_t size) = 0;
  virtual int set_times(int file, const struct timespec times[2]) = 0;
  // Calls `each` with every name but "." and ".." until it returns false.
  virtual int list_directory(int directory, const std::function<bool(const char*)>& each) = 0;
  // Takes an exclusive byte-range lock of the open file description. It never waits: -EAGAIN if
  // somebody holds it.
  virtual int try_lock(int file, std::uint64_t offset, std::uint64_t length) = 0;
  virtual int unlock(int file, std::uint64_t offset, std::uint64_t length) = 0;
  virtual std::int64_t now_seconds() = 0;  // wall clock, for ages of files
};

// The file system of the operating system itself.
FileSystem& system_files();

// Owns a file descriptor and closes it.
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

// Says whether a writer, which keeps its file locked, has left a file over: it is this user's, was
// not written for an hour, and no process holds it any more.
bool is_left_over(FileSystem& files, int directory, const std::string& name);

// Read or write exactly `size` bytes at `offset`: short calls go on. An early end gives -EIO.
int read_exactly(FileSystem& files, int file, void* buffer, std::size_t size, std::uint64_t offset);
int write_exactly(FileSystem& files, int file, const void* data, std::size_t size,
                  std::uint64_t offset);

// Reads the whole content of a regular file. A file above `limit` bytes is an error.
Result<Bytes> read_file(FileSystem& files, const std::string& path, std::uint64_t limit);

// The first bytes of a regular file, at most `most` of them, and how many the whole has.
struct FileStart {
  Bytes bytes;
  std::uint64_t size = 0;
};
Result<FileStart> read_file_start(FileSystem& files, const std::string& path, std::size_t most);

// Returns a file's bytes as text, without the byte order mark that some editors put before UTF-8.
std::string_view file_text(ByteSpan bytes);

// Makes an io_error (or file_not_found) that names the path, the system's text and a fix.
Error file_error(std::string_view doing, std::string_view path, int negative_errno);

// A file that appears whole. It is written as a temporary file in the folder of `path`, which
// commit() syncs and renames to `path`, so that name is the complete old file or the complete new
// one. Without commit() nothing remains, not even of a process that is killed, because until then
// the file has no name. Where the file system knows no unnamed files a kill leaves
// `.NAME.diecast-tmp-*`, which the next writer into that folder removes once it is an hour old. A
// file that is replaced keeps its permissions; a symbolic link is replaced, not followed.
class AtomicFile {
 public:
  // `most` limits the permissions, whatever the umask or the file that it replaces. Errors:
  // file_exists (a directory or device is in the way), file_not_found (no such directory),
  // io_error.
  static Result<AtomicFile> create(FileSystem& files, const std::string& path, mode_t most = 07777);
  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Result<void> reserve(std::uint64_t size);  // fails early when the disk has no room
  Result<void> write(ByteSpan bytes);        // at the end
  // Any number of threads may call it at the same time.
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

// Syncs the directory of `path`, so that the name survives a loss of power. Errors: io_error.
Result<void> sync_directory_of(FileSystem& files, const std::string& path);

// Make names that nobody can guess: 64 unpredictable bits, and their 16 hex digits.
std::uint64_t random_bits();
std::string hex16(std::uint64_t bits);

}  // namespace diecast
