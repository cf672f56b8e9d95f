// What CUDA's words of lanes, blocks, bits and atomics give, a row of results a thread.
/* diecast
size     n
arg      x      in    u32 [n]     align 16
arg      out    out   u64 [n, 42]
arg      sums   inout u32 [8]
arg      longs  inout i64 [8]
arg      n
arg      real   f64
arg      wide   u64
arg      small  i8
arg      short_ u16
sample   n {960}
launch   grid(n / 96) block(96)
*/
__constant__ u32 squares[4] = {0, 1, 4, 9};
__constant__ const u32 cubes[4] = {0, 1, 8, 27};
struct __align__(8) Pair {
  u32 first, second;
};
static __device__ __noinline__ size_t second_of(Pair pair) { return pair.second + alignof(Pair); }
__host__ __device__ u32 cube(u32 word) { return cubes[word & 3]; }

DIECAST_DEVICE void meet(u32 word, u32* sums, i64* longs) {
  atomicAdd(&sums[0], word & 255);
  atomicMax(&sums[1], word);
  atomicMin(&sums[2], word);
  atomicAnd(&sums[3], word | 0xF0u);
  atomicOr(&sums[4], word & 0x0Fu);
  atomicXor(&sums[5], word);
  u32 seen = sums[6];
  for (u32 old = ~seen; old != seen;) {
    old = seen;
    seen = atomicCAS(&sums[6], old, old + (word & 7));
  }
  const i64 signed_word = static_cast<i32>(word);
  atomicAdd(&longs[0], signed_word);
  atomicMax(&longs[1], signed_word);
  atomicMin(&longs[2], signed_word);
  atomicAnd(&longs[3], signed_word | 0xF0);
  atomicOr(&longs[4], signed_word & 0x0F);
  atomicXor(&longs[5], signed_word);
}

DIECAST_DEVICE u64* of_bits(u32 word, u64* next) {
  const u64 twice = u64{word} << 32 | (word ^ 0x12345678u);
  *next++ = __brev(word);
  *next++ = __brevll(twice);
  *next++ = __popcll(twice);
  *next++ = __clzll(static_cast<i64>(twice >> (word & 63)));
  *next++ = __ffsll(static_cast<i64>(twice << (word & 63)));
  *next++ = __umulhi(word, 0x9E3779B9u);
  *next++ = static_cast<u32>(__mulhi(static_cast<i32>(word), -1234567));
  *next++ = __umul64hi(twice, twice);
  *next++ = static_cast<u64>(__mul64hi(static_cast<i64>(twice), -123456789012345LL));
  *next++ = __dp4a(word, word * 3, 7u);
  *next++ = static_cast<u32>(__dp4a(static_cast<i32>(word), static_cast<i32>(word * 3), -7));
  return next;
}

DIECAST_DEVICE u64* of_lanes(u32 word, u64* next) {
  int all = 5, not_all = 5;
  const u32 lane = threadIdx.x % 32;
  *next++ = __match_any_sync(0xFFFFFFFFu, word & 3);
  *next++ = __match_all_sync(0xFFFFFFFFu, u64{threadIdx.x / 32} << 40, &all);
  *next++ = __match_all_sync(0xFFFFFFFFu, lane, &not_all);
  *next++ = static_cast<u64>(all * 2 + not_all);
  *next++ = __reduce_add_sync(0xFFFFFFFFu, word);
  *next++ = static_cast<u32>(__reduce_add_sync(0xFFFFFFFFu, static_cast<i32>(word)));
  *next++ = __reduce_min_sync(0xFFFFFFFFu, word);
  *next++ = static_cast<u32>(__reduce_min_sync(0xFFFFFFFFu, static_cast<i32>(word)));
  *next++ = __reduce_max_sync(0xFFFFFFFFu, word);
  *next++ = static_cast<u32>(__reduce_max_sync(0xFFFFFFFFu, static_cast<i32>(word)));
  *next++ = __reduce_and_sync(0xFFFFFFFFu, word | 0xFF00FF00u);
  *next++ = __reduce_or_sync(0xFFFFFFFFu, word & 0x00FF00FFu);
  *next++ = __reduce_xor_sync(0xFFFFFFFFu, word);
  u64 half = 0;  // what half a warp finds
  if (lane < 16) half = u64{__match_any_sync(0xFFFFu, word & 1)} << 32 | __reduce_add_sync(0xFFFFu, word);
  *next++ = half;
  *next++ = static_cast<u64>(__syncthreads_count(word % 3 == 0));
  *next++ = static_cast<u64>(__syncthreads_or(word % 4096 == 0) != 0);
  *next++ = static_cast<u64>(__syncthreads_and(word % 64 != 0) != 0);
  return next;
}

DIECAST_KERNEL {
  const i64 i = i64{blockIdx.x} * 96 + threadIdx.x;
  const u32 word = __ldg(x + i);
  u64* next = of_lanes(word, of_bits(word, out + i * 42));
  meet(word, sums, longs);
  const uint4 four = reinterpret_cast<const uint4*>(x)[i / 4];
  const float2 two = make_float2(1.5f, -2.0f);
  *next++ = (i & 2) != 0 ? ((i & 1) != 0 ? four.w : four.z) : ((i & 1) != 0 ? four.y : four.x);
  *next++ = __float_as_uint(two.x * two.y);
  *next++ = squares[word & 3] + cube(word) + second_of({1, word});
  *next++ = __float_as_uint(INFINITY) | u64{__float_as_uint(FLT_MAX)} << 32;
  const i64 limits = INT64_MAX - INT32_MAX - UINT16_MAX + (UINT64_MAX == ULLONG_MAX) - INT16_MIN;
  *next++ = static_cast<u64>(NAN != NAN) + static_cast<u64>(INT_MAX) + static_cast<u64>(-i64{INT_MIN}) + static_cast<u64>(limits);
  *next++ = static_cast<uint8_t>(word) + static_cast<uint64_t>(static_cast<uint16_t>(word));
  *next++ = __float_as_uint(__fsqrt_rn(__uint_as_float(word & 0x7FFFFFFFu)));
  *next++ = static_cast<u64>(static_cast<i64>(real * word)) + wide;
  *next++ = static_cast<u64>(i64{small} * short_);
  *next++ = __ldg(reinterpret_cast<const bf16*>(x) + 2 * i).bits;
  u32* const own = reinterpret_cast<u32*>(next);
  *own = word;
  const u32 old = atomicExch(own, 7u);
  *next++ = u64{old} << 32 | *own;
  u32* const up = reinterpret_cast<u32*>(next);
  *up = word & 7;
  const u32 before_up = atomicInc(up, 5);
  *next++ = u64{before_up} << 32 | *up;
  u32* const down = reinterpret_cast<u32*>(next);
  *down = word & 7;
  const u32 before_down = atomicDec(down, 5);
  *next++ = u64{before_down} << 32 | *down;
  const dim3 whole = gridDim, plane(word & 255, 3);
  const uint3 of_plane = plane;
  *next = u64{whole.x} << 32 | whole.y << 28 | (whole.z + dim3().y) << 24 | of_plane.x << 8 | of_plane.y << 4 | of_plane.z;
}
