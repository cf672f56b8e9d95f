// Places in a thread block's shared memory as its own instructions take them, in 32 bits: kept in a register, and not
// made anew from what the compiler knows of them.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/vector.h>

namespace diecast {

// shared_place(): where a pointer into shared memory points to. held(): the same place, or one in memory, in a register from here on.
// turned(): the place whose address has these bits the other way.
#if DIECAST_HOST
using SharedPlace = u8*;
DIECAST_DEVICE SharedPlace shared_place(void* pointer) { return static_cast<u8*>(pointer); }
DIECAST_DEVICE SharedPlace held(SharedPlace place) { return place; }
DIECAST_DEVICE SharedPlace turned(SharedPlace place, u32 bits) {
  return reinterpret_cast<u8*>(reinterpret_cast<u64>(place) ^ bits);
}
#else
using SharedPlace = u32;
DIECAST_DEVICE SharedPlace shared_place(void* pointer) { return shared_address(pointer); }
DIECAST_DEVICE SharedPlace held(SharedPlace place) {
  asm volatile("" : "+r"(place));
  return place;
}
DIECAST_DEVICE SharedPlace turned(SharedPlace place, u32 bits) { return place ^ bits; }
DIECAST_DEVICE u8* held(u8* place) {
  asm volatile("" : "+l"(place));
  return place;
}
#endif

// The thread's index: what is made of it is made here, and held in no register before.
DIECAST_DEVICE u32 held_thread() {
  u32 thread = threadIdx.x;
#if !DIECAST_HOST
  asm volatile("" : "+r"(thread));
#endif
  return thread;
}

// 4, 8 or 16 bytes at a multiple of them.
template <int Bytes>
DIECAST_DEVICE Vector<Bytes> load_shared(SharedPlace from) {
  Vector<Bytes> v;
#if DIECAST_HOST
  __builtin_memcpy(&v, from, Bytes);
#else
  if constexpr (Bytes == 16) {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.words[0]), "=r"(v.words[1]), "=r"(v.words[2]), "=r"(v.words[3])
                 : "r"(from)
                 : "memory");
  } else if constexpr (Bytes == 8) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.words[0]), "=r"(v.words[1]) : "r"(from) : "memory");
  } else {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v.words[0]) : "r"(from) : "memory");
  }
#endif
  return v;
}

#if DIECAST_CC >= 90
// 16 bytes of the shared memory of thread block `rank` of the cluster, at this place in it.
DIECAST_DEVICE Vector<16> load_shared_of(u32 rank, SharedPlace from) {
  Vector<16> v;
  asm volatile("{\n .reg .b32 at;\n mapa.shared::cluster.u32 at, %4, %5;\n ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [at];\n}"
               : "=r"(v.words[0]), "=r"(v.words[1]), "=r"(v.words[2]), "=r"(v.words[3])
               : "r"(from), "r"(rank)
               : "memory");
  return v;
}
#endif

DIECAST_DEVICE void store_shared(SharedPlace to, const Vector<16>& v) {
#if DIECAST_HOST
  __builtin_memcpy(to, &v, 16);
#else
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.words[0]), "r"(v.words[1]), "r"(v.words[2]),
               "r"(v.words[3])
               : "memory");
#endif
}

}  // namespace diecast
