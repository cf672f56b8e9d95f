// What gemm_nvfp4 refuses, each with its reason, before anything is prepared; and what a product
// launches. On a fake GPU.
#include "ops/gemm_refusals.h"

namespace diecast {
namespace {

TEST_F(GemmRefusals, WrongLayoutLetters) {
  for (const std::string_view letters : {"TT", "tn", "T", ""}) {
    options_.layout = letters;
    expect("value_not_allowed", std::string("layout = ").append(letters),
           "layout = TN (both rowwise), NN (b columnwise) or NT (both columnwise)");
  }
}

TEST_F(GemmRefusals, ASideThatIsNotThere) {
  options_.layout = "NN";
  b_ = operand(64, 24);
  expect("missing_buffer", "b has no columnwise buffers",
         "quantize b columnwise too, or choose a layout that reads its other side");
}

TEST_F(GemmRefusals, AnotherFormat) {
  a_.type.format = Format::mxfp4;
  expect("not_supported", "a is mxfp4", "both operands are nvfp4: quantize_nvfp4 makes one");
}

TEST_F(GemmRefusals, AMissingAmax) {
  b_.rowwise.amax = nullptr;
  expect("missing_buffer", "b has no rowwise amax, which the product needs",
         "set b.rowwise.amax to f32 [1] in device memory");
  b_ = operand(24, 64);
  a_ = operand(8, 64, true);
  a_.rowwise.amax = nullptr;
  expect("missing_buffer", "a has no rowwise amax, which the product needs",
         "set a.rowwise.amax to f32 [8] in device memory");
}

TEST_F(GemmRefusals, AmaxesOfAnotherCount) {
  a_ = operand(8, 64, true);
  a_.rowwise.amax_count = 7;
  expect("shape_mismatch", "a: the rowwise amax has 7 entries where row_scaled = true needs 8",
         "amax_count = 8, or row_scaled = false");
  a_ = operand(8, 64);
  b_.rowwise.amax_count = 24;
  expect("shape_mismatch", "b: the rowwise amax has 24 entries where row_scaled = false needs 1",
         "amax_count = 1, or row_scaled = true");
}

TEST_F(GemmRefusals, ScalesOfTwoLayouts) {
  b_.type.layout = ScaleLayout::s128x4;
  expect("not_supported", "a has linear scales, b s128x4",
         "give both operands one layout: arrange_scales turns linear into tiles");
}

TEST_F(GemmRefusals, RowScalesOnASideThatCannotTakeThem) {
  options_.layout = "NT";
  a_ = operand(64, 8, true, true), b_ = operand(64, 24, false, true);
  expect("not_supported", "a is row-scaled, and layout NT reads its columns",
         "layout = TN or NN, or quantize a with one amax");
  options_.layout = "NN";
  a_ = operand(8, 64), b_ = operand(64, 24, true, true);
  expect("not_supported", "b is row-scaled, and its columns are read",
         "layout = TN, or quantize b with one amax");
}

TEST_F(GemmRefusals, RowScalesOrABiasWithAGradient) {
  options_.gradient = true;
  a_ = operand(8, 64, true);
  expect("not_supported", "a is row-scaled, and the product is a gradient",
         "quantize the operands of a gradient with one amax each");
  a_ = operand(8, 64);
  options_.bias = bias(24);
  expect("not_supported", "a bias, and the product is a gradient",
         "bias = {}: its gradient is a sum of its own, or gradient = false");
}

TEST_F(GemmRefusals, ABiasOfAnotherTypeOrLength) {
  options_.bias = bias(24, DType::e4m3);
  expect("dtype_mismatch", "bias is e4m3", "bias is bf16, f16 or f32");
  options_.bias = bias(23);
  expect("shape_mismatch", "bias is [23], not 1 dense rows of 24", "pass a bias of 24 numbers");
  options_.bias->data = nullptr;
  EXPECT_NE(outcome().find("missing_buffer: gemm_nvfp4: bias"), std::string::npos) << outcome();
}

TEST_F(GemmRefusals, AnOutputThatIsNoPlainMatrix) {
  out_.dtype = DType::e4m3;
  expect("dtype_mismatch", "out is e4m3", "out is bf16, f16 or f32; quantize it afterwards");
  out_.dtype = DType::f32;
  out_.row_stride = 32;
  expect("not_supported", "rows of out are 32 elements apart, not 24",
         "pass a dense out, row_stride = 0");
  out_.row_stride = 0;
  const std::int64_t rows = 8;
  out_.device_rows = &rows;
  expect("not_supported", "out has a row count in device memory",
         "leave out.device_rows null: every row of a is multiplied");
  out_.device_rows = nullptr;
  out_.shape = Shape{8, 23};
  expect("shape_mismatch", "out is [8, 23], the product [8, 24]", "pass out with 8 rows of 24");
}

TEST_F(GemmRefusals, DepthsThatDoNotMeet) {
  b_ = operand(24, 80);
  expect("shape_mismatch", "a has 64 products an element, b 80",
         "a is [M, K] and b [N, K] as the layout reads them, with one K");
  a_ = operand(8, 40), b_ = operand(24, 40);
  expect("shape_mismatch", "a is [8, 40], whose 40 products an element are no whole blocks of 16",
         "pad to 48");
  a_ = operand(8, 64);
  a_.rowwise.scale_stride = 1 << 25;
  expect("not_supported", "a has 64 products an element, its scales 33554432 bytes from row to row",
         "at most 16777216 of either: add parts with accumulate");
}

TEST_F(GemmRefusals, APreparedProductTakesWhatItWasPreparedFor) {
  const auto request =
      PreparedGemmNvfp4::Request::of(a_, b_, out_, options_, device_->properties());
  const auto op = PreparedGemmNvfp4::prepare(*runtime_, device_, request).value();
  op.run(a_, b_, out_, options_, {}).value();
  options_.accumulate = true;
  EXPECT_EQ(op.run(a_, b_, out_, options_, {}).error().message(),
            "diecast: not_supported: gemm_nvfp4: prepared for accumulate = false; the product has "
            "accumulate = true\n  fix: prepare another op for this input");
}

TEST_F(GemmRefusals, CodesThatAreNotWhereTheyWerePreparedToBe) {
  const auto request =
      PreparedGemmNvfp4::Request::of(a_, b_, out_, options_, device_->properties());
  EXPECT_TRUE(request.aligned);
  const auto op = PreparedGemmNvfp4::prepare(*runtime_, device_, request).value();
  a_ = operand(8, 80), b_ = operand(24, 80);
  EXPECT_FALSE(
      PreparedGemmNvfp4::Request::of(a_, b_, out_, options_, device_->properties()).aligned);
  EXPECT_EQ(op.run(a_, b_, out_, options_, {}).error().message(),
            "diecast: misaligned: gemm_nvfp4: prepared for codes from multiples of 16 bytes on and "
            "K of pairs of blocks, which these are not\n  fix: prepare with aligned = false");
}

// One launch, row scales, bias and accumulation in it: a post-scale is no pass of its own.
TEST_F(GemmRefusals, NothingButOneLaunchIsNeeded) {
  a_ = operand(8, 64, true);
  options_.bias = bias(24, DType::bf16);
  options_.accumulate = true;
  EXPECT_EQ(outcome(), "ok");
  ASSERT_EQ(machine_.cuda->launches.size(), 1u);
  const auto& launch = machine_.cuda->launches[0];
  EXPECT_EQ(launch.symbol, "gemm_nvfp4");
  EXPECT_EQ(launch.block[0], 256u);
  EXPECT_EQ(launch.grid[0], 1u);
}

}  // namespace
}  // namespace diecast
