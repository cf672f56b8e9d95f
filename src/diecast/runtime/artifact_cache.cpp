// Roots, publishing and counts of a runtime's cache; see artifact_cache.h.
#include <diecast/base/text.h>
#include <diecast/runtime/artifact_cache.h>

#include <algorithm>
#include <new>

namespace diecast {
namespace {

// `written`: the root that gets them; of the others, bundles and roots that are only read, the
// sums.
Counts counts_of(const RuntimeCounters& counters, const CacheRoots& roots,
                 const DiskCache& written) {
  const CacheStatistics root = written.statistics();
  std::uint64_t other_hits = 0, other_rejected = 0;
  for (const CacheRoots::Layer& layer : roots.layers()) {
    if (layer.directory.get() == &written) continue;
    other_hits += layer.bundle ? layer.bundle->hits() : layer.directory->statistics().hits;
    other_rejected +=
        layer.bundle ? layer.bundle->rejected() : layer.directory->statistics().rejected;
  }
  Counts out = {{"rendered", counters.rendered},
                {"memory_hits", counters.memory_hits},
                {"disk_hits", counters.disk_hits},
                {"compiled", counters.compiled},
                {"failed", counters.failed},
                {"published", counters.published},
                {"loaded", counters.loaded},
                {"waited", counters.waited},
                {"late", counters.late},
                {"refused", counters.refused},
                {"pruned", counters.pruned},
                {"ignored", counters.ignored},
                {"degraded", counters.degraded},
                {"root_hits", root.hits},
                {"root_misses", root.misses},
                {"root_rejected", root.rejected},
                {"root_replaced", root.replaced},
                {"root_already_there", root.already_there},
                {"root_publish_failures", root.publish_failures},
                {"root_publishes_skipped", root.publishes_skipped},
                {"root_lock_waits", root.lock_waits},
                {"root_lock_timeouts", root.lock_timeouts},
                {"root_lock_failures", root.lock_failures},
                {"other_hits", other_hits},
                {"other_rejected", other_rejected}};
  for (std::size_t i = 0; i < root.faults.size(); ++i) {
    if (root.faults[i] > 0)
      out[cat("root_", entry_fault_name(static_cast<EntryFault>(i)))] = root.faults[i];
  }
  return out;
}

RootAccess access_of(const RuntimeOptions& options) {
  if (options.cache_policy == CachePolicy::read_only) return RootAccess::read;
  const bool looks = !options.creates_roots || options.cache_policy == CachePolicy::require_hit;
  return looks && !options.cache.empty() ? RootAccess::existing : RootAccess::create;
}

}  // namespace

Result<void> ArtifactCache::open() {
  const RuntimeOptions& options = common_.options;
  if (options.cache == "off" || options.cache_policy == CachePolicy::off) {
    state_ = "off";
    return {};
  }
  std::vector<CacheRootSetting> roots = {{CacheRootSetting::Kind::read_write, {}, {}}};
  if (!options.cache.empty()) {
    DIECAST_TRY(roots, parse_cache_setting(options.cache));
  } else if (roots[0].path = DiskCache::default_root(); roots[0].path.empty()) {
    state_ = "off: no home directory; set DIECAST_CACHE to an absolute directory";
    common_.tell(RuntimeEvent::Kind::degraded, "", state_, 0);
    return {};
  }
  roots_ = CacheRoots::open(roots, access_of(options), refused_roots_, *options.files);
  state_ = roots_->layers().empty() ? "off" : roots_->description();
  if (roots_->layers().empty()) roots_.reset();
  for (const auto& [root, error] : refused_roots_) {
    const std::string name = root_name(root);
    state_ += cat("; left out: ", name, ": ", error.what);
    common_.tell(RuntimeEvent::Kind::degraded, "",
                 cat("left out: ", name, ": ", error.what, "\n  fix: ", error.fix), 0);
  }
  common_.count.degraded += refused_roots_.size();
  return {};
}

ArtifactCache::~ArtifactCache() {
  if (!publisher_->is_ours()) (void)publisher_.release();  // its end would wait for that thread
  publisher_.reset();
  leave_counts();
}

void ArtifactCache::leave_counts() const {
  DiskCache* const root = roots_ == nullptr ? nullptr : roots_->writable();
  if (root == nullptr || common_.process != ::getpid()) return;
  try {
    Counts counts = counts_of(common_.counters(), *roots_, *root);
    const bool used = std::any_of(counts.begin(), counts.end(),
                                  [](const auto& count) { return count.second != 0; });
    counts["runtimes"] = 1;
    if (used) root->add_counts(counts);
  } catch (const std::bad_alloc&) {  // lost, like what a full disk loses
  }
}

std::shared_ptr<const Artifact> ArtifactCache::find(const ArtifactKey& key,
                                                    const std::string& compiler,
                                                    const Artifact* refused) {
  const RuntimeOptions& options = common_.options;
  if (roots_ == nullptr || options.cache_policy == CachePolicy::rebuild) return nullptr;
  auto found = roots_->find(key, compiler, options.cache_compilers, refused);
  return found ? std::make_shared<const Artifact>(*std::move(found)) : nullptr;
}

DiskCache::Lock ArtifactCache::lock(const ArtifactKey& key, const std::function<bool()>& appeared) {
  return roots_->lock(key, common_.options.lock_wait, appeared);
}

bool ArtifactCache::has_file(const ArtifactKey& key, const std::string& compiler) const {
  return roots_->writable()->has_file(key, compiler);
}

Error ArtifactCache::or_damage(const ArtifactKey& key, const std::string& compiler,
                               Error miss) const {
  if (roots_ == nullptr) return miss;
  auto checked = roots_->check_bundles(key, compiler, common_.options.cache_compilers);
  if (checked) return miss;
  miss.what += cat("\n", checked.error().what);
  miss.fix = std::move(checked).error().fix;
  return miss;
}

void ArtifactCache::publish_later(Publication publication) {
  if (roots_ == nullptr || common_.options.cache_policy == CachePolicy::read_only) return;
  DiskCache* const root = roots_->writable();
  if (root != nullptr && !publisher_->add(std::move(publication))) root->skip_publish();
}

// On the publishing thread: what was compiled gets its name in the cache.
void ArtifactCache::publish(Publication publication) {
  const Artifact& artifact = *publication.artifact;
  const bool replace = common_.options.cache_policy == CachePolicy::rebuild;
  DiskCache* const root = roots_->publish(publication.key, artifact, replace);
  publication.lock = {};  // no sink runs, and nothing is collected, under it
  const auto refusing = told_unwritten_ ? std::vector<DiskCache*>() : roots_->refusing();
  if (!refusing.empty() && !told_unwritten_.exchange(true)) {
    ++common_.count.degraded;
    common_.tell(
        RuntimeEvent::Kind::degraded, "",
        cat("not written for now: ", refusing[0]->root(), " refuses writing (`diecast doctor`)"),
        0);
  }
  if (root == nullptr) return;
  ++common_.count.published;
  common_.tell(RuntimeEvent::Kind::published, artifact.spelling, publication.key.hex(), 0);
  prune_if_due(*root);
}

void ArtifactCache::prune_if_due(DiskCache& root) {
  PruneLimits limits;
  limits.bytes = common_.options.cache_bytes;
  if (!root.prune_due(limits.bytes)) return;
  const auto pruned = root.prune(limits);
  if (!pruned || pruned->removed + pruned->temporaries == 0) return;
  common_.count.pruned += pruned->removed + pruned->temporaries;
  common_.tell(RuntimeEvent::Kind::pruned, "",
               cat(pruned->removed, " of ", pruned->entries, " entries, ",
                   human_bytes(pruned->removed_bytes)),
               0);
}

}  // namespace diecast
