// The ladder of ways to name a complete file: unnamed file and linkat; named temporary and rename
// that replaces nothing; link and unlink; plain rename. Each rung is for file systems that lack the
// ones above it. A failed sync is never tried again: the kernel may have dropped the data.
#include <diecast/base/text.h>
#include <diecast/cache/publish.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>

namespace diecast {
namespace {

constexpr int kNameTries = 8;
// As the largest entries of our templates: of 482 cubins half had more than 138 KiB, none over 250.
constexpr std::size_t kTriedBytes = 256 << 10;

int write_synced(FileSystem& files, int file, ByteSpan bytes) {
  const int written = write_exactly(files, file, bytes.data(), bytes.size(), 0);
  return written < 0 ? written : files.sync_data(file);
}

// The call is not offered here, as opposed to having failed.
bool is_unsupported(int result) {
  static constexpr int kErrors[] = {EOPNOTSUPP, ENOSYS, EINVAL, EISDIR, EPERM, EXDEV, EMLINK};
  return std::ranges::find(kErrors, -result) != std::end(kErrors);
}

std::string boot_digits(FileSystem& files) {
  const Result<Bytes> id = read_file(files, "/proc/sys/kernel/random/boot_id", 64);
  if (!id || id->size() < 8) return "00000000";
  return {reinterpret_cast<const char*>(id->data()), 8};
}

}  // namespace

FileIdentity FileIdentity::of(const struct stat& status) {
  return {status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

// A named temporary file; removed unless it got its final name.
class EntryWriter::Temporary {
 public:
  Temporary(FileSystem& files, int shard) : files_(files), shard_(shard) {}
  ~Temporary() {
    if (!name_.empty()) files_.unlink_at(shard_, name_.c_str(), 0);
  }

  // Complete, synced and closed: some file systems report a failed write only in close.
  int write(const std::string& boot, ByteSpan bytes) {
    int file = -EEXIST;
    for (int i = 0; i < kNameTries && file == -EEXIST; ++i) {
      // Process and boot let a later collection tell a dead writer's file from a live one's.
      name_ = cat(".t-", hex16(random_bits()), "-", ::getpid(), "-", boot);
      file = files_.open_at(shard_, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    }
    if (file < 0) {
      name_.clear();
      return file;
    }
    Descriptor held(files_, file);
    const int written = write_synced(files_, file, bytes);
    const int closed = held.close();
    return written < 0 ? written : closed;
  }

  const char* name() const { return name_.c_str(); }
  void renamed() { name_.clear(); }

 private:
  FileSystem& files_;
  int shard_;
  std::string name_;
};

EntryWriter::EntryWriter(FileSystem& files) : files_(files), boot_(boot_digits(files)) {}

int EntryWriter::publish(int shard, const std::string& name, ByteSpan bytes) {
  if (unnamed_) {
    if (const auto result = publish_unnamed(shard, name, bytes)) return *result;
  }
  Temporary temporary(files_, shard);
  const int written = temporary.write(boot_, bytes);
  return written < 0 ? written : name_temporary(shard, temporary, name);
}

// None if this rung is missing; a writer that is killed here leaves nothing behind.
std::optional<int> EntryWriter::publish_unnamed(int shard, const std::string& name,
                                                ByteSpan bytes) {
  const Descriptor file(files_, files_.open_at(shard, ".", O_TMPFILE | O_RDWR, 0600));
  if (!file) {
    if (is_unsupported(file.number())) unnamed_ = false;
    if (is_unsupported(file.number()) || file.number() == -ENOENT) return std::nullopt;
    return file.number();
  }
  const int written = write_synced(files_, file.number(), bytes);
  if (written < 0) return written;
  const int linked = files_.link_descriptor(file.number(), shard, name.c_str());
  if (linked >= 0 || linked == -EEXIST) return linked;
  struct stat status;
  if (files_.status(file.number(), &status) >= 0 && status.st_nlink > 0) return 0;  // reply lost
  if (!is_unsupported(linked) && linked != -ENOENT) return linked;
  const bool known = linked == -ENOENT && files_.status(shard, &status) >= 0;
  if (known && status.st_nlink == 0) return linked;  // the folder is gone
  unnamed_ = false;                                  // ENOENT: no /proc to link from
  return std::nullopt;
}

int EntryWriter::name_temporary(int shard, Temporary& temporary, const std::string& name) {
  int result = files_.rename_at(shard, temporary.name(), shard, name.c_str(), RENAME_NOREPLACE);
  if (result >= 0) temporary.renamed();
  if (result >= 0 || !is_unsupported(result)) return result;
  result = files_.link_at(shard, temporary.name(), shard, name.c_str());
  if (result >= 0) return 0;
  struct stat status;  // two names: the link was made and only the reply lost
  if (files_.status_at(shard, temporary.name(), &status, AT_SYMLINK_NOFOLLOW) >= 0 &&
      status.st_nlink == 2) {
    return 0;
  }
  if (!is_unsupported(result)) return result;
  result = files_.rename_at(shard, temporary.name(), shard, name.c_str(), 0);
  if (result >= 0) temporary.renamed();
  return result;
}

int EntryWriter::try_writing(int folder) {
  const Bytes some(kTriedBytes, std::byte{'.'});
  const Descriptor file(files_, files_.open_at(folder, ".", O_TMPFILE | O_RDWR, 0600));
  if (file) return write_synced(files_, file.number(), some);
  if (!is_unsupported(file.number())) return file.number();
  return Temporary(files_, folder).write(boot_, some);
}

int EntryWriter::replace(int shard, const std::string& name, ByteSpan bytes,
                         const FileIdentity& seen) {
  Temporary temporary(files_, shard);
  if (const int written = temporary.write(boot_, bytes); written < 0) return written;
  struct stat status;
  const int found = files_.status_at(shard, name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
  if (found == -ENOENT) return name_temporary(shard, temporary, name);
  if (found < 0) return found;
  if (FileIdentity::of(status) != seen) return -EEXIST;
  const int result = files_.rename_at(shard, temporary.name(), shard, name.c_str(), 0);
  if (result >= 0) temporary.renamed();
  return result;
}

}  // namespace diecast
