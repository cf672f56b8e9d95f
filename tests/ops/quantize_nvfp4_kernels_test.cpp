// Which of its kernels a prepared quantize_nvfp4 launches, on a fake GPU: the number of elements
// chooses.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <map>

#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

// Decoding's few rows have kernels of their own, all made beforehand: long ones are spread over a
// cluster, over more multiprocessors while rows are few.
TEST(QuantizeNvfp4Kernels, FewRowsThatFindTheirAmaxAreSpreadOverClusters) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  std::map<std::int64_t, PreparedQuantizeNvfp4> ops;
  for (const std::int64_t cols : {2048, 4096, 7168, 16384, 28672, 65536, 65552}) {
    PreparedQuantizeNvfp4::Request request;
    request.cols = cols;
    request.row_scaled = true;
    ops.emplace(cols, PreparedQuantizeNvfp4::prepare(*runtime, device, request).value());
  }
  runtime->freeze();
  struct Case {
    std::int64_t cols, rows;
    unsigned blocks_a_row, threads;
  };
  const Case cases[] = {
      {2048, 82, 1, 256},  {2048, 83, 1, 128},  {2048, 639, 1, 128},   {4096, 23, 1, 256},
      {4096, 159, 1, 256}, {7168, 47, 4, 128},  {7168, 48, 1, 512},    {7168, 80, 1, 512},
      {16384, 23, 8, 128}, {16384, 24, 2, 512}, {16384, 1583, 2, 512}, {28672, 1, 8, 256},
      {28672, 5, 8, 256},  {28672, 37, 8, 256}, {65536, 16, 8, 512},   {65552, 1, 1, 512}};
  for (const auto& [cols, rows, blocks_a_row, threads] : cases) {
    const testing::Matrices m(*device, rows, cols, true);
    ops.at(cols).run(m.x, m.out, {}).value();
    const auto& launch = machine.cuda->launches.back();
    EXPECT_EQ(launch.symbol == "quantize_nvfp4_row_scaled_small", cols <= 65536) << cols;
    EXPECT_EQ(launch.grid[0], rows * blocks_a_row) << rows << "x" << cols;
    EXPECT_EQ(launch.block[0], threads) << rows << "x" << cols;
    EXPECT_EQ(launch.cluster, blocks_a_row == 1 ? 0 : blocks_a_row) << rows << "x" << cols;
  }
  const testing::Matrices many(*device, 1584, 16384, true);
  ops.at(16384).run(many.x, many.out, {}).value();
  EXPECT_EQ(machine.cuda->launches.back().symbol, "quantize_nvfp4_row_scaled");
}

// By rows: the last of each kernel, and what comes after it.
TEST(QuantizeNvfp4Kernels, FewRowsHaveTheKernelThatWasFastestOfAll) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  PreparedQuantizeNvfp4::Request request;
  request.row_scaled = true;
  const auto chosen = [&](const PreparedQuantizeNvfp4& op, std::int64_t rows) {
    const Specialization& one = op.kernel(rows * request.cols).specialization();
    if (one.tmpl().parameter("CLUSTER") == nullptr) return one.tmpl().name();
    return cat(one.number("LANES"), "x", one.number("THREADS"), "x", one.number("CLUSTER"), " ",
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
       2048,
       {{82, "2x256x1 elements"},
        {154, "1x128x1 elements"},
        {443, "1x128x1 amax"},
        {2111, "1x128x1 elements"}}},
      {linear, 4096, {{79, "1x256x1 elements"}, {2111, "1x256x1 amax"}}},
      {linear, 5120, {{47, "1x128x4 elements"}, {897, "1x512x1 amax"}}},
      {linear, 8192, {{47, "1x128x4 elements"}, {1583, "1x512x1 amax"}}},
      {linear, 12288, {{23, "1x128x8 elements"}, {316, "1x512x2 amax"}}},
      {linear, 16384, {{23, "1x128x8 elements"}, {1583, "1x512x2 amax"}}},
      {linear, 28672, {{37, "1x256x8 elements"}}},
      {tiled, 2048, {{82, "2x256x1 elements"}, {319, "2x256x1 amax"}, {2111, "1x128x1 elements"}}},
      {tiled,
       3072,
       {{47, "2x128x4 elements"},
        {110, "1x256x1 amax"},
        {448, "1x128x2 elements"},
        {2111, "1x256x1 amax"}}},
      {tiled,
       4096,
       {{47, "2x128x4 elements"},
        {110, "1x256x1 amax"},
        {448, "1x128x2 elements"},
        {2111, "1x256x1 amax"}}},
      {tiled, 5120, {{11, "2x128x8 elements"}, {224, "1x128x4 elements"}, {633, "1x512x1 amax"}}},
      {tiled,
       8192,
       {{11, "2x128x8 elements"},
        {224, "1x128x4 elements"},
        {633, "1x256x2 elements"},
        {1583, "1x512x1 codes"}}},
      {tiled, 12288, {{23, "1x128x8 elements"}, {47, "1x128x8 amax"}, {224, "1x256x4 amax"}}},
      {tiled,
       16384,
       {{23, "1x128x8 elements"},
        {47, "1x128x8 amax"},
        {224, "1x256x4 codes"},
        {448, "1x256x4 elements"}}}};
  for (const auto& [layout, cols, until] : cases) {
    request.layout = layout;
    request.cols = cols;
    const auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, request).value();
    for (std::size_t i = 0; i < until.size(); ++i) {
      const auto& [last, name] = until[i];
      EXPECT_EQ(chosen(op, last), name) << last << "x" << cols;
      EXPECT_EQ(chosen(op, last + 1),
                i + 1 < until.size() ? until[i + 1].second : "quantize_nvfp4_row_scaled")
          << last + 1 << "x" << cols;
    }
  }
}

