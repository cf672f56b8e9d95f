// A thread block: their indices, shared memory, barriers, shuffles and ballots.
#pragma once

#include <diecast/device/base/host_abi.h>

#if defined(__CUDACC__)

#define DIECAST_DEVICE __device__ __forceinline__

namespace diecast {

// The thread block's dynamic shared memory (`shared(...)` of the launch line), aligned to 1024 bytes.
template <class T>
DIECAST_DEVICE T* dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char diecast_dynamic_shared[];
  return reinterpret_cast<T*>(diecast_dynamic_shared);
}

// Where it lies in shared memory, as instructions of that memory alone take it.
DIECAST_DEVICE unsigned shared_address(const void* pointer) {
  unsigned long long address;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(pointer));
  return static_cast<unsigned>(address);
}

// How many bytes of it this launch has.
DIECAST_DEVICE unsigned dynamic_shared_bytes() {
  unsigned bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}

}  // namespace diecast

#else

// Hidden, because a static inside an inline function would otherwise be one object for all kernels
// that are loaded, whatever its size in each.
#define DIECAST_DEVICE inline __attribute__((always_inline, visibility("hidden")))
#define __device__ __attribute__((visibility("hidden")))
#define __host__
#define __global__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
// A thread block runs wholly on one operating-system thread.
#define __shared__ static thread_local
// A table at namespace scope: `__constant__ float table[4] = {...};`
#define __constant__ __attribute__((visibility("hidden")))

namespace diecast {

using size_t = decltype(sizeof(0));

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
  constexpr dim3(uint3 of) : x(of.x), y(of.y), z(of.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
  unsigned x, y, z;
};

// The thread now running. Nothing takes their addresses, so a compiler may keep them in registers.
static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 blockDim, gridDim;
static thread_local HostBlock* host_block;
constexpr int warpSize = 32;

DIECAST_DEVICE void host_enter(HostBlock* block) {
  blockIdx = {block->index[0], block->index[1], block->index[2]};
  blockDim = {block->dim[0], block->dim[1], block->dim[2]};
  gridDim = {block->grid[0], block->grid[1], block->grid[2]};
  host_block = block;
}

// `exchange none`: the threads are plain loops, no call back.
template <class Body>
DIECAST_DEVICE void host_run_none(HostBlock* block, const Body& body) {
  host_enter(block);
  const unsigned width = block->dim[0], height = block->dim[1], depth = block->dim[2];
  for (unsigned z = 0; z < depth; ++z) {
    for (unsigned y = 0; y < height; ++y) {
      for (unsigned x = 0; x < width; ++x) {
        threadIdx = {x, y, z};
        body();
      }
    }
  }
}

template <class Body>
void host_thread(void* body, unsigned thread) {
  const unsigned row = thread / blockDim.x;
  threadIdx = {thread % blockDim.x, row % blockDim.y, row / blockDim.y};
  (*static_cast<const Body*>(body))();
}

template <class Body>
DIECAST_DEVICE void host_run_warp(HostBlock* block, const Body& body) {
  host_enter(block);
  block->run_threads(block, HostBlock::warp, host_thread<Body>, const_cast<Body*>(&body));
}

template <class Body>
DIECAST_DEVICE void host_run_block(HostBlock* block, const Body& body) {
  host_enter(block);
  block->run_threads(block, HostBlock::block, host_thread<Body>, const_cast<Body*>(&body));
}

template <class T>
DIECAST_DEVICE T* dynamic_shared() {
  return static_cast<T*>(host_block->shared);
}

DIECAST_DEVICE unsigned dynamic_shared_bytes() { return host_block->shared_bytes; }

// Other threads run before this returns, so the indices are this thread's own again only after it.
DIECAST_DEVICE void host_wait(HostWait& wait) {
  const uint3 mine = threadIdx;
  host_block->wait(host_block, &wait);
  threadIdx = mine;
}

DIECAST_DEVICE void __syncthreads(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  HostWait wait{HostWait::barrier, 0, 0, line, file, 0};
  host_wait(wait);
}

DIECAST_DEVICE void __syncwarp(unsigned mask = 0xffffffffu, const char* file = __builtin_FILE(),
                               unsigned line = __builtin_LINE()) {
  HostWait wait{HostWait::warp_barrier, mask, 0, line, file, 0};
  host_wait(wait);
}

DIECAST_DEVICE unsigned __ballot_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                                      unsigned line = __builtin_LINE()) {
  HostWait wait{HostWait::ballot, mask, 0, line, file, predicate != 0};
  host_wait(wait);
  return static_cast<unsigned>(wait.value);
}

DIECAST_DEVICE int __any_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                              unsigned line = __builtin_LINE()) {
  return __ballot_sync(mask, predicate, file, line) != 0;
}

DIECAST_DEVICE int __all_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                              unsigned line = __builtin_LINE()) {
  return __ballot_sync(mask, predicate == 0, file, line) == 0;
}

DIECAST_DEVICE unsigned host_lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }

// `source` as the four shuffles compute it; outside the lane's own segment it keeps its value.
template <class T>
DIECAST_DEVICE T host_shuffle(unsigned mask, T value, unsigned source, const char* file, unsigned line) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 32 or 64 bits");
  HostWait wait{HostWait::shuffle, mask, source, line, file, 0};
  __builtin_memcpy(&wait.value, &value, sizeof value);
  host_wait(wait);
  __builtin_memcpy(&value, &wait.value, sizeof value);
  return value;
}

template <class T>
DIECAST_DEVICE T __shfl_sync(unsigned mask, T value, int source, int width = 32, const char* file = __builtin_FILE(),
                             unsigned line = __builtin_LINE()) {
  const unsigned within = static_cast<unsigned>(width) - 1;
  return host_shuffle(mask, value, (host_lane() & ~within) | (static_cast<unsigned>(source) & within), file, line);
}

template <class T>
DIECAST_DEVICE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) {
  const unsigned lane = host_lane(), last = lane | (static_cast<unsigned>(width) - 1);
  const unsigned source = lane ^ static_cast<unsigned>(lane_mask);
  return host_shuffle(mask, value, source <= last ? source : lane, file, line);
}

template <class T>
DIECAST_DEVICE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, const char* file = __builtin_FILE(),
                                unsigned line = __builtin_LINE()) {
  const unsigned lane = host_lane(), within = lane & (static_cast<unsigned>(width) - 1);
  return host_shuffle(mask, value, delta <= within ? lane - delta : lane, file, line);
}

template <class T>
DIECAST_DEVICE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, const char* file = __builtin_FILE(),
                                  unsigned line = __builtin_LINE()) {
  const unsigned lane = host_lane(), last = lane | (static_cast<unsigned>(width) - 1);
  return host_shuffle(mask, value, delta <= last - lane ? lane + delta : lane, file, line);
}

}  // namespace diecast

#endif
