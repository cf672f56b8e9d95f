// Recipes: what the environment says, what each role takes, and the line that tells it.
#include <diecast/ops/nvfp4/recipe.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace diecast {
namespace {

constexpr const char* kVariable = "DIECAST_NVFP4_ROW_SCALED_ACTIVATION";

class RecipeTest : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv(kVariable); }
  void TearDown() override { unsetenv(kVariable); }
};

TEST_F(RecipeTest, TheEnvironmentScalesRowsOfActivations) {
  EXPECT_EQ(Recipe::from_environment().value().text(),
            "recipe: activation te linear; weight te linear; gradient te linear");
  for (const char* off : {"0", ""}) {
    setenv(kVariable, off, 1);
    EXPECT_FALSE(Recipe::from_environment().value().activation.type.row_scaled);
  }
  setenv(kVariable, "1", 1);
  EXPECT_EQ(Recipe::from_environment().value().text(),
            "recipe: activation te linear row_scaled; weight te linear; gradient te linear");
  setenv(kVariable, "yes", 1);
  EXPECT_EQ(Recipe::from_environment().error().message(),
            "diecast: invalid_argument: DIECAST_NVFP4_ROW_SCALED_ACTIVATION is \"yes\"\n"
            "  fix: set DIECAST_NVFP4_ROW_SCALED_ACTIVATION to 0 or 1, or leave it out");
}

TEST_F(RecipeTest, EveryRoleHasItsOwn) {
  Recipe recipe;
  recipe.weight = {{.layout = ScaleLayout::s128x4, .e4m3_bound = 256}, FourOverSix::mae};
  recipe.gradient.type.profile = Profile::te_fast;
  EXPECT_EQ(recipe.text(),
            "recipe: activation te linear; weight te s128x4 four_over_six=mae bound=256; gradient "
            "te_fast linear");
  QuantizedTensor out;
  QuantizeNvfp4Options options;
  recipe.apply(TensorRole::weight, out, options).value();
  EXPECT_EQ(out.type.layout, ScaleLayout::s128x4);
  EXPECT_EQ(out.type.e4m3_bound, 256);
  EXPECT_EQ(options.four_over_six, FourOverSix::mae);
  recipe.apply(TensorRole::gradient, out, options).value();
  EXPECT_EQ(out.type.profile, Profile::te_fast);
  EXPECT_EQ(out.type.e4m3_bound, 448);
  EXPECT_EQ(options.four_over_six, FourOverSix::off);
}

TEST_F(RecipeTest, RowScalesOfAWeightOrAGradientAreAnError) {
  Recipe recipe;
  recipe.weight.type.row_scaled = true;
  EXPECT_EQ(recipe.check().error().message(),
            "diecast: not_supported: recipe: row_scaled = true for a weight: a matrix product "
            "corrects the rows of its activations alone\n"
            "  fix: row_scaled = false for the weight");
  recipe = {};
  recipe.gradient.type.row_scaled = true;
  EXPECT_EQ(recipe.check().error().code, ErrorCode::not_supported);
  recipe = {};
  recipe.activation.type.row_scaled = true;
  QuantizedTensor out;
  QuantizeNvfp4Options options;
  recipe.apply(TensorRole::activation, out, options).value();
  EXPECT_TRUE(out.type.row_scaled);
  EXPECT_EQ(recipe.apply(TensorRole::gradient, out, options).error().code,
            ErrorCode::not_supported);
}

TEST_F(RecipeTest, WhatAProfileHasNotIsAnError) {
  Recipe recipe;
  recipe.activation = {{.profile = Profile::torchao}, FourOverSix::mse};
  EXPECT_EQ(
      recipe.check().error().message(),
      "diecast: not_supported: recipe: four over six for the activation under profile torchao\n"
      "  fix: profile te has it");
  for (int i = 0; i <= static_cast<int>(Profile::flashinfer_dsl_fast); ++i) {
    const auto profile = static_cast<Profile>(i);
    const bool dsl = word(profile).find("_dsl_") != std::string_view::npos;
    recipe.activation = {{.profile = profile, .row_scaled = true}};
    EXPECT_EQ(recipe.check().ok(), !dsl) << word(profile);
  }
  EXPECT_EQ(
      recipe.check().error().message(),
      "diecast: not_supported: recipe: row_scaled = true for the activation under profile "
      "flashinfer_dsl_fast\n"
      "  fix: row_scaled = false, or another profile: FlashInfer's CUDA ones have a scale a row");
  recipe = {};
  recipe.weight.type.e4m3_bound = 256;
  EXPECT_EQ(recipe.check().error().code, ErrorCode::not_supported);
  recipe.weight.type.e4m3_bound = 300;
  EXPECT_EQ(recipe.check().error().code, ErrorCode::value_not_allowed);
  recipe.weight = {{.profile = Profile::modelopt, .e4m3_bound = 256}};
  EXPECT_TRUE(recipe.check());
}

}  // namespace
}  // namespace diecast
