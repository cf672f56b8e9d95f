// quantize_nvfp4_tiles, grouped quantizing and transposing on a fake GPU: what they launch, and in
// which order; what they refuse.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/fake_gpu.h"

namespace diecast {
namespace {

using Symbols = std::vector<std::string>;

class TilesOnFake : public testing::OnFakeGpu {
 protected:
  Tensor matrix(std::int64_t rows, std::int64_t cols) {
    return {memory(rows * cols * 2), DType::bf16, Shape{rows, cols}, 0, nullptr};
  }
  template <class Change>
  QuantizedTensor output(const Tensor& x, Change change) {
    QuantizedTensor out;
    out.shape = x.shape;
    change(out);
    out.rowwise = out.rowwise_sizes().value();
    out.columnwise = out.columnwise_sizes().value();
    allocate(out.rowwise);
    allocate(out.columnwise);
    return out;
  }
  QuantizedTensor output(const Tensor& x) {
    return output(x, [](QuantizedTensor&) {});
  }
  Symbols launched() {
    Symbols symbols;
    for (const auto& launch : machine_.cuda->launches) symbols.push_back(launch.symbol);
    return symbols;
  }
  QuantizeNvfp4Options options() const {
    QuantizeNvfp4Options options;
    options.device = device_;
    return options;
  }
};

TEST_F(TilesOnFake, BothDirectionsShareOneAmax) {
  const Tensor x = matrix(64, 1024);
  quantize_nvfp4(*runtime_, x, output(x), options()).value();
  EXPECT_EQ(launched(), (Symbols{"zeros", "amax", "quantize_nvfp4_tiles"}));
  EXPECT_EQ(machine_.cuda->launches[2].grid[0], 4u);  // a tile is 128 rows of 256 columns
}

TEST_F(TilesOnFake, TransformedOrRowScaledEachFindsItsOwn) {
  const Tensor x = matrix(64, 256);
  auto transformed = options();
  transformed.rht = TransformedSides::columnwise;
  quantize_nvfp4(*runtime_, x, output(x), transformed).value();
  const auto row_scaled = output(x, [](QuantizedTensor& out) { out.type.row_scaled = true; });
  quantize_nvfp4(*runtime_, x, row_scaled, options()).value();
  const Symbols each{"zeros", "amax", "zeros", "amax", "quantize_nvfp4_tiles"};
  Symbols twice = each;
  twice.insert(twice.end(), each.begin(), each.end());
  EXPECT_EQ(launched(), twice);
}

TEST_F(TilesOnFake, GivenAmaxesAreOneLaunch) {
  const Tensor x = matrix(64, 256);
  auto given = options();
  given.amax_given = true;
  quantize_nvfp4(*runtime_, x, output(x), given).value();
  EXPECT_EQ(launched(), Symbols{"quantize_nvfp4_tiles"});
}

TEST_F(TilesOnFake, AGroupIsDescribedAndQuantizedInOneLaunchEach) {
  const Tensor x = matrix(300, 64);
  QuantizedGroup group;
  group.count = 7;
  group.whole.shape = x.shape;
  group.device_row_offsets = static_cast<const std::int64_t*>(memory(8 * 8));
  group.members = static_cast<MemberDescriptor*>(memory(7 * 96));
  group.whole.rowwise = group.rowwise_sizes().value();
  group.whole.columnwise = group.columnwise_sizes().value();
  allocate(group.whole.rowwise);
  allocate(group.whole.columnwise);
  QuantizeNvfp4GroupedOptions wish;
  wish.device = device_;
  quantize_nvfp4_grouped(*runtime_, x, group, wish).value();
  EXPECT_EQ(launched(),
            (Symbols{"describe_group", "zeros", "zeros", "amax_grouped", "quantize_nvfp4_tiles"}));
  EXPECT_EQ(machine_.cuda->count("cuMemcpyDtoHAsync"), 0);
  EXPECT_EQ(machine_.cuda->launches.back().grid[0], 10u);  // 3 tiles of rows + 7 members
}

TEST_F(TilesOnFake, TensorsThatLieAnywhereAreZerosALaunchAndALaunch) {
  const std::vector<Tensor> matrices = {matrix(300, 64), matrix(5, 64), matrix(128, 64)};
  auto* const amaxes = static_cast<float*>(memory(2 * 3 * 4));
  std::vector<QuantizedPair> pairs;
  for (const Tensor& x : matrices) {
    pairs.push_back({x, output(x)});
    pairs.back().out.rowwise.amax = amaxes + pairs.size() - 1;
    pairs.back().out.columnwise.amax = amaxes + pairs.size() + 2;
  }
  const TensorGroup group{pairs, static_cast<const MemberDescriptor*>(memory(3 * 96))};
  const int fills = machine_.cuda->count("cuMemsetD8Async");
  quantize_nvfp4_grouped(*runtime_, group, options()).value();
  // Zeros of a direction's amaxes at once; no fill, which the driver refuses where allocations
  // touch.
  EXPECT_EQ(launched(), (Symbols{"zeros", "zeros", "amax_grouped", "quantize_nvfp4_tiles"}));
  EXPECT_EQ(machine_.cuda->count("cuMemsetD8Async"), fills);
  EXPECT_EQ(machine_.cuda->count("cuMemcpyHtoDAsync"), 0);
  EXPECT_EQ(machine_.cuda->launches.back().grid[0], 7u);  // 433 rows are 4 tiles + 3 pairs
}

TEST_F(TilesOnFake, TransposingIsTwoLaunchesAndACopy) {
  const Tensor x = matrix(64, 256);
  const auto squares = output(x, [](QuantizedTensor& out) { out.type.square = true; });
  transpose_nvfp4(*runtime_, squares, {device_}).value();
  EXPECT_EQ(launched(), (Symbols{"transpose_codes", "arrange_scales"}));
  EXPECT_EQ(transpose_nvfp4(*runtime_, output(x), {device_}).error().message(),
            "diecast: not_supported: transpose_nvfp4: x is nvfp4 in 1x16 blocks, rowwise present, "
            "columnwise present\n"
            "  fix: give nvfp4 in 16x16 blocks with buffers for both directions");
  auto row_scaled = squares;
  row_scaled.type.row_scaled = true;
  EXPECT_EQ(transpose_nvfp4(*runtime_, row_scaled, {device_}).error().message(),
            "diecast: not_supported: transpose_nvfp4: x: it is row-scaled (one amax a row), which "
            "transpose_nvfp4 does not take\n"
            "  fix: quantize x with one amax for the whole tensor");
}

TEST_F(TilesOnFake, AnAmaxOfBlocksDoesNotAccumulate) {
  const Tensor x = matrix(16, 64);
  AmaxOptions blocks{AmaxPer::block, true, device_};
  EXPECT_EQ(amax(*runtime_, x, static_cast<float*>(memory(16 * 4 * 4)), blocks).error().message(),
            "diecast: not_supported: amax: maxima of one block each do not accumulate\n"
            "  fix: accumulate = false, or maxima per tensor, row or column");
}

TEST_F(TilesOnFake, OneDecodeScaleAloneRescalesNothing) {
  ArrangeScalesOptions one;
  one.device = device_;
  one.old_decode = static_cast<const float*>(memory(4));
  const ScaleArray from{memory(64), ScaleLayout::linear, 16, 4, 1};
  const ScaleArray to{memory(512), ScaleLayout::s128x4, 16, 4, 1};
  EXPECT_EQ(arrange_scales(*runtime_, from, to, one).error().message(),
            "diecast: invalid_argument: arrange_scales: old_decode is given, new_decode is null\n"
            "  fix: give both decode scales");
}

}  // namespace
}  // namespace diecast
