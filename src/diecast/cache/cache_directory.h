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

// What a root is opened for: made where it is missing, taken as it is, or read alone, as others
// fill it.
enum class RootAccess : std::uint8_t { create, existing, read };

class CacheDirectory {
 public:
  // Creates what is missing of marker and v1, and with `create` of root; one that is `read` is
  // never written, and may have no entries. A directory with other things in it and no marker is
  // refused (invalid_argument): its owner did not mean it to be tagged as a cache and pruned.
  // Further errors: those of open_trusted_directory.
  static Result<CacheDirectory> open(FileSystem& files, const std::string& root,
                                     RootAccess access = RootAccess::create);
  // False for a root that another user (root) fills, or on a read-only file system.
  bool writable() const { return writable_; }
  // What the system said to writing at the opening: 0 or -errno.
  int refusal() const { return refusal_; }

  // The entry of a key opened for reading, or -errno in number(). No part of its path is a link.
  Descriptor entry(std::string_view compiler, const Digest& digest) const;

  // Whether nobody else may write the folders of a key, as far as they are there.
  bool is_private_path(std::string_view compiler, const Digest& digest) const;

  // The folder of a key, as a place for relative calls; -errno in number() if it cannot be opened.
  Descriptor shard(std::string_view compiler, const Digest& digest, bool create) const;

  // The identities that have a folder, newest first: by name, numbers in it compared as numbers.
  // `trouble`: gets -errno where they could not all be listed.
  std::vector<std::string> compilers(int* trouble = nullptr) const;

  // The folders of earlier formats, v0 and so on: what nobody uses any more is collected there.
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

// What of a root cannot be read, and how it can.
Error unread(const std::string& root, const std::string& path, int negative_errno);

// Whether -errno says that this user may not write here, as opposed to trouble that passes.
bool refuses_writing(int result);

// [a-zA-Z0-9._-]{1,100}, no leading dot, and not a name that v1 uses itself (lock, gc, counts).
bool is_compiler_identity(std::string_view text);

// Whether `a` names an older compiler than `b`: "nvrtc-12.9.41" before "nvrtc-12.10.2", and before
// both a compiler under variables that change its code ("-env..."): nobody gets its kernels in
// place of a plain one's.
bool is_older_identity(std::string_view a, std::string_view b);

std::string shard_name(const Digest& digest);  // "ab"
std::string entry_name(const Digest& digest);  // "abcd...ef.dce"
bool is_shard_name(std::string_view name);
bool is_entry_name(std::string_view name);

// ".t-<16 hex>-<pid>-<boot>", what a writer without unnamed files leaves when it is killed.
struct TemporaryName {
  pid_t process = 0;
  std::string_view boot;
};
std::optional<TemporaryName> parse_temporary_name(std::string_view name);

}  // namespace diecast
