// One file of many entries (`.dcb`): shipped in an image or a model repository and used in place.
// Its bytes follow from the artifacts alone; there are no names, paths or times of anybody's in it.
// A bundle is executable code: it is opened only where nobody else could have written it. Byte
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
  // Reads and checks the index; entries are checked when they are used. With a pin the whole file
  // is hashed first. Errors: file_corrupt, unsafe_directory, file_not_found, io_error.
  static Result<std::unique_ptr<Bundle>> open(const std::string& path,
                                              const std::optional<Sha256Digest>& pin = {},
                                              FileSystem& files = system_files());

  // As DiskCache::find. Thread-safe.
  std::optional<Artifact> find(const ArtifactKey& key, const std::string& compiler,
                               const Artifact* refused = nullptr);

  // Whether what it has of a key is as it was made; also where it has nothing. Errors:
  // file_corrupt.
  Result<void> check(const ArtifactKey& key, const std::string& compiler);

  // The whole file's digest, every entry and all zeros between. Errors: file_corrupt, io_error.
  Result<Sha256Digest> verify();

  // Every entry in the order of its keys; decoded.fault says what is damaged.
  struct Stored {
    Digest key;
    std::string compiler;
    DecodedEntry decoded;
    ByteSpan file;
  };
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
  // Of a key, newest compiler first; `compiler` empty: of any.
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

// Writes a bundle entry by entry. What is added twice (one key, one compiler) stands in it once.
class BundleWriter {
 public:
  static Result<BundleWriter> create(const std::string& path, FileSystem& files = system_files());
  BundleWriter(BundleWriter&&) noexcept = default;

  // The bytes of an entry; its compile time is left out, because it is not the same twice. Errors:
  // file_corrupt, invalid_argument (entries do not come in the order of key and compiler),
  // io_error.
  Result<void> add(ByteSpan entry);
  struct Written {
    std::size_t entries = 0;
    std::uint64_t bytes = 0;
    Sha256Digest digest;  // of the whole file: what a pin is
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
