// The sign of an f32, put on another.
#pragma once

#include <diecast/device/numbers/convert.h>

namespace diecast::math {

// The magnitude is +0 or above.
DIECAST_DEVICE f32 with_sign_of(f32 magnitude, f32 x) {
  return __uint_as_float(__float_as_uint(magnitude) | (__float_as_uint(x) & 0x80000000u));
}

}  // namespace diecast::math
