// Prepared ops by device and request, for the convenience calls: found without a lock at every
// call, kept as long as the runtime. Nothing is taken out, so what was found stays what it was.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/launch/device.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace diecast {

class PreparedTable {
 public:
  PreparedTable() = default;
  PreparedTable(const PreparedTable&) = delete;
  ~PreparedTable();

  const void* find(const Device* device, std::uint64_t request) const;
  // What is kept under the request from now on: `prepared`, or what another thread kept before.
  const void* keep(const Device* device, std::uint64_t request,
                   std::shared_ptr<const void> prepared);

 private:
  // An op's kernels own their device, so no other device can have this address.
  struct Entry {
    const Device* device;
    std::uint64_t request;
    std::shared_ptr<const void> prepared;
    const Entry* next;
  };
  static constexpr int kBucketBits = 8;
  static std::size_t bucket_of(const Device* device, std::uint64_t request);

  std::array<std::atomic<const Entry*>, std::size_t{1} << kBucketBits> buckets_{};
  ForkSafe<std::mutex> keeping_;
};

}  // namespace diecast
