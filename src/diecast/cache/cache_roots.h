// The layers of a cache, in the order of lookup: read-only directories and bundles that somebody
// ships, and a directory of our own, which gets what is compiled here.
//
//   DIECAST_CACHE=ro:/opt/engine/cache,bundle:/models/kernels.dcb,rw:/var/cache/me
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/cache/bundle.h>
#include <diecast/cache/disk_cache.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct CacheRootSetting {
  enum class Kind : std::uint8_t { read_write, read_only, bundle };
  Kind kind = Kind::read_write;
  std::string path;
  std::optional<Sha256Digest> pin;  // of a bundle: "bundle:/k.dcb#sha256=<64 digits>"
};

// "[rw:|ro:|bundle:]PATH", separated by commas; a word without a prefix is a writable directory.
// Errors: invalid_argument (no absolute path, a bad pin).
Result<std::vector<CacheRootSetting>> parse_cache_setting(std::string_view text);

// "rw", "ro", "bundle".
std::string_view root_kind(const CacheRootSetting& setting);
// "bundle:/opt/k.dcb": the root as the setting has it, without a pin.
std::string root_name(const CacheRootSetting& setting);

// A root that cannot be used, and why.
struct RefusedRoot {
  CacheRootSetting setting;
  Error error;
};

// Which compilers' artifacts may be used.
enum class CompilerChoice : std::uint8_t {
  found,   // that of the compiler found here; without one for the target, the newest that has it
  exact,   // that of the compiler found here, and nothing without one
  newest,  // the newest that has the kernel, whatever is found here
  bundles  // bundles: the newest; directories: as `found`
};
std::string_view compiler_choice_word(CompilerChoice choice);
Result<CompilerChoice> parse_compiler_choice(std::string_view word);

class CacheRoots {
 public:
  struct Layer {
    CacheRootSetting setting;
    std::unique_ptr<DiskCache> directory;  // one of the two
    std::unique_ptr<Bundle> bundle;
  };

  // Opens the roots. A root that cannot be used is left out and added to `refused`; no other root
  // is missing from layers(). rw: roots are opened with `access`; ro: roots are only read.
  static std::unique_ptr<CacheRoots> open(const std::vector<CacheRootSetting>& settings,
                                          RootAccess access, std::vector<RefusedRoot>& refused,
                                          FileSystem& files = system_files());

  // Finds an artifact in the first layer that has it. `compiler` is the identity found here, or
  // empty. `refused` is as in DiskCache::find. `from` gets the layer.
  std::optional<Artifact> find(const ArtifactKey& key, const std::string& compiler,
                               CompilerChoice choice = CompilerChoice::found,
                               const Artifact* refused = nullptr, const Layer** from = nullptr);
  // Checks, for a key that find() does not give, that no bundle has it damaged. Errors:
  // file_corrupt.
  Result<void> check_bundles(const ArtifactKey& key, const std::string& compiler,
                             CompilerChoice choice);
  // Publishes to the first rw: directory that takes it, and returns that directory, or null.
  // `replace` overwrites whatever entry is there.
  DiskCache* publish(const ArtifactKey& key, const Artifact& artifact, bool replace = false);
  DiskCache::Lock lock(const ArtifactKey& key, std::chrono::milliseconds wait,
                       const std::function<bool()>& ready);

  // The directory that new entries go to: the first rw: one that does not refuse writing, or the
  // first if all refuse; null if there is none.
  DiskCache* writable() const;
  std::vector<DiskCache*> refusing() const;  // rw: directories that are not written for now
  const std::vector<Layer>& layers() const { return layers_; }
  std::string description() const;  // "ro:/opt/cache, rw:/home/me/.cache/diecast"

 private:
  std::vector<Layer> layers_;
};

}  // namespace diecast
