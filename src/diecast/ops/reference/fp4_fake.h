// ModelOpt's FP4 block scales and fake quantization, one number after another, with IEEE division:
// the truth compute_fp4_scales, static_blockwise_fp4_fake_quant and fp4_fake_quant_block are tested
// against to the bit. The formula card is templates/PROFILES.md.
#pragma once

namespace diecast::reference {

// The two ways upstream divides 448 by the tensor's scale before it rounds a block's to E4M3.
enum class Fp8Conversion { eager, extension };

// The scale of a block from its amax: unquantized, or rounded to E4M3 under the tensor's amax.
float fp4_scale(float amax);
float fp4_scale(float amax, float global_amax, Fp8Conversion conversion);
// The scale of dynamic fake quantization.
float fp4_dynamic_scale(float block_amax, float global_amax);

// x to the nearest E2M1 multiple of p, before it is rounded to its type.
float fp4_fake(float x, float p);
// The same for any p: 0 gives +0, and 1 takes the place of what is not finite.
float fp4_fake_static(float x, float p);

}  // namespace diecast::reference
