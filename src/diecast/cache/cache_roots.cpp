// Reading the setting, opening the layers and asking them in order.
#include <diecast/base/text.h>
#include <diecast/cache/cache_roots.h>

namespace diecast {
namespace {

using Kind = CacheRootSetting::Kind;

constexpr std::pair<std::string_view, Kind> kPrefixes[] = {
    {"rw:", Kind::read_write}, {"ro:", Kind::read_only}, {"bundle:", Kind::bundle}};

std::string_view prefix_of(const CacheRootSetting& setting) {
  return kPrefixes[static_cast<std::size_t>(setting.kind)].first;
}

Result<CacheRootSetting> parse_root(std::string_view word, std::string_view whole) {
  CacheRootSetting out;
  std::string_view path = word;
  for (const auto& [prefix, kind] : kPrefixes) {
    if (!word.starts_with(prefix)) continue;
    out.kind = kind;
    path = word.substr(prefix.size());
  }
  if (const std::size_t mark = path.find("#sha256=");
      mark != path.npos && out.kind == Kind::bundle) {
    out.pin = parse_sha256(path.substr(mark + 8));
    if (!out.pin) {
      return Error{ErrorCode::invalid_argument,
                   cat("the pin of the cache root ", quote(word), " is not 64 hexadecimal digits"),
                   "give what `sha256sum FILE` prints, after #sha256="};
    }
    path = path.substr(0, mark);
  }
  out.path = path;
  if (!path.empty() && path[0] == '/') return out;
  return Error{ErrorCode::invalid_argument,
               cat("no absolute path in the cache setting ", quote(whole)),
               "set DIECAST_CACHE to an absolute directory, to `off`, or to roots such as "
               "ro:/opt/cache,bundle:/opt/kernels.dcb,rw:/var/cache/me"};
}

// Whose artifacts of a layer may be used; empty: the newest.
std::string wanted_of(const CacheRoots::Layer& layer, const std::string& compiler,
                      CompilerChoice choice) {
  const bool newest = choice == CompilerChoice::newest ||
                      (choice == CompilerChoice::bundles && layer.bundle != nullptr);
  return newest ? "" : compiler;
}

}  // namespace

Result<std::vector<CacheRootSetting>> parse_cache_setting(std::string_view text) {
  std::vector<CacheRootSetting> out;
  for (const std::string_view word : split(text, ',')) {
    DIECAST_TRY(out.emplace_back(), parse_root(trim(word), text));
  }
  return out;
}

std::string_view root_kind(const CacheRootSetting& setting) {
  std::string_view word = prefix_of(setting);
  word.remove_suffix(1);
  return word;
}

std::string root_name(const CacheRootSetting& setting) {
  return cat(prefix_of(setting), setting.path);
}

std::string_view compiler_choice_word(CompilerChoice choice) {
  constexpr std::string_view kWords[] = {"found", "exact", "newest", "bundles"};
  return kWords[static_cast<std::size_t>(choice)];
}

Result<CompilerChoice> parse_compiler_choice(std::string_view word) {
  for (const CompilerChoice choice : {CompilerChoice::found, CompilerChoice::exact,
                                      CompilerChoice::newest, CompilerChoice::bundles}) {
    if (word == compiler_choice_word(choice)) return choice;
  }
  return Error{ErrorCode::invalid_argument, cat("no choice of compilers is named ", quote(word)),
               "use found, exact, newest or bundles"};
}

std::unique_ptr<CacheRoots> CacheRoots::open(const std::vector<CacheRootSetting>& settings,
                                             RootAccess access, std::vector<RefusedRoot>& refused,
                                             FileSystem& files) {
  auto out = std::make_unique<CacheRoots>();
  for (const CacheRootSetting& setting : settings) {
    Layer layer{setting, nullptr, nullptr};
    if (setting.kind == Kind::bundle) {
      auto bundle = Bundle::open(setting.path, setting.pin, files);
      if (bundle) layer.bundle = *std::move(bundle);
      if (!bundle) refused.push_back({setting, bundle.error()});
    } else {
      auto directory = DiskCache::open(
          setting.path, files, setting.kind == Kind::read_write ? access : RootAccess::read);
      if (directory) layer.directory = *std::move(directory);
      if (!directory) refused.push_back({setting, directory.error()});
    }
    if (layer.bundle || layer.directory) out->layers_.push_back(std::move(layer));
  }
  return out;
}

std::optional<Artifact> CacheRoots::find(const ArtifactKey& key, const std::string& compiler,
                                         CompilerChoice choice, const Artifact* refused,
                                         const Layer** from) {
  if (choice == CompilerChoice::exact && compiler.empty()) return std::nullopt;
  for (const Layer& layer : layers_) {
    const std::string wanted = wanted_of(layer, compiler, choice);
    auto found = layer.bundle ? layer.bundle->find(key, wanted, refused)
                              : layer.directory->find(key, wanted, refused);
    if (!found) continue;
    if (from != nullptr) *from = &layer;
    return found;
  }
  return std::nullopt;
}

Result<void> CacheRoots::check_bundles(const ArtifactKey& key, const std::string& compiler,
                                       CompilerChoice choice) {
  for (const Layer& layer : layers_) {
    if (layer.bundle) DIECAST_CHECK(layer.bundle->check(key, wanted_of(layer, compiler, choice)));
  }
  return {};
}

DiskCache* CacheRoots::publish(const ArtifactKey& key, const Artifact& artifact, bool replace) {
  for (const Layer& layer : layers_) {
    if (layer.setting.kind != Kind::read_write) continue;
    if (replace) layer.directory->supersede(key, artifact.compiler);
    if (layer.directory->publish(key, artifact)) return layer.directory.get();
  }
  return nullptr;
}

DiskCache::Lock CacheRoots::lock(const ArtifactKey& key, std::chrono::milliseconds wait,
                                 const std::function<bool()>& ready) {
  DiskCache* const cache = writable();
  return cache == nullptr ? DiskCache::Lock() : cache->lock(key, wait, ready);
}

DiskCache* CacheRoots::writable() const {
  DiskCache* first = nullptr;
  for (const Layer& layer : layers_) {
    if (layer.setting.kind != Kind::read_write) continue;
    if (layer.directory->writable()) return layer.directory.get();
    if (first == nullptr) first = layer.directory.get();
  }
  return first;
}

std::vector<DiskCache*> CacheRoots::refusing() const {
  std::vector<DiskCache*> out;
  for (const Layer& layer : layers_) {
    const bool written = layer.setting.kind == Kind::read_write && layer.directory;
    if (written && !layer.directory->writable()) out.push_back(layer.directory.get());
  }
  return out;
}

std::string CacheRoots::description() const {
  std::vector<std::string> names;
  for (const Layer& layer : layers_) {
    const bool plain = layer.setting.kind == Kind::read_write && layers_.size() == 1;
    names.push_back(plain ? layer.setting.path : root_name(layer.setting));
  }
  return join(names, ", ");
}

}  // namespace diecast
