// A recipe: how the tensors of a training or inference step become NVFP4, by the role they play in
// a matrix product. Rows may have scales of their own where the tensor is an activation; weights
// and gradients have one global scale.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/quantize_nvfp4.h>
#include <diecast/ops/quantized_tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace diecast {

enum class TensorRole : std::uint8_t { activation, weight, gradient };
std::string_view role_name(TensorRole role);

struct RoleRecipe {
  bool row_scaled = false;  // activations alone
  FourOverSix four_over_six = FourOverSix::off;
  int e4m3_bound = 448;
  Profile profile = Profile::te;
  ScaleLayout layout = ScaleLayout::linear;
};

struct Recipe {
  RoleRecipe activation, weight, gradient;

  // Plain recipes, with rows of activations scaled apart where the environment variable
  // DIECAST_NVFP4_ROW_SCALED_ACTIVATION is 1 (0, empty or absent: not). Errors: invalid_argument
  // (another value).
  static Result<Recipe> from_environment();

  const RoleRecipe& of(TensorRole role) const;
  // Errors: not_supported (row scales for a weight or a gradient; row scales, four over six or a
  // bound that the profile has not), value_not_allowed (e4m3_bound).
  Result<void> check() const;
  // Makes `out` (its shape, block rows and sides are the caller's) and the options what the role's
  // recipe says. Errors: those of check(); not_supported (an `out` that is row-scaled already, of a
  // weight or a gradient).
  Result<void> apply(TensorRole role, QuantizedTensor& out, QuantizeNvfp4Options& options) const;
  // One line: "recipe: activation te linear row_scaled; weight te s128x4 four_over_six=mae
  // bound=256; gradient te linear".
  std::string text() const;
};

}  // namespace diecast
