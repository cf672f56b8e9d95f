// The options that kernels which quantize to MX formats share.
/* diecast
use <diecast/device/mx/mx.h>
option enum MODE {rceil, floor, ceil, even} = rceil  // how the scale is rounded to a power of two
require PROFILE in {te, torchao, modelopt}           // the MX formats are defined by profiles te, torchao and modelopt
require IN != e4m3  // the MX formats are made of bf16, f16 and f32; e4m3 becomes NVFP4: quantize_nvfp4
require PROFILE == torchao || MODE == rceil          // other modes than rceil are defined by PROFILE=torchao
*/
#pragma once
