// The options that kernels which quantize to NVFP4 under given global scales share.
/* diecast
use <diecast/device/blocks/profiles.h>
option enum GLOBAL {amax, encode, decode, none} = amax  // what amax holds: an amax, S, 1 / S; none: no global scale
option bool ROW_SCALE = false                           // amax has one entry a row, amax_t one a column
use <diecast/device/scales/scale_layout.h>
use <diecast/device/nvfp4/four_over_six_options.h>
option bool BLOCK_AMAX = false                          // block_amax and block_amax_t have each block's amax
require GLOBAL == amax || FOUR_OVER_SIX == off          // the error of four over six is made with the amax itself: GLOBAL=amax
require (GLOBAL != encode ||                            // an encode scale is part of profiles te, pr546 and te_ref;
         !PROFILE in {modelopt, torchao})               // modelopt and torchao take decode
require GLOBAL != none || PROFILE in {te, torchao}      // block scales alone are defined by profiles te and torchao
require GLOBAL != none || !ROW_SCALE                    // without global scales there is none a row
require !BLOCK_AMAX || PROFILE == modelopt              // given block amaxes are defined by profile modelopt
require !BLOCK_AMAX || GLOBAL == amax                   // given block amaxes are scaled by the amax itself: GLOBAL=amax
*/
#pragma once

#include <diecast/device/blocks/profiles.h>
#include <diecast/device/nvfp4/four_over_six_options.h>
