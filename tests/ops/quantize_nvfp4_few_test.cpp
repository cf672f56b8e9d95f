// Which kernels a prepared quantize_nvfp4 launches for few rows that find their own amax, on a fake
// GPU.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <map>

#include "ops/fake_gpu.h"
#include "ops/fake_matrices.h"

namespace diecast {
namespace {

class QuantizeNvfp4Few : public testing::OnFakeGpu {};

// Decoding's few rows have kernels of their own, all made beforehand: long ones are spread over a
// cluster, over more multiprocessors while rows are few. As many threads as a row needs, of whole
// warps.
TEST_F(QuantizeNvfp4Few, RowsThatFindTheirAmaxAreSpreadOverClusters) {
  std::map<std::int64_t, PreparedQuantizeNvfp4> ops;
  for (const std::int64_t cols : {2048, 4096, 5120, 7168, 16384, 28672, 65536, 65552}) {
    PreparedQuantizeNvfp4::Request request;
    request.cols = cols;
    request.row_scaled = true;
    ops.emplace(cols, PreparedQuantizeNvfp4::prepare(*runtime_, device_, request).value());
  }
  runtime_->freeze();
  struct Case {
    std::int64_t cols, rows;
    unsigned blocks_a_row, threads;
  };
  // As many threads as a row needs, of whole warps.
  const Case cases[] = {{2048, 1, 1, 128},    {2048, 721, 1, 128},  {4096, 149, 1, 256},
                        {4096, 1701, 1, 256}, {4096, 1702, 1, 128}, {5120, 61, 4, 96},
                        {5120, 62, 1, 320},   {5120, 1361, 1, 320}, {5120, 1362, 1, 160},
                        {7168, 44, 4, 128},   {7168, 45, 1, 448},   {16384, 19, 8, 128},
                        {16384, 20, 2, 512},  {16384, 68, 2, 512},  {16384, 69, 1, 512},
                        {28672, 1, 8, 224},   {28672, 29, 8, 224},  {28672, 30, 2, 896},
                        {28672, 147, 1, 896}, {65536, 48, 8, 512},  {65552, 1, 1, 512}};
  for (const auto& [cols, rows, blocks_a_row, threads] : cases) {
    const testing::Matrices m(*device_, rows, cols, true);
    ops.at(cols).run(m.x, m.out, {}).value();
    const auto& launch = machine_.cuda->launches.back();
    EXPECT_EQ(launch.symbol == "quantize_nvfp4_row_scaled_small", cols <= 65536) << cols;
    EXPECT_EQ(launch.grid[0], rows * blocks_a_row) << rows << "x" << cols;
    EXPECT_EQ(launch.block[0], threads) << rows << "x" << cols;
    EXPECT_EQ(launch.cluster, blocks_a_row == 1 ? 0 : blocks_a_row) << rows << "x" << cols;
  }
  const testing::Matrices many(*device_, 2112, 16384, true);
  ops.at(16384).run(many.x, many.out, {}).value();
  EXPECT_EQ(machine_.cuda->launches.back().symbol, "quantize_nvfp4_row_scaled");
}

// By rows: the last of each kernel, and what comes after it.
TEST_F(QuantizeNvfp4Few, RowsHaveTheKernelThatWasFastestOfAll) {
  PreparedQuantizeNvfp4::Request request;
  request.row_scaled = true;
  const auto chosen = [&](const PreparedQuantizeNvfp4& op, std::int64_t rows) {
    const Specialization& one = op.kernel(rows * request.cols).specialization();
    if (one.tmpl().parameter("CLUSTER") == nullptr) return one.tmpl().name();
    return cat(one.number("BLOCKS"), "x", one.number("CLUSTER"), "x", one.number("SIDE"), " ",
               one.bindings().find("NEXT")->word);
  };
  using Until = std::vector<std::pair<std::int64_t, std::string>>;  // the last rows of each
  struct Case {
    ScaleLayout layout;
    std::int64_t cols;
    Until until;
  };
  constexpr auto linear = ScaleLayout::linear, tiled = ScaleLayout::s128x4;
  const Case cases[] = {
      {linear,
       1024,
       {{1443, "1x1x2 elements"},
        {3093, "1x1x4 elements"},
        {11549, "1x1x8 elements"},
        {33791, "2x1x8 codes"}}},
      {linear,
       2048,
       {{721, "1x1x1 elements"},
        {1546, "1x1x2 elements"},
        {5774, "1x1x4 elements"},
        {16895, "2x1x8 codes"}}},
      {linear,
       4096,
       {{149, "1x1x1 elements"},
        {876, "1x1x1 amax"},
        {1701, "1x1x1 elements"},
        {8447, "2x1x1 amax"}}},
      {linear,
       5120,
       {{61, "1x4x1 elements"},
        {1361, "1x1x1 amax"},
        {2144, "2x1x1 codes"},
        {16499, "2x1x1 amax"}}},
      {linear,
       12288,
       {{26, "1x8x1 elements"},
        {91, "1x2x1 amax"},
        {180, "2x1x1 elements"},
        {360, "1x2x1 amax"},
        {2815, "2x1x1 codes"}}},
      {linear,
       28672,
       {{6, "1x8x1 elements"}, {29, "1x8x1 amax"}, {73, "1x2x1 elements"}, {147, "2x1x1 amax"}}},
      {linear, 65536, {{2, "1x8x1 elements"}, {48, "1x8x1 amax"}}},
      {tiled, 2048, {{360, "1x1x1 elements"}, {16895, "1x1x4 amax"}}},
      {tiled, 4096, {{46, "1x4x1 elements"}, {360, "1x1x1 amax"}, {8447, "2x1x4 codes"}}},
      {tiled, 5120, {{45, "1x4x1 elements"}, {866, "1x1x1 amax"}, {6758, "2x1x1 codes"}}},
      {tiled, 8192, {{206, "1x4x1 elements"}, {580, "1x2x1 elements"}, {4223, "2x1x1 codes"}}},
      {tiled,
       16384,
       {{19, "1x8x1 elements"},
        {69, "1x4x1 amax"},
        {167, "1x4x1 elements"},
        {2111, "2x2x1 codes"}}},
      {tiled, 28672, {{37, "1x8x1 elements"}}}};
  for (const auto& [layout, cols, until] : cases) {
    request.layout = layout;
    request.cols = cols;
    const auto op = PreparedQuantizeNvfp4::prepare(*runtime_, device_, request).value();
    for (std::size_t i = 0; i < until.size(); ++i) {
      const auto& [last, name] = until[i];
      EXPECT_EQ(chosen(op, last), name) << last << "x" << cols;
      EXPECT_EQ(chosen(op, last + 1),
                i + 1 < until.size() ? until[i + 1].second : "quantize_nvfp4_row_scaled")
          << last + 1 << "x" << cols;
    }
  }
}

}  // namespace
}  // namespace diecast
