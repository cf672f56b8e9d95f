// sqrt and rsqrt; see math.h. Errors at most: sqrt 0.5 ulp, rsqrt 1.5.
#pragma once

#include <diecast/device/numbers/convert.h>

namespace diecast::math {

DIECAST_DEVICE f32 sqrt(f32 x) { return __fsqrt_rn(x); }

DIECAST_DEVICE f32 rsqrt(f32 x) { return __fdiv_rn(1.0f, sqrt(x)); }

}  // namespace diecast::math
