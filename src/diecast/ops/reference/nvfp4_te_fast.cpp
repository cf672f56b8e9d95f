// Profile `te_fast` in IEEE single precision: the byte of `te`, a factor that is rounded to bf16,
// and products to which +0 is added, so that none is -0.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>

#include <cmath>

namespace diecast::reference {

Block te_fast_block(const Sixteen& x, float block_amax, float encode_scale) {
  const float largest_bf16 = decode_bf16(0x7F7F);
  Block out;
  out.scale = te_block_scale(block_amax, encode_scale);
  const float quotient = encode_scale / decode_e4m3(out.scale);  // infinite for byte 0
  const float factor = decode_bf16(encode_bf16(std::fmin(quotient, largest_bf16)));
  for (std::size_t i = 0; i < 16; ++i) {
    const float product = x[i] * factor;
    out.scaled[i] = product == 0.0f ? 0.0f : product;
    out.codes[i] = encode_e2m1(out.scaled[i]);
  }
  return out;
}

}  // namespace diecast::reference
