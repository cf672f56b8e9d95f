// accesses_bulk: what accesses_direct reads and writes, in bulk copies through shared memory: thread
// blocks that stay read STAGES tiles ahead, each one copy, and with BULK_STORES write each as one.
/* diecast
option   int   READ        {4, 8, 16, 32, 64}            // bytes of a piece that are read
option   int   WRITE       {0, 4, 8, 16, 32}             // bytes of it that are written
option   int   READ_SCALE  {0, 1, 2, 4} = 0              // neighbouring pieces that read one byte of scales; 0: none
option   int   WRITE_SCALE {0, 1, 2, 4} = 0              // neighbouring pieces for which one byte is written; 0: none
tune     int   TOGETHER    {1, 2, 4} = 1                 // pieces of a thread in one tile
tune     int   STAGES      {2, 3, 4} = 3                 // tiles that are on their way
tune     bool  BULK_STORES = false
tune     int   THREADS     {128, 256} = 256
tune     int   waves       {1, 2, 4, 8} = 4              // the most thread blocks a multiprocessor gets
let      SHARED = THREADS * TOGETHER * (STAGES * (READ + 1) + BULK_STORES * 2 * (WRITE + 1))  // bytes of a thread block
size     pieces  divisible (THREADS * TOGETHER)          // whole tiles
arg      from        in    u8  [pieces * READ]  align 16
arg      from_scales in    u8  [READ_SCALE == 0 ? 0 : pieces / READ_SCALE]  align (READ_SCALE == 0 ? 1 : 16)
arg      to          out   u8  [WRITE == 0 ? 4 : pieces * WRITE]  align 16
arg      to_scales   out   u8  [WRITE_SCALE == 0 ? 0 : pieces / WRITE_SCALE]  align (BULK_STORES && WRITE_SCALE > 0 ? 16 : 1)
arg      pieces
require  WRITE > 0 || !BULK_STORES                         // nothing is written
launch   grid(min(pieces / (THREADS * TOGETHER), sm_count * max(1, min(waves, shared_optin / SHARED)))) block(THREADS)
launch   shared(SHARED)
target   sm_90+
sample   pieces {0, 1024}
*/
#include <diecast/device/memory/vector.h>

// Bytes of a load and a store; pieces that share a scale.
constexpr int kLoad = READ < 16 ? READ : 16, kStore = WRITE == 0 ? 4 : WRITE < 16 ? WRITE : 16;
constexpr int kReaders = READ_SCALE == 0 ? 1 : READ_SCALE, kWriters = WRITE_SCALE == 0 ? 1 : WRITE_SCALE;

constexpr int kTile = THREADS * TOGETHER;
// A tile: its pieces, then as many bytes as scales can have.
constexpr int kInBytes = kTile * (READ + 1), kOutBytes = kTile * (WRITE + 1);
constexpr int kReadScales = READ_SCALE == 0 ? 0 : kTile / kReaders;
constexpr int kWrittenScales = WRITE_SCALE == 0 ? 0 : kTile / kWriters;

DIECAST_DEVICE void copy_in(void* to, const void* from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

DIECAST_DEVICE void copy_out(void* to, const void* from, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :: "l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
}

DIECAST_DEVICE void wait_for(u32 barrier, u32 phase) {
  asm volatile("{\n .reg .pred done;\n"
               "again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               " @!done bra again;\n}"
               :: "r"(barrier), "r"(phase) : "memory");
}

DIECAST_KERNEL {
  __shared__ alignas(8) u64 barriers[STAGES];
  u8* const tiles_in = dynamic_shared<u8>();
  u8* const tiles_out = tiles_in + STAGES * kInBytes;
  const bool leads = threadIdx.x == 0;
  const i64 tiles = pieces / kTile;
  const auto fetch = [&](int stage, i64 tile) {
    u8* const at = tiles_in + stage * kInBytes;
    const u32 barrier = shared_address(barriers + stage);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(barrier), "r"(kTile * READ + kReadScales) : "memory");
    copy_in(at, from + tile * (kTile * READ), kTile * READ, barrier);
    if (READ_SCALE > 0) copy_in(at + kTile * READ, from_scales + tile * kReadScales, kReadScales, barrier);
  };
  if (leads) {
    for (int s = 0; s < STAGES; ++s) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(barriers + s)) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int s = 0; s < STAGES; ++s) {
      const i64 tile = blockIdx.x + i64{s} * gridDim.x;
      if (tile < tiles) fetch(s, tile);
    }
  }
  __syncthreads();
  u32 found = 0;
  int stage = 0, half = 0;
  u32 phase = 0;
DIECAST_NO_UNROLL
  for (i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    wait_for(shared_address(barriers + stage), phase);
    const u8* const read = tiles_in + stage * kInBytes;
    u32 words[TOGETHER][READ / 4], scale[TOGETHER];
DIECAST_UNROLL
    for (int k = 0; k < TOGETHER; ++k) {
      const int piece = k * THREADS + threadIdx.x;
DIECAST_UNROLL
      for (int i = 0; i < READ; i += kLoad) {
        const auto v = *reinterpret_cast<const Vector<kLoad>*>(read + piece * READ + i);
DIECAST_UNROLL
        for (int w = 0; w < kLoad / 4; ++w) words[k][i / 4 + w] = v.words[w];
      }
      scale[k] = READ_SCALE > 0 ? read[kTile * READ + piece / kReaders] : 0;
    }
    // What was written two tiles ago has left shared memory.
    if (BULK_STORES && leads) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    __syncthreads();
    if (leads && tile + i64{STAGES} * gridDim.x < tiles) fetch(stage, tile + i64{STAGES} * gridDim.x);
    u8* const out = BULK_STORES ? tiles_out + half * kOutBytes : to + tile * (kTile * WRITE);
    u8* const out_scales = BULK_STORES ? out + kTile * WRITE : to_scales + tile * kWrittenScales;
DIECAST_UNROLL
    for (int k = 0; k < TOGETHER; ++k) {
      const int piece = k * THREADS + threadIdx.x;
      const auto word = [&](int i, int count) {
        u32 x = scale[k] ^ words[k][i % (READ / 4)];
DIECAST_UNROLL
        for (int w = i + count; w < READ / 4; w += count) x ^= words[k][w];
        return x;
      };
DIECAST_UNROLL
      for (int i = 0; i < WRITE; i += kStore) {
        Vector<kStore> v;
DIECAST_UNROLL
        for (int w = 0; w < kStore / 4; ++w) v.words[w] = word(i / 4 + w, WRITE / 4);
        if constexpr (BULK_STORES) {
          *reinterpret_cast<Vector<kStore>*>(out + piece * WRITE + i) = v;
        } else {
          store_streaming<kStore>(out + piece * WRITE + i, v);
        }
      }
      if constexpr (WRITE == 0) found ^= word(0, 1);
      if (WRITE_SCALE > 0 && piece % kWriters == 0) {
        out_scales[piece / kWriters] = static_cast<u8>(word(0, 1));
      }
    }
    if constexpr (BULK_STORES) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      if (leads) {
        copy_out(to + tile * (kTile * WRITE), out, kTile * WRITE);
        if (WRITE_SCALE > 0) copy_out(to_scales + tile * kWrittenScales, out_scales, kWrittenScales);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      }
      half ^= 1;
    }
    if (++stage == STAGES) stage = 0, phase ^= 1;
  }
  if constexpr (BULK_STORES) {
    if (leads) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  if constexpr (WRITE == 0) {
    found = __reduce_xor_sync(0xFFFFFFFFu, found);
    if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<u32*>(to), found);
  }
}
