// What a kernel says to the launch behind it, and where it waits for the one before.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

// Lets the next launch begin, if it is a dependent one, which waits for the end of this one whatever happens: once
// `found`, a number, is there, so that its threads are not in the way of what this one does before. Each thread block
// says so by itself, and the GPU hears one in 1.3 ns (an H200, NOTES.md): many small ones had better only end.
DIECAST_DEVICE void next_may_begin(f32& found) {
#if DIECAST_CC >= 90
  asm volatile("griddepcontrol.launch_dependents;" : "+f"(found));
#endif
}
DIECAST_DEVICE void next_may_begin(u32& found) {
#if DIECAST_CC >= 90
  asm volatile("griddepcontrol.launch_dependents;" : "+r"(found));
#endif
}
DIECAST_DEVICE void next_may_begin(u64& found) {
#if DIECAST_CC >= 90
  asm volatile("griddepcontrol.launch_dependents;" : "+l"(found));
#endif
}

// Here the body of a `launch dependent(late)` waits for the launch before it: all its threads, before any access to global
// memory, and with each pointer that they read through if loads through it might be moved before. `first` has been
// computed by then, since a condition, which always holds, asks for it: the assembler does not know how long a wait is, and
// would compute places after.
template <class Pointer>  // `T*` or an argument's `T* __restrict__`
DIECAST_DEVICE void launch_before_ended(Pointer& first) {
#if DIECAST_CC >= 90
  asm volatile(
      "{\n .reg .pred p;\n .reg .b32 low, high;\n mov.b64 {low, high}, %0;\n"
      " setp.ne.u32 p, high, 0xFFFFFFFF;\n @p griddepcontrol.wait;\n}"
      : "+l"(first)::"memory");
#endif
}

// The same where it has nothing to compute before.
DIECAST_DEVICE void launch_before_ended() {
#if DIECAST_CC >= 90
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace diecast
