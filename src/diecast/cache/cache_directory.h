// The layout of one cache root:  DIECAST-CACHE, CACHEDIR.TAG, v1/lock,
// v1/<compiler identity>/<2 hex>/<32 hex>.dce. All access goes through descriptors that were judged
// when the root was opened, so a name swapped later changes nothing.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/base/hash.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// How a root is opened: `create` makes it if it is missing, `existing` takes it as it is, and
// `read` only reads what others fill.
enum class RootAccess : std::uint8_t { create, existing, read };

class CacheDirectory {
 public:
  // Opens a root. It creates a missing marker and v1, and with `create` a missing root. A root that
  // is opened to `read` is never written, and may have no entries. A directory with other things in
  // it and no marker is refused (invalid_argument): its owner did not mean it to be tagged as a
  // cache and pruned. Further errors: those of open_trusted_directory.
  static Result<CacheDirectory> open(FileSystem& files, const std::string& root,
                                     RootAccess access = RootAccess::create);
  // False for a root that another user (root) fills, or on a read-only file system.
  bool writable() const { return writable_; }
  // The result of trying to write when the root was opened: 0 or -errno.
  int refusal() const { return refusal_; }

  // Opens the entry of a key for reading; number() is -errno if it cannot. No part of its path is a
  // link.
  Descriptor entry(std::string_view compiler, const Digest& digest) const;

  // Says whether nobody else may write the folders of a key that exist.
  bool is_private_path(std::string_view compiler, const Digest& digest) const;

  // Opens the folder of a key, for calls relative to it; number() is -errno if it cannot.
  Descriptor shard(std::string_view compiler, const Digest& digest, bool create) const;

  // Lists the identities that have a folder, newest first: by name, with numbers in it compared as
  // numbers. `trouble` gets -errno if they could not all be listed.
  std::vector<std::string> compilers(int* trouble = nullptr) const;

  // The folders of earlier formats (v0, ...), in which entries that nobody uses are collected.
  std::vector<CacheDirectory> older() const;

  // v1 itself, for listing and for the lock file.
  int versions() const { return versions_.number(); }
  Descriptor folder(int parent, const char* name, bool create) const;

 private:
  explicit CacheDirectory(FileSystem& files) : files_(&files) {}
  static Result<CacheDirectory> open_read_only(FileSystem& files, const std::string& root);
  Result<void> open_versions(Descriptor top, const std::string& root);
  void refuse(int error) {
    writable_ = false;
    refusal_ = error;
  }
  FileSystem* files_;
  Descriptor top_;
  Descriptor versions_;  // not open in a read-only root without entries
  bool writable_ = true;
  int refusal_ = 0;
};

// Makes the error of a path in a root that cannot be read, with the way to make it readable.
Error unread(const std::string& root, const std::string& path, int negative_errno);

// Says whether -errno means that this user may not write here, as opposed to trouble that passes.
bool refuses_writing(int result);

// An identity is [a-zA-Z0-9._-]{1,100} without a leading dot, and no name that v1 uses itself
// (lock, gc, counts).
bool is_compiler_identity(std::string_view text);

// Says whether `a` names an older compiler than `b`: "nvrtc-12.9.41" is older than "nvrtc-12.10.2".
// A compiler under variables that change its code ("-env...") is older than both, so that nobody
// gets its kernels in place of a plain one's.
bool is_older_identity(std::string_view a, std::string_view b);

std::string shard_name(const Digest& digest);  // "ab"
std::string entry_name(const Digest& digest);  // "abcd...ef.dce"
bool is_shard_name(std::string_view name);
bool is_entry_name(std::string_view name);

// The name of the file that a writer without unnamed files leaves when it is killed:
// ".t-<16 hex>-<pid>-<boot>".
struct TemporaryName {
  pid_t process = 0;
  std::string_view boot;
};
std::optional<TemporaryName> parse_temporary_name(std::string_view name);

}  // namespace diecast
