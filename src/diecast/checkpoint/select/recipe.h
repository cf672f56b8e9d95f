// Which of the language model's weights a recipe quantizes.
#pragma once

#include <diecast/checkpoint/plan.h>

#include <string_view>

namespace diecast {

bool in_recipe(std::string_view name, WeightRecipe recipe);

}  // namespace diecast
