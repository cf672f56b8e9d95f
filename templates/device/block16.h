// Sixteen neighbouring elements of a row, as the 4-bit formats quantize them:
//   load_block16(x), load_block16_elements(x, count)   from memory
//   amax_of(block)                  the largest |element|, NaN ignored
//   codes_of(block, half, factor)   E2M1 codes of eight elements times factor
#pragma once

#include <diecast/device/block16_cuda.h>
#include <diecast/device/block16_data.h>
#include <diecast/device/block16_host.h>
