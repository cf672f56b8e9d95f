// Recipes by role; see recipe.h.
#include <diecast/base/text.h>
#include <diecast/ops/nvfp4/recipe.h>

#include <vector>

namespace diecast {
namespace {

constexpr const char* kRowScaledVariable = "DIECAST_NVFP4_ROW_SCALED_ACTIVATION";
constexpr TensorRole kRoles[] = {TensorRole::activation, TensorRole::weight, TensorRole::gradient};

Error row_scaled_role(TensorRole role) {
  return {ErrorCode::not_supported,
          cat("recipe: row_scaled = true for a ", word(role),
              ": a matrix product corrects the rows of its activations alone"),
          cat("row_scaled = false for the ", word(role))};
}

Result<void> check_role(TensorRole role, const RoleRecipe& recipe) {
  const auto& [type, four_over_six] = recipe;
  if (type.row_scaled && role != TensorRole::activation) return row_scaled_role(role);
  if (type.format != Format::nvfp4) {
    return Error{ErrorCode::not_supported,
                 cat("recipe: the ", word(role), " is ", word(type.format)),
                 "format = Format::nvfp4"};
  }
  if (type.row_scaled && type.profile >= Profile::flashinfer_dsl_exact) {
    return Error{
        ErrorCode::not_supported,
        cat("recipe: row_scaled = true for the ", word(role), " under profile ",
            word(type.profile)),
        "row_scaled = false, or another profile: FlashInfer's CUDA ones have a scale a row"};
  }
  if (four_over_six != FourOverSix::off && type.profile != Profile::te) {
    return Error{
        ErrorCode::not_supported,
        cat("recipe: four over six for the ", word(role), " under profile ", word(type.profile)),
        "profile te has it"};
  }
  DIECAST_CHECK(type.check());
  const bool has_bound = four_over_six != FourOverSix::off || type.profile == Profile::modelopt;
  if (type.e4m3_bound == 448 || has_bound) return {};
  return Error{ErrorCode::not_supported,
               cat("recipe: e4m3_bound = 256 for a ", word(role), " without four over six"),
               "e4m3_bound = 448, or four over six, or profile modelopt"};
}

std::string role_text(TensorRole role, const RoleRecipe& recipe) {
  const auto& [type, four_over_six] = recipe;
  const bool adaptive = four_over_six != FourOverSix::off;
  return cat(word(role), " ", word(type.profile), " ", word(type.layout),
             type.square ? " square" : "", type.row_scaled ? " row_scaled" : "",
             adaptive ? cat(" four_over_six=", word(four_over_six)) : "",
             type.e4m3_bound == 448 ? "" : cat(" bound=", int{type.e4m3_bound}));
}

}  // namespace

Result<Recipe> Recipe::from_environment() {
  Recipe recipe;
  const std::string value = environment_variable(kRowScaledVariable);
  if (value != "" && value != "0" && value != "1") {
    return Error{ErrorCode::invalid_argument, cat(kRowScaledVariable, " is ", quote(value, 40)),
                 cat("set ", kRowScaledVariable, " to 0 or 1, or leave it out")};
  }
  recipe.activation.type.row_scaled = value == "1";
  return recipe;
}

const RoleRecipe& Recipe::of(TensorRole role) const {
  if (role == TensorRole::activation) return activation;
  return role == TensorRole::weight ? weight : gradient;
}

Result<void> Recipe::check() const {
  for (const TensorRole role : kRoles) DIECAST_CHECK(check_role(role, of(role)));
  return {};
}

Result<void> Recipe::apply(TensorRole role, QuantizedTensor& out,
                           QuantizeNvfp4Options& options) const {
  DIECAST_CHECK(check());
  if (out.type.row_scaled && role != TensorRole::activation) return row_scaled_role(role);
  const RoleRecipe& recipe = of(role);
  const bool square = recipe.type.square || out.type.square;
  out.type = recipe.type;
  out.type.square = square;
  options.four_over_six = recipe.four_over_six;
  return {};
}

std::string Recipe::text() const {
  std::vector<std::string> roles;
  for (const TensorRole role : kRoles) roles.push_back(role_text(role, of(role)));
  return cat("recipe: ", join(roles, "; "));
}

}  // namespace diecast