// Of others, few rows have more threads each than many: as many as are on the GPU at once.
TEST(QuantizeNvfp4Kernels, FewRowsThatFindTheirAmaxHaveMoreThreadsEach) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  std::map<std::int64_t, PreparedQuantizeNvfp4> ops;
  for (const std::int64_t cols : {4096, 7168, 16384}) {
    PreparedQuantizeNvfp4::Request request;
    request.cols = cols;
    request.row_scaled = true;
    request.rows = RowsClass::any;
    ops.emplace(cols, PreparedQuantizeNvfp4::prepare(*runtime, device, request).value());
  }
  runtime->freeze();
  struct Case {
    std::int64_t cols, rows;
    unsigned threads;
  };
  const Case cases[] = {{4096, 1, 256},   {4096, 527, 256},  {4096, 528, 128}, {4096, 1055, 128},
                        {4096, 1056, 64}, {7168, 263, 512},  {7168, 264, 256}, {7168, 527, 256},
                        {7168, 528, 128}, {16384, 263, 512}, {16384, 264, 256}};
  for (const auto& [cols, rows, threads] : cases) {
    const testing::Matrices m(*device, rows, cols, true);
    ops.at(cols).run(m.x, m.out, {}).value();
    EXPECT_EQ(machine.cuda->launches.back().block[0], threads) << rows << "x" << cols;
  }
}

// In small matrices two threads share a block of 16; in larger ones each has its own. All kernels
// are made beforehand, and the elements choose.
TEST(QuantizeNvfp4Kernels, SmallMatricesHaveKernelsOfTheirOwn) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  PreparedQuantizeNvfp4::Request request;
  request.amax_given = true;
  const auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, request).value();
  request.rows = RowsClass::apart;  // has but one
  const auto apart = PreparedQuantizeNvfp4::prepare(*runtime, device, request).value();
  request.rows = RowsClass::dense;
  request.layout = ScaleLayout::s128x4;  // has them for rows of a known length
  const auto tiled = PreparedQuantizeNvfp4::prepare(*runtime, device, request).value();
  request.cols = 4096;
  const auto tiled_4096 = PreparedQuantizeNvfp4::prepare(*runtime, device, request).value();
  runtime->freeze();
  const Stream stream = device->create_stream().value();
  const auto grid = [&](const PreparedQuantizeNvfp4& of, const testing::Matrices& m) {
    machine.cuda.begin_capture(stream);
    of.run(m.x, m.out, stream).value();
    EXPECT_TRUE(machine.cuda.end_capture(stream));
    const auto& launch = machine.cuda->launches.back();
    return launch.symbol + " " + std::to_string(launch.grid[0] * launch.grid[1]);
  };
  constexpr std::int64_t kFew = 132 * 85, kSome = 132 * 400;  // blocks of 16 from which on
  for (const std::int64_t cols : {16, 256}) {
    const std::int64_t few = (kFew * 16 + cols - 1) / cols, some = kSome * 16 / cols;
    EXPECT_EQ(grid(op, testing::Matrices(*device, few - 1, cols)), "quantize_nvfp4_once 88");
    EXPECT_EQ(grid(op, testing::Matrices(*device, few, cols)), "quantize_nvfp4_once 44");
    EXPECT_EQ(grid(op, testing::Matrices(*device, some - 1, cols)), "quantize_nvfp4_once 413");
    EXPECT_EQ(grid(op, testing::Matrices(*device, some, cols)), "quantize_nvfp4_once 104");
    EXPECT_EQ(grid(apart, testing::Matrices(*device, few, cols)), "quantize_nvfp4 88");
  }
  const auto of_blocks = [&](const PreparedQuantizeNvfp4& of, std::int64_t blocks) {
    const Specialization& one = of.kernel(16 * blocks).specialization();
    return one.tmpl().name() + " " +
           (one.tmpl().parameter("LANES")
                ? std::to_string(one.number("LANES")) + "x" + std::to_string(one.number("THREADS"))
                : "");
  };
  // With linear scales as long as the grid goes.
  constexpr std::int64_t kLast = std::int64_t{65535} * 256;
  for (const auto& [until, kernel] :
       {std::pair{std::int64_t{132 * 85}, "quantize_nvfp4_once 2x256"},
        {132 * 225, "quantize_nvfp4_once 2x512"},
        {132 * 400, "quantize_nvfp4_once 2x256"},
        {132 * 530, "quantize_nvfp4_once 1x512"},
        {132 * 940, "quantize_nvfp4_once 1x256"},
        {132 * 1024, "quantize_nvfp4_once 1x512"},
        {132 * 8192, "quantize_nvfp4_once 1x256"},
        {kLast, "quantize_nvfp4_once 1x512"},
        {kLast + 1, "quantize_nvfp4 "}}) {
    EXPECT_EQ(of_blocks(op, until - 1), kernel);
  }
  for (const auto& [until, kernel] : {std::pair{132 * 700, "quantize_nvfp4_once 2x256"},
                                      {132 * 16384, "quantize_nvfp4_once 1x256"},
                                      {132 * 16384 + 1, "quantize_nvfp4 "}}) {
    EXPECT_EQ(of_blocks(tiled_4096, until - 1), kernel);
  }
  testing::Matrices m(*device, 8, 4096);
  m.out.layout = ScaleLayout::s128x4;
  m.out.rowwise.scale_bytes = m.out.rowwise_sizes().value().scale_bytes;
  EXPECT_EQ(grid(tiled, m), "quantize_nvfp4 256");
  // 8 rows of 256 blocks by two threads each, and a row of tiles of 16 bytes.
  EXPECT_EQ(grid(tiled_4096, m), "quantize_nvfp4_once 24");
}

