// Sixteen neighbouring elements of a row, as the 4-bit formats quantize them:
//   load_block16(x), load_block16_elements(x, count)   from memory
//   amax_of(block)                  the largest |element|, NaN ignored, at least +0
//   amax_of_vector<IN>(vector)      the same of 16 bytes of elements
//   codes_of(block, half, factor)   E2M1 codes of eight elements times factor
#pragma once

#include <diecast/device/block16_cuda.h>
#include <diecast/device/block16_data.h>
#include <diecast/device/block16_host.h>

namespace diecast {

template <class IN>
DIECAST_DEVICE f32 amax_of(const Block16<IN>& block) {
  return amax_of_words<IN, Block16<IN>::kWords>(block.words);
}

template <class IN>
DIECAST_DEVICE f32 amax_of_vector(const Vector<16>& vector) {
  return amax_of_words<IN, 4>(vector.words);
}

}  // namespace diecast
