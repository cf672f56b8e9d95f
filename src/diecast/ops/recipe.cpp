// Recipes by role; see recipe.h.
#include <diecast/base/text.h>
#include <diecast/ops/recipe.h>

#include <vector>

namespace diecast {
namespace {

constexpr const char* kRowScaledVariable = "DIECAST_NVFP4_ROW_SCALED_ACTIVATION";
constexpr TensorRole kRoles[] = {TensorRole::activation, TensorRole::weight, TensorRole::gradient};

Error row_scaled_role(TensorRole role) {
  return {ErrorCode::not_supported,
          cat("recipe: row_scaled = true for a ", role_name(role),
              ": a matrix product corrects the rows of its activations alone"),
          cat("row_scaled = false for the ", role_name(role))};
}

Result<void> check_role(TensorRole role, const RoleRecipe& recipe) {
  if (recipe.row_scaled && role != TensorRole::activation) return row_scaled_role(role);
  if (recipe.row_scaled && recipe.profile >= Profile::flashinfer_dsl_exact) {
    return Error{
        ErrorCode::not_supported,
        cat("recipe: row_scaled = true for the ", role_name(role), " under profile ",
            profile_name(recipe.profile)),
        "row_scaled = false, or another profile: FlashInfer's CUDA ones have a scale a row"};
  }
  if (recipe.four_over_six != FourOverSix::off && recipe.profile != Profile::te) {
    return Error{ErrorCode::not_supported,
                 cat("recipe: four over six for the ", role_name(role), " under profile ",
                     profile_name(recipe.profile)),
                 "profile te has it"};
  }
  QuantizedTensor probe;  // whose checks know bounds
  probe.shape = Shape{1, 16};
  probe.e4m3_bound = recipe.e4m3_bound;
  probe.profile = recipe.profile;
  DIECAST_CHECK(probe.rowwise_sizes());
  const bool has_bound =
      recipe.four_over_six != FourOverSix::off || recipe.profile == Profile::modelopt;
  if (recipe.e4m3_bound == 448 || has_bound) return {};
  return Error{ErrorCode::not_supported,
               cat("recipe: e4m3_bound = 256 for a ", role_name(role), " without four over six"),
               "e4m3_bound = 448, or four over six, or profile modelopt"};
}

std::string role_text(TensorRole role, const RoleRecipe& recipe) {
  const bool adaptive = recipe.four_over_six != FourOverSix::off;
  return cat(role_name(role), " ", profile_name(recipe.profile), " ", layout_name(recipe.layout),
             recipe.row_scaled ? " row_scaled" : "",
             adaptive ? cat(" four_over_six=", four_over_six_name(recipe.four_over_six)) : "",
             recipe.e4m3_bound == 448 ? "" : cat(" bound=", recipe.e4m3_bound));
}

}  // namespace

std::string_view role_name(TensorRole role) {
  constexpr std::string_view names[] = {"activation", "weight", "gradient"};
  return name_of(role, names);
}

Result<Recipe> Recipe::from_environment() {
  Recipe recipe;
  const std::string value = environment_variable(kRowScaledVariable);
  if (value != "" && value != "0" && value != "1") {
    return Error{ErrorCode::invalid_argument, cat(kRowScaledVariable, " is ", quote(value, 40)),
                 cat("set ", kRowScaledVariable, " to 0 or 1, or leave it out")};
  }
  recipe.activation.row_scaled = value == "1";
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
  if (out.row_scaled && role != TensorRole::activation) return row_scaled_role(role);
  const RoleRecipe& recipe = of(role);
  out.format = Format::nvfp4;
  out.row_scaled = recipe.row_scaled;
  out.profile = recipe.profile;
  out.layout = recipe.layout;
  out.e4m3_bound = recipe.e4m3_bound;
  options.four_over_six = recipe.four_over_six;
  return {};
}

std::string Recipe::text() const {
  std::vector<std::string> roles;
  for (const TensorRole role : kRoles) roles.push_back(role_text(role, of(role)));
  return cat("recipe: ", join(roles, "; "));
}

}  // namespace diecast