// Few elements find their amax and are quantized in one launch, of one block of threads or one
// cluster. For more, and where the device counts the rows, the amax is found first. Before 9.0 are
// no clusters, nor launches that begin while the one before ends: the driver fills.
TEST(QuantizeNvfp4Kernels, OneClusterFindsTheAmaxOfFewElements) {
  for (const int cc : {90, 89}) {
    testing::FakeMachine machine;
    machine.cuda->gpus[0].cc = cc;
    const auto runtime = machine.runtime();
    const auto device = machine.cuda.device();
    const auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, {}).value();
    runtime->freeze();
    const Stream stream = device->create_stream().value();
    const auto launched = [&](const testing::Matrices& m, const void* device_rows = nullptr) {
      machine.cuda->launches.clear();
      Tensor x = m.x;
      x.device_rows = static_cast<const std::int64_t*>(device_rows);
      machine.cuda.begin_capture(stream);
      op.run(x, m.out, stream).value();
      EXPECT_TRUE(machine.cuda.end_capture(stream));
      std::string all;
      for (const auto& launch : machine.cuda->launches)
        all += launch.symbol + " " + std::to_string(launch.grid[0] * launch.grid[1]) + " x " +
               std::to_string(launch.block[0]) + ", ";
      return all;
    };
    const std::string one = "quantize_nvfp4_dynamic_small ", small = "quantize_nvfp4_once ";
    EXPECT_EQ(launched(testing::Matrices(*device, 0, 64)), one + "1 x 256, ");
    EXPECT_EQ(launched(testing::Matrices(*device, 256, 16)), one + "1 x 256, ");
    const bool clusters = cc == 90;
    const std::string before = clusters ? "zeros 1 x 128, " : "";
    EXPECT_EQ(launched(testing::Matrices(*device, 257, 16)),
              clusters ? one + "8 x 256, " : "amax 33 x 256, " + small + "3 x 256, ");
    EXPECT_EQ(launched(testing::Matrices(*device, 8, 4096)),
              clusters ? one + "8 x 256, " : "amax 8 x 256, " + small + "16 x 256, ");
    EXPECT_EQ(launched(testing::Matrices(*device, 8, 8192)),
              clusters ? one + "8 x 512, " : "amax 16 x 256, " + small + "32 x 256, ");
    EXPECT_EQ(launched(testing::Matrices(*device, 9, 8192)),
              before + "amax 18 x 256, " + small + "36 x 256, ");
    EXPECT_EQ(launched(testing::Matrices(*device, 4, 64), device->allocate(8).value()),
              before + "amax 1 x 256, quantize_nvfp4 1 x 128, ");
  }
}

// A GPU of more multiprocessors than any so far has a kernel more for few elements.
TEST(QuantizeNvfp4Kernels, AGpuOfManyMultiprocessorsHasAllOfThem) {
  for (const int multiprocessors : {256, 257, 300}) {
    testing::FakeMachine machine;
    machine.cuda->gpus[0].sm_count = multiprocessors;
    const auto runtime = machine.runtime();
    const auto device = machine.cuda.device();
    const auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, {}).value();
    runtime->freeze();
    const Stream stream = device->create_stream().value();
    const std::int64_t some = std::int64_t{multiprocessors} * 8192;  // blocks of 16
    const testing::Matrices below(*device, some - 1, 16), from(*device, some, 16);
    machine.cuda.begin_capture(stream);
    op.run(below.x, below.out, stream).value();
    EXPECT_EQ(machine.cuda->launches.back().block[0], 256u) << multiprocessors;
    op.run(from.x, from.out, stream).value();
    EXPECT_EQ(machine.cuda->launches.back().block[0], 512u) << multiprocessors;
    EXPECT_TRUE(machine.cuda.end_capture(stream));
  }
}

}  // namespace
}  // namespace diecast
