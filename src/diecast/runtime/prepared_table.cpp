// A table of lists that only grow; see prepared_table.h.
#include <diecast/runtime/prepared_table.h>

#include <algorithm>
#include <utility>

namespace diecast {

PreparedTable::~PreparedTable() {
  for (auto& bucket : buckets_)
    for (const Entry* entry = bucket.load(); entry;) delete std::exchange(entry, entry->next);
}

const void* PreparedTable::keep(const PreparedKey& key, std::shared_ptr<const void> prepared) {
  std::lock_guard lock(keeping_);
  if (const void* known = find(key)) return known;
  auto& bucket = buckets_[bucket_of(key)];
  const Entry* next = bucket.load(std::memory_order_relaxed);
  auto* entry = new Entry{key.hash, key.device, key.op, prepared.get(), {}, next, nullptr};
  std::ranges::copy(key.request, entry->request.begin());
  entry->owner = std::move(prepared);
  bucket.store(entry, std::memory_order_release);
  ++counts_[key.op];
  return entry->prepared;
}

std::size_t PreparedTable::count(const void* op) const {
  std::lock_guard lock(keeping_);
  const auto found = counts_.find(op);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace diecast
