// What a kernel says to the launch behind it.
#pragma once

#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// Lets the next launch begin, if it is a dependent one, which waits for the end of this one whatever happens: once
// `found`, a number of 32 bits, is there, so that its threads are not in the way of what this one loads.
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

}  // namespace diecast
