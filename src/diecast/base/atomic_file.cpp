// A file that appears whole: written beside its final name, synced, then renamed over it. It has no
// name of its own before that where the file system can, so that whatever ends the process ends it.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace diecast {
namespace {

constexpr int kNameTries = 8;               // 64 random bits: a second try is already an attack
constexpr std::size_t kNameKept = 200;      // of the final name in the temporary one (NAME_MAX 255)
constexpr std::uint64_t kCopied = 1 << 20;  // bytes at a time
constexpr std::string_view kMark = ".diecast-tmp-";

// A symbolic link to a file or to nothing is replaced, not followed; a directory, device or FIFO
// never is, nor a link to one: /dev/stdout is such a link.
Result<void> check_replaceable(const struct stat& old, const std::string& path) {
  if (S_ISREG(old.st_mode) || S_ISLNK(old.st_mode)) return {};
  return Error{ErrorCode::file_exists,
               cat("cannot write ", quote(path, 1000), ": it is ",
                   S_ISDIR(old.st_mode) ? "a directory" : "not a regular file"),
               "give the path of a new or regular file"};
}

std::string temporary_name(const std::string& final_name) {
  return cat(".", final_name.substr(0, kNameKept), kMark, hex16(random_bits()));
}

bool is_temporary_name(std::string_view name) {
  constexpr std::size_t kEnd = kMark.size() + 16;
  return name.size() > kEnd && name[0] == '.' &&
         name.substr(name.size() - kEnd, kMark.size()) == kMark &&
         name.find_first_not_of("0123456789abcdef", name.size() - 16) == name.npos;
}

// What writers that were killed have left in a folder.
void remove_leftovers(FileSystem& files, int directory) {
  std::vector<std::string> found;
  files.list_directory(directory, [&](const char* name) {
    if (is_temporary_name(name)) found.emplace_back(name);
    return true;
  });
  for (const std::string& name : found) {
    if (is_left_over(files, directory, name)) files.unlink_at(directory, name.c_str(), 0);
  }
}

Result<Descriptor> open_directory_of(FileSystem& files, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int directory = files.open_at(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (directory < 0) return file_error("open the directory of", path, directory);
  return Descriptor(files, directory);
}

Result<void> sync_directory(FileSystem& files, const Descriptor& directory,
                            const std::string& path) {
  const int synced = files.sync_all(directory.number());
  // EINVAL: a file system whose directories cannot be synced; there is nothing more to do.
  if (synced < 0 && synced != -EINVAL) return file_error("sync the directory of", path, synced);
  return {};
}

}  // namespace

Result<AtomicFile> AtomicFile::create(FileSystem& files, const std::string& path, mode_t most) {
  AtomicFile out;
  out.files_ = &files;
  out.path_ = path;
  out.final_ = path.substr(path.rfind('/') + 1);
  if (out.final_.empty() || out.final_ == "." || out.final_ == "..") {
    return file_error("write", path, path.empty() ? -ENOENT : -EISDIR);
  }
  DIECAST_TRY(out.directory_, open_directory_of(files, path));

  struct stat old;
  const int found =
      files.status_at(out.directory_.number(), out.final_.c_str(), &old, AT_SYMLINK_NOFOLLOW);
  if (found < 0 && found != -ENOENT) return file_error("write", path, found);
  if (found == 0) DIECAST_CHECK(check_replaceable(old, path));
  struct stat behind;
  if (found == 0 && S_ISLNK(old.st_mode) &&
      files.status_at(out.directory_.number(), out.final_.c_str(), &behind, 0) == 0) {
    DIECAST_CHECK(check_replaceable(behind, path));
  }
  // 0666 under the umask, as for any file the user writes; what is replaced keeps its mode.
  int result = out.open_temporary(0666 & most);
  if (result >= 0 && found == 0 && S_ISREG(old.st_mode)) {
    result = files.change_mode(out.file_.number(), old.st_mode & most);
  }
  if (result < 0) return file_error("write", path, result);
  return out;
}

int AtomicFile::open_temporary(mode_t mode) {
  const int file = files_->open_at(directory_.number(), ".", O_TMPFILE | O_RDWR, mode);
  if (file < 0) return open_named(mode);
  file_ = Descriptor(*files_, file);
  return 0;
}

int AtomicFile::open_named(mode_t mode) {
  remove_leftovers(*files_, directory_.number());
  int file = -EEXIST;
  std::string name;
  for (int i = 0; i < kNameTries && file == -EEXIST; ++i) {
    name = temporary_name(final_);
    file = files_->open_at(directory_.number(), name.c_str(),
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  }
  if (file < 0) return file;
  temporary_ = name;
  file_ = Descriptor(*files_, file);
  files_->try_lock(file, 0, 1);  // until it is closed; without locks nobody takes it for left over
  return 0;
}

int AtomicFile::take_name() {
  temporary_ = temporary_name(final_);
  const int linked =
      files_->link_descriptor(file_.number(), directory_.number(), temporary_.c_str());
  // Once more: btrfs leaves a file out of its log as long as it has no name, however it is synced.
  return linked >= 0 ? files_->sync_all(file_.number()) : copy_to_named();
}

// Where an unnamed file was to be had and gets no name after all: there is no /proc to link from.
int AtomicFile::copy_to_named() {
  const Descriptor from = std::move(file_);
  files_->unlink_at(directory_.number(), temporary_.c_str(), 0);  // should only the reply be lost
  temporary_.clear();
  struct stat status;
  int result = files_->status(from.number(), &status);
  if (result >= 0) result = open_named(0600);
  if (result >= 0) result = files_->change_mode(file_.number(), status.st_mode & 07777);
  Bytes piece(kCopied);
  for (std::uint64_t at = 0; result >= 0 && at < end_; at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kCopied, end_ - at));
    result = read_exactly(*files_, from.number(), piece.data(), piece.size(), at);
    if (result < 0) break;
    result = write_exactly(*files_, file_.number(), piece.data(), piece.size(), at);
  }
  return result < 0 ? result : files_->sync_all(file_.number());
}

