// Quantizing to NVFP4 under any profile and option, one element after another: the truth the
// kernels are tested against to the bit. One .cpp a profile; the formula cards are
// templates/PROFILES.md. All memory here is host memory.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/ops/reference/nvfp4_te.h>
#include <diecast/ops/reference/stochastic.h>
#include <diecast/ops/tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace diecast::reference {

using Sixteen = std::array<float, 16>;

struct Block {
  std::uint8_t scale = 0;                // an E4M3 byte
  std::array<std::uint8_t, 16> codes{};  // E2M1
  Sixteen scaled{};                      // what was rounded to the codes
  bool operator==(const Block& other) const { return scale == other.scale && codes == other.codes; }
};

// A block of each profile under its tensor's numbers. block_amax is the block's own, or that of a
// larger tile.
Block te_block(const Sixteen& x, float block_amax, float encode_scale, float decode_scale);
Block pr546_block(const Sixteen& x, float block_amax, float encode_scale, float decode_scale);
Block modelopt_block(const Sixteen& x, float block_amax, float scale_2);
Block modelopt_static_block(const Sixteen& x, float block_amax, float amax, int bound);
Block torchao_block(const Sixteen& x, float block_amax, float per_tensor_scale);
Block te_ref_block(const Sixteen& x, float block_amax, float encode_scale, float decode_scale);
Block te_fast_block(const Sixteen& x, float block_amax, float encode_scale);
// `near`: the processor's approximate reciprocal, for the fast mode; empty: the exact one. Under a
// scale G (`global`) in the CUDA back end, under a row's amax there, under G in CuTe-DSL.
using Reciprocal = std::function<float(float)>;
Block flashinfer_block(const Sixteen& x, float block_amax, float global, const Reciprocal& near);
Block flashinfer_token_block(const Sixteen& x, float block_amax, float row_amax,
                             const Reciprocal& near);
Block flashinfer_dsl_block(const Sixteen& x, float block_amax, float global,
                           const Reciprocal& near);

// The numbers themselves, from an amax.
float four_over_six_encode_scale(float amax, int bound);
float pr546_encode_scale(float amax);   // 0 stands for an amax of 0: all bytes and codes are 0
float te_ref_encode_scale(float amax);  // the largest float for an amax of 0
float modelopt_scale_2(float amax, int bound);
float torchao_per_tensor_scale(float amax);

// Four over six: both candidates, and what each loses. The choice is four if its error is less.
struct Candidates {
  Block four, six;
  float error_four = 0.0f, error_six = 0.0f;
  const Block& chosen() const { return error_four < error_six ? four : six; }
};
Candidates four_over_six(const Sixteen& x, float block_amax, float amax, int bound, bool squares);

// The transform along sixteen neighbours, not yet rounded to the element type. Bit i of sign_mask
// flips the sign of element i.
Sixteen hadamard(const Sixteen& x, unsigned sign_mask);

struct Nvfp4Options {
  Profile profile = Profile::te;
  GlobalScale global = GlobalScale::amax;  // what is given
  bool row_scaled = false;
  FourOverSix four_over_six = FourOverSix::off;
  int bound = 448;
  bool rht = false;
  unsigned sign_mask = 0;
  std::vector<float> block_amax;      // of every block, or empty: each block's own
  Reciprocal near;                    // FlashInfer's fast profiles: as above
  std::optional<RandomState> random;  // codes are rounded stochastically
};

// A block of sixteen values under the amax of its block, or of a larger tile, and what
// options.global says.
Block quantize_block(const Sixteen& x, float block_amax, float given, const Nvfp4Options& options);

// Its codes anew by the random numbers of the output's block `index`, where options.random is set.
void round_stochastically(Block& block, const Nvfp4Options& options, std::int64_t index,
                          bool of_columns);

// Largest magnitudes under the profile's rule for NaN (ignores_nan(); with the others NaN, as
// 0x7FFFFFFF, is the result), of the transformed x where rht is set: [1], or [rows] when
// row-scaled. Errors: as amax().
Result<std::vector<float>> amax(const Tensor& x, const Nvfp4Options& options);

// Quantizes x under `given`: what options.global says, 1 entry, or x.rows() entries when
// row-scaled. Options must be a combination that the template takes. Errors: as
// te_quantize_nvfp4().
Result<Nvfp4> quantize_nvfp4(const Tensor& x, const Nvfp4Options& options,
                             std::vector<float> given);

}  // namespace diecast::reference
