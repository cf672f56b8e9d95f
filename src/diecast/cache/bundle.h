// A bundle is one file of many entries (`.dcb`), shipped in an image or a model repository and used
// in place. Its bytes follow from the artifacts alone: it holds no names, paths or times. A bundle
// is executable code, so it is opened only where nobody else could have written it. Byte
// offsets stand in cache/FORMAT.md.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/base/sha256.h>
#include <diecast/cache/artifact_key.h>
#include <diecast/cache/entry.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace diecast {

class Bundle {
 public:
  // Opens a bundle and checks its index; entries are checked when they are used. With a pin the
  // whole file is hashed first. Errors: file_corrupt, unsafe_directory, file_not_found, io_error.
  static Result<std::unique_ptr<Bundle>> open(const std::string& path,
                                              const std::optional<Sha256Digest>& pin = {},
                                              FileSystem& files = system_files());

  // Does what DiskCache::find does. Thread-safe.
  std::optional<Artifact> find(const ArtifactKey& key, const std::string& compiler,
                               const Artifact* refused = nullptr);

  // Checks the entries of a key; a bundle that has none passes. Errors: file_corrupt (one is
  // damaged).
  Result<void> check(const ArtifactKey& key, const std::string& compiler);

  // Checks every entry, all zeros between and the file's digest, which it returns. Errors:
  // file_corrupt, io_error.
  Result<Sha256Digest> verify();

  struct Stored {
    Digest key;
    std::string compiler;
    DecodedEntry decoded;
    ByteSpan file;
  };
  // Calls `each` with every entry, in the order of keys; decoded.fault says what is damaged.
  void read_all(const std::function<void(const Stored&)>& each);

  const std::string& path() const { return path_; }
  std::size_t size() const { return index_.size(); }
  std::uint64_t bytes() const { return file_bytes_; }
  std::uint64_t hits() const { return hits_; }
  std::uint64_t rejected() const { return rejected_; }

 private:
  struct Place {
    Digest key;
    std::uint64_t offset = 0, bytes = 0;
    std::uint32_t compiler = 0;  // in compilers_
  };
  Bundle(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  Error corrupt(std::string_view what) const;
  Error corrupt(const Digest& key, EntryFault fault) const;
  Result<void> read_index();
  Result<void> parse_index(ByteSpan index, ByteSpan names);
  // The entries of a key, newest compiler first; an empty `compiler` stands for any.
  std::vector<Place> places_of(const ArtifactKey& key, const std::string& compiler) const;
  DecodedEntry read(const Place& place, const ArtifactKey* key, Bytes& bytes);

  FileSystem& files_;
  std::string path_;
  Descriptor file_;
  std::uint64_t file_bytes_ = 0;
  std::vector<Place> index_;            // by key, then compiler
  std::vector<std::string> compilers_;  // oldest first
  std::atomic<std::uint64_t> hits_ = 0, rejected_ = 0;
};

// Writes a bundle entry by entry. An entry that is added twice (one key, one compiler) stands in it
// once.
class BundleWriter {
 public:
  static Result<BundleWriter> create(const std::string& path, FileSystem& files = system_files());
  BundleWriter(BundleWriter&&) noexcept = default;

  // Adds the bytes of an entry, without its compile time, which is not the same twice. Errors:
  // file_corrupt, invalid_argument (entries do not come in the order of key and compiler),
  // io_error.
  Result<void> add(ByteSpan entry);
  struct Written {
    std::size_t entries = 0;
    std::uint64_t bytes = 0;
    Sha256Digest digest;  // of the whole file, as a pin has it
  };
  Result<Written> commit();

 private:
  struct Place {
    Digest key;
    std::string compiler;
    std::uint64_t offset = 0, bytes = 0;
  };
  explicit BundleWriter(AtomicFile file) : file_(std::move(file)) {}
  Result<void> write(ByteSpan bytes);
  Result<void> align();

  AtomicFile file_;
  Sha256 hash_;
  std::uint64_t end_ = 0;
  std::vector<Place> places_;
};

}  // namespace diecast
