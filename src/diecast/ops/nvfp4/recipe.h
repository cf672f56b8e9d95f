// A recipe: how the tensors of a training or inference step become NVFP4, by the role they play in
// a matrix product. Rows may have scales of their own where the tensor is an activation; weights
// and gradients have one global scale.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_request.h>
#include <diecast/ops/quantized_tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace diecast {

enum class TensorRole : std::uint8_t { activation, weight, gradient };
constexpr auto words_of(TensorRole) {
  return std::to_array<std::string_view>({"activation", "weight", "gradient"});
}

struct RoleRecipe {
  QuantizedType type{};  // NVFP4; row-scaled: activations alone
  FourOverSix four_over_six = FourOverSix::off;
};

struct Recipe {
  RoleRecipe activation, weight, gradient;

  // Plain recipes, with rows of activations scaled apart where the environment variable
  // DIECAST_NVFP4_ROW_SCALED_ACTIVATION is 1 (0, empty or absent: not). Errors: invalid_argument
  // (another value).
  static Result<Recipe> from_environment();

  const RoleRecipe& of(TensorRole role) const;
  // Errors: not_supported (a format other than NVFP4; row scales for a weight or a gradient, or of
  // square blocks; row scales, four over six or a bound that the profile has not),
  // value_not_allowed (a type's field that is no value of its enumeration, e4m3_bound).
  Result<void> check() const;
  // Makes the type of `out` (its shape and sides are the caller's) and the options what the role's
  // recipe says. Blocks are square where the recipe or `out` has them so. Errors: those of check();
  // not_supported (an `out` that is row-scaled already, of a weight or a gradient).
  Result<void> apply(TensorRole role, QuantizedTensor& out, QuantizeNvfp4Options& options) const;
  // One line: "recipe: activation te linear row_scaled; weight te s128x4 four_over_six=mae
  // bound=256; gradient te linear".
  std::string text() const;
};

}  // namespace diecast
