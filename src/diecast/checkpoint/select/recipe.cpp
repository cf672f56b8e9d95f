// By the names of MLPs and experts; see recipe.h.
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/fused_experts.h>
#include <diecast/checkpoint/select/keep_list.h>
#include <diecast/checkpoint/select/recipe.h>

namespace diecast {

bool in_recipe(std::string_view name, WeightRecipe recipe) {
  switch (recipe) {
    case WeightRecipe::all:
      return true;
    case WeightRecipe::experts:
      return !expert_bank(name).empty() || !fused_bank(name).empty();
    case WeightRecipe::mlp:
      return mlp_part(name);
    case WeightRecipe::mlp_o:
      return mlp_part(name) || output_projection(name);
  }
  return false;
}

}  // namespace diecast
