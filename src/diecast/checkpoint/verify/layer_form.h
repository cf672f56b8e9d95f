// What a module's weight is where a config says several formats.
#pragma once

#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/stored_form.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace diecast {

// Whose names and shapes the scales of FP8 weights have; fp8: DeepSeek's, of quant_method "fp8".
enum class Fp8Names : std::uint8_t { modelopt, compressed_tensors, fp8 };

struct Fp8Layout {
  Fp8Form form = Fp8Form::tensor;
  Fp8Names names = Fp8Names::modelopt;
  bool static_inputs = false;  // an input_scale stands beside it (ModelOpt's form says it itself)
  std::uint64_t block_rows = 128, block_cols = 128;  // other sizes in DeepSeek's alone
  auto operator<=>(const Fp8Layout&) const = default;
};

struct LayerForm {
  WeightFormat format = WeightFormat::nvfp4;
  std::optional<Fp8Layout> fp8;  // it is FP8 instead
  auto operator<=>(const LayerForm&) const = default;
};

// The tensors of X.weight F8_E4M3 [N, K]: itself, and its scales. ModelOpt's are in kept_fp8.h;
// compressed-tensors' are
//   tensor  X.weight_scale []
//   rows    X.weight_scale [N, 1]
//   blocks  X.weight_scale [N/128, K/128], where blocks at an end count as whole ones
// DeepSeek's are
//   tensor  X.weight_scale []
//   blocks  X.weight_scale_inv, as those of compressed-tensors
// Both have X.input_scale [] where inputs are scaled by it. Scales are F32; other floating-point
// types will do but for ModelOpt's.
std::vector<TensorInfo> fp8_tensors(const std::string& weight,
                                    const std::vector<std::uint64_t>& shape,
                                    const Fp8Layout& layout);

// "FP8 in blocks of 128x128", as faults call it.
std::string fp8_title(const Fp8Layout& layout);

}  // namespace diecast
