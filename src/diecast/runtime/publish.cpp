// From artifact to entry, on the publishing thread: what was compiled gets its name in the cache.
#include <diecast/base/text.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/state.h>

namespace diecast {

void Runtime::State::publish(Publication publication) {
  const Artifact& artifact = *publication.artifact;
  const bool replace = options.cache_policy == CachePolicy::rebuild;
  DiskCache* const root = cache->publish(publication.key, artifact, replace);
  publication.lock = {};  // no sink runs, and nothing is collected, under it
  const auto refusing = told_unwritten ? std::vector<DiskCache*>() : cache->refusing();
  if (!refusing.empty() && !told_unwritten.exchange(true)) {
    ++count.degraded;
    tell(RuntimeEvent::Kind::degraded, "",
         cat("not written for now: ", refusing[0]->root(), " refuses writing (`diecast doctor`)"),
         0);
  }
  if (root == nullptr) return;
  ++count.published;
  tell(RuntimeEvent::Kind::published, artifact.spelling, publication.key.hex(), 0);
  prune_if_due(*root);
}

void Runtime::State::prune_if_due(DiskCache& root) {
  if (!root.prune_due(options.cache_bytes)) return;
  PruneLimits limits;
  limits.bytes = options.cache_bytes;
  const auto pruned = root.prune(limits);
  if (!pruned || pruned->removed + pruned->temporaries == 0) return;
  count.pruned += pruned->removed + pruned->temporaries;
  tell(RuntimeEvent::Kind::pruned, "",
       cat(pruned->removed, " of ", pruned->entries, " entries, ",
           human_bytes(pruned->removed_bytes)),
       0);
}

}  // namespace diecast
