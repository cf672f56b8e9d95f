// Loads and stores of 4, 8 or 16 bytes at once, and of streams that nobody reads again soon (they
// leave the caches first). Addresses must be a multiple of the size.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

template <int Bytes>
struct alignas(Bytes) Vector {
  u32 words[Bytes / 4];
};

template <int Bytes>
DIECAST_DEVICE Vector<Bytes> load_streaming(const void* from) {
  Vector<Bytes> v;
#if DIECAST_HOST
  __builtin_memcpy(&v, from, Bytes);
#else
  if constexpr (Bytes == 16) {
    asm("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.words[0]), "=r"(v.words[1]), "=r"(v.words[2]), "=r"(v.words[3])
        : "l"(from));
  } else if constexpr (Bytes == 8) {
    asm("ld.global.cs.v2.u32 {%0, %1}, [%2];" : "=r"(v.words[0]), "=r"(v.words[1]) : "l"(from));
  } else {
    asm("ld.global.cs.u32 %0, [%1];" : "=r"(v.words[0]) : "l"(from));
  }
#endif
  return v;
}

// A load that may be repeated soon: goes through the caches as usual.
template <int Bytes>
DIECAST_DEVICE Vector<Bytes> load(const void* from) {
  Vector<Bytes> v;
#if DIECAST_HOST
  __builtin_memcpy(&v, from, Bytes);
#else
  if constexpr (Bytes == 16) {
    asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.words[0]), "=r"(v.words[1]), "=r"(v.words[2]), "=r"(v.words[3])
        : "l"(from));
  } else if constexpr (Bytes == 8) {
    asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.words[0]), "=r"(v.words[1]) : "l"(from));
  } else {
    asm("ld.global.u32 %0, [%1];" : "=r"(v.words[0]) : "l"(from));
  }
#endif
  return v;
}

template <int Bytes>
DIECAST_DEVICE void store_streaming(void* to, const Vector<Bytes>& v) {
#if DIECAST_HOST
  __builtin_memcpy(to, &v, Bytes);
#else
  if constexpr (Bytes == 16) {
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.words[0]), "r"(v.words[1]), "r"(v.words[2]),
                 "r"(v.words[3])
                 : "memory");
  } else if constexpr (Bytes == 8) {
    asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(v.words[0]), "r"(v.words[1]) : "memory");
  } else {
    asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(to), "r"(v.words[0]) : "memory");
  }
#endif
}

}  // namespace diecast
