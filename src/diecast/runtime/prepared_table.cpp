// A table of lists that only grow; see prepared_table.h.
#include <diecast/runtime/prepared_table.h>

#include <utility>

namespace diecast {

PreparedTable::~PreparedTable() {
  for (auto& bucket : buckets_)
    for (const Entry* entry = bucket.load(); entry;) delete std::exchange(entry, entry->next);
}

std::size_t PreparedTable::bucket_of(const Device* device, std::uint64_t request) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio
  const std::uint64_t both = request ^ reinterpret_cast<std::uintptr_t>(device);
  return static_cast<std::size_t>((both * kMix) >> (64 - kBucketBits));
}

const void* PreparedTable::find(const Device* device, std::uint64_t request) const {
  const Entry* entry = buckets_[bucket_of(device, request)].load(std::memory_order_acquire);
  while (entry && (entry->request != request || entry->device != device)) entry = entry->next;
  return entry ? entry->prepared.get() : nullptr;
}

const void* PreparedTable::keep(const Device* device, std::uint64_t request,
                                std::shared_ptr<const void> prepared) {
  std::lock_guard lock(keeping_);
  if (const void* known = find(device, request)) return known;
  auto& bucket = buckets_[bucket_of(device, request)];
  const Entry* next = bucket.load(std::memory_order_relaxed);
  const auto* entry = new Entry{device, request, std::move(prepared), next};
  bucket.store(entry, std::memory_order_release);
  return entry->prepared.get();
}

}  // namespace diecast
