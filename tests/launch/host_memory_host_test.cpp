// The host device without memory: each allocation of opening it and of a launch fails, on whichever
// thread, and that is an error, or std::bad_alloc on the caller's own. The process goes on.
#include <diecast/launch/host_device.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "child_process.h"
#include "launch/host_kernels.h"

#if defined(DIECAST_HAS_HOST_DEVICE)

namespace {
std::atomic<long> allowed = -1;  // allocations, of all threads, until one fails; -1: none does
}  // namespace

void* operator new(std::size_t size) {
  void* const memory = allowed < 0 || allowed-- != 0 ? std::malloc(size == 0 ? 1 : size) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace diecast {
namespace {

// From the first allocation on; until one more than `call` makes.
template <class Call>
int wrong_outcomes(const Call& call) {
  int wrong = 0;
  for (long n = 0;; ++n) {
    allowed = n;
    try {
      wrong += !call();
    } catch (const std::bad_alloc&) {
    }
    if (allowed.exchange(-1) > 0) return wrong;
  }
}

TEST(HostMemory, OfItsThreadsIsNotMissed) {
  EXPECT_EQ(testing::in_child([] {
              return wrong_outcomes([] { return open_host_device({.threads = 4}).ok(); });
            }),
            0);
}

TEST(HostMemory, ThatALaunchLacksIsItsError) {
  const Artifact code = testing::compile_host(R"(
HOST_KERNEL(block, count) {
  __syncthreads();
  atomicAdd(argument<u32*>(p, 0), 1);
}
)",
                                              "count");
  EXPECT_EQ(testing::in_child([&] {
              return wrong_outcomes([&] {
                const long now = allowed.exchange(-1);
                const auto device = *open_host_device({.threads = 4});
                const auto loaded = *device->load(code, {}, nullptr);
                std::uint32_t count = 0;
                allowed = now;
                const auto done =
                    testing::launch(*device, *loaded, testing::launch_shape(300, 64), &count);
                return done ? count == 300 * 64 : done.error().code == ErrorCode::out_of_memory;
              });
            }),
            0);
}

}  // namespace
}  // namespace diecast

#endif
