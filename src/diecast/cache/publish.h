// Giving an entry its name in one step, after its data is on disk. Readers see the whole entry or
// none; a file already there is somebody's equal entry and stays.
#pragma once

#include <diecast/base/file.h>
#include <diecast/base/hash.h>

#include <atomic>
#include <optional>
#include <string>

namespace diecast {

// Tells one file under a name from another.
struct FileIdentity {
  ino_t inode = 0;
  off_t bytes = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  // of its last change
  bool operator==(const FileIdentity&) const = default;
  static FileIdentity of(const struct stat& status);
};

class EntryWriter {
 public:
  explicit EntryWriter(FileSystem& files);

  // 0 = published, -EEXIST = a file had the name, else what went wrong; then nothing remains.
  int publish(int shard, const std::string& name, ByteSpan bytes);
  // The same over a damaged file, if that is still the one seen; -EEXIST if it is another by now.
  int replace(int shard, const std::string& name, ByteSpan bytes, const FileIdentity& seen);
  // Writes as much as a large entry has and leaves nothing: 0, or what went wrong.
  int try_writing(int folder);
  const std::string& boot() const { return boot_; }

 private:
  class Temporary;
  std::optional<int> publish_unnamed(int shard, const std::string& name, ByteSpan bytes);
  int name_temporary(int shard, Temporary& temporary, const std::string& name);

  FileSystem& files_;
  std::string boot_;                  // eight digits of the boot's id: in names of temporaries
  std::atomic<bool> unnamed_ = true;  // O_TMPFILE and linkat work here
};

}  // namespace diecast
