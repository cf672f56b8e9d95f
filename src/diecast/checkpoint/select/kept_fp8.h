// FP8 weights that stay as they are beside those that are quantized, in the forms that ModelOpt's
// MIXED_PRECISION has words for.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/select/language_model.h>

#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// Whether engines build a weight as the config says: in the language model's layers, and not what
// some of them read as floating-point numbers (keep_list.h).
bool may_stay_fp8(const LanguageModel& model, std::string_view weight);

// The form of an FP8 weight. Errors: not_supported (one that no engine's config can say: other
// blocks than 128x128, or rows that these do not divide; a scale a row of an expert; one scale for
// a matrix without a static one of its inputs; MXFP8).
Result<Fp8Form> kept_fp8_form(const CheckpointHeader& header, const TensorInfo& weight,
                              const ScaledSource& source);

// Its tensors X.weight F8_E4M3 [N, K] and
//   tensor  X.weight_scale F32 [], X.input_scale F32 []
//   rows    X.weight_scale F32 [N]
//   blocks  X.weight_scale F32 [N/128, 1, K/128, 1]; of an expert weight_scale_inv [N/128, K/128]
// with the blocks at an end counted as whole ones.
std::vector<TensorInfo> kept_fp8_outputs(const std::string& weight,
                                         const std::vector<std::uint64_t>& shape, Fp8Form form);

// Whether FP8 may stay beside what is written. Errors: not_supported.
Result<void> check_keep_fp8(const QuantizeOptions& options, const StoredForm& form);

// "7 FP8 weights stay: vLLM 0.32 reads them beside NVFP4"; empty where none does.
std::string note_of_kept_fp8(const Plan& plan);

}  // namespace diecast
