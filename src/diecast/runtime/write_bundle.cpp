// From outcomes of warming to a bundle; see write_bundle.h.
#include <diecast/cache/cache_directory.h>
#include <diecast/runtime/write_bundle.h>

#include <algorithm>

namespace diecast {

Result<std::vector<BundleEntry>> bundle_entries(Runtime& runtime,
                                                std::span<const WarmOutcome> outcomes) {
  std::vector<BundleEntry> entries;
  for (const WarmOutcome& outcome : outcomes) {
    if (outcome.error) return *outcome.error;
    const Artifact& artifact = *outcome.resolved->artifact;
    DIECAST_TRY(const ArtifactKey key, runtime.key(*outcome.specialization));
    DIECAST_TRY(Bytes bytes, encode_entry(key, artifact));
    entries.push_back({key.digest, artifact.compiler, std::move(bytes)});
  }
  return entries;
}

Result<BundleWriter::Written> write_bundle(const std::string& path,
                                           std::vector<BundleEntry> entries) {
  std::ranges::stable_sort(entries, [](const BundleEntry& a, const BundleEntry& b) {
    return a.key != b.key ? a.key < b.key : is_older_identity(a.compiler, b.compiler);
  });
  DIECAST_TRY(BundleWriter writer, BundleWriter::create(path));
  for (const BundleEntry& entry : entries) DIECAST_CHECK(writer.add(entry.bytes));
  return writer.commit();
}

}  // namespace diecast
