// Prepared ops of the convenience calls, by device, kind of op and request: found without a lock at
// every call, kept as long as the runtime. Nothing is taken out, so what was found stays what it
// was.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/launch/device.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

namespace diecast {

// What an op is kept under. `request` holds all of its fields and nothing else, in at most
// kMostWords words; `hash` is of these.
struct PreparedKey {
  static constexpr std::size_t kMostWords = 8;

  const Device* device = nullptr;
  const void* op = nullptr;  // an address that each kind of op has for itself
  std::uint64_t hash = 0;
  std::span<const std::uint64_t> request;
};

class PreparedTable {
 public:
  PreparedTable() = default;
  PreparedTable(const PreparedTable&) = delete;
  ~PreparedTable();

  // The op that is kept under this key, or null.
  const void* find(const PreparedKey& key) const {
    const Entry* entry = buckets_[bucket_of(key)].load(std::memory_order_acquire);
    while (entry != nullptr && !is_of(*entry, key)) entry = entry->next;
    return entry != nullptr ? entry->prepared : nullptr;
  }
  // What is kept under the key from now on: `prepared`, or what another thread kept before.
  const void* keep(const PreparedKey& key, std::shared_ptr<const void> prepared);
  // How many requests of a kind of op are kept, for all devices.
  std::size_t count(const void* op) const;

 private:
  // An op's kernels own their device, so no other device can have this address.
  // What a call compares lies side by side: between two launches none of it stays in the cache.
  struct Entry {
    std::uint64_t hash;
    const Device* device;
    const void* op;
    const void* prepared;
    std::array<std::uint64_t, PreparedKey::kMostWords> request;
    const Entry* next;
    std::shared_ptr<const void> owner;  // of `prepared`
  };
  static constexpr int kBucketBits = 8;

  static std::size_t bucket_of(const PreparedKey& key) {
    const auto device = reinterpret_cast<std::uintptr_t>(key.device);
    return static_cast<std::size_t>((key.hash ^ device * kMix) >> (64 - kBucketBits));
  }
  static bool is_of(const Entry& entry, const PreparedKey& key) {
    if (entry.hash != key.hash || entry.device != key.device || entry.op != key.op) return false;
    std::uint64_t differ = 0;  // an op's requests have one number of words
    for (std::size_t i = 0; i < key.request.size(); ++i)
      differ |= entry.request[i] ^ key.request[i];
    return differ == 0;
  }
  static constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio

  std::array<std::atomic<const Entry*>, std::size_t{1} << kBucketBits> buckets_{};
  std::map<const void*, std::size_t> counts_;  // by kind of op
  mutable ForkSafe<std::mutex> keeping_;
};

}  // namespace diecast