AtomicFile::~AtomicFile() {
  if (directory_ && !temporary_.empty()) {
    files_->unlink_at(directory_.number(), temporary_.c_str(), 0);
  }
}

Result<void> AtomicFile::reserve(std::uint64_t size) {
  if (size == 0) return {};
  const int result = files_->reserve(file_.number(), size);
  // Not every file system can; then a full disk is seen by write() instead.
  if (result < 0 && result != -EOPNOTSUPP && result != -ENOSYS && result != -EINVAL) {
    return file_error(cat("reserve ", size, " bytes for"), path_, result);
  }
  reserved_ = result >= 0 ? size : 0;
  return {};
}

Result<void> AtomicFile::write(ByteSpan bytes) { return write_at(bytes, end_); }

Result<void> AtomicFile::write_at(ByteSpan bytes, std::uint64_t offset) {
  const int result = write_exactly(*files_, file_.number(), bytes.data(), bytes.size(), offset);
  if (result < 0) return file_error("write", path_, result);
  const std::atomic_ref end(end_);
  for (std::uint64_t now = end.load(); now < offset + bytes.size();) {
    if (end.compare_exchange_weak(now, offset + bytes.size())) break;
  }
  return {};
}

Result<void> AtomicFile::commit() {
  int result = 0;
  if (reserved_ > end_) result = files_->truncate(file_.number(), end_);
  if (result >= 0) result = files_->sync_all(file_.number());
  if (result >= 0 && temporary_.empty()) result = take_name();
  const int closed = file_.close();
  if (result >= 0) result = closed;
  if (result >= 0) {
    result = files_->rename_at(directory_.number(), temporary_.c_str(), directory_.number(),
                               final_.c_str(), 0);
  }
  if (result < 0) return file_error("write", path_, result);
  temporary_.clear();
  return sync_directory(*files_, directory_, path_);
}

Result<void> sync_directory_of(FileSystem& files, const std::string& path) {
  DIECAST_TRY(const Descriptor directory, open_directory_of(files, path));
  return sync_directory(files, directory, path);
}

}  // namespace diecast
