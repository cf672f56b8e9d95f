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

// In small matrices two threads share a block of 16; in larger ones each has its own, then two. All
// kernels are made beforehand, and the elements choose.
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
  request.cols = 7168;
  const auto tiled_7168 = PreparedQuantizeNvfp4::prepare(*runtime, device, request).value();
  runtime->freeze();
  const Stream stream = device->create_stream().value();
  const auto grid = [&](const PreparedQuantizeNvfp4& of, const testing::Matrices& m) {
    machine.cuda.begin_capture(stream);
    of.run(m.x, m.out, stream).value();
    EXPECT_TRUE(machine.cuda.end_capture(stream));
    const auto& launch = machine.cuda->launches.back();
    return launch.symbol + " " + std::to_string(launch.grid[0] * launch.grid[1]);
  };
  constexpr std::int64_t kFew = 132 * 100, kSome = 132 * 770;  // blocks of 16 from which on
  for (const std::int64_t cols : {16, 256}) {
    const std::int64_t few = (kFew * 16 + cols - 1) / cols, some = (kSome * 16 + cols - 1) / cols;
    EXPECT_EQ(grid(op, testing::Matrices(*device, few - 1, cols)), "quantize_nvfp4_once 69");
    EXPECT_EQ(grid(op, testing::Matrices(*device, few, cols)), "quantize_nvfp4_once 42");
    EXPECT_EQ(grid(op, testing::Matrices(*device, some - 1, cols)), "quantize_nvfp4_once 133");
    EXPECT_EQ(grid(op, testing::Matrices(*device, some, cols)), "quantize_nvfp4_once 100");
    EXPECT_EQ(grid(apart, testing::Matrices(*device, few, cols)), "quantize_nvfp4 104");
  }
  const auto of_blocks = [&](const PreparedQuantizeNvfp4& of, std::int64_t blocks) {
    const Specialization& one = of.kernel(16 * blocks).specialization();
    if (one.tmpl().parameter("LANES") == nullptr) return one.tmpl().name();
    return cat(one.number("LANES"), "x", one.number("BLOCKS"), "x", one.number("THREADS"));
  };
  using Until = std::vector<std::pair<std::int64_t, std::string>>;  // the first blocks of the next
  // With linear scales as long as the grid goes.
  constexpr std::int64_t kLast = std::int64_t{65535} * 256;
  for (const auto& [until, kernel] : Until{{132 * 100, "2x1x384"},
                                           {132 * 330, "2x1x640"},
                                           {132 * 645, "1x1x640"},
                                           {132 * 770, "1x1x768"},
                                           {132 * 1010, "1x2x512"},
                                           {132 * 1290, "1x2x640"},
                                           {132 * 1800, "1x2x896"},
                                           {132 * 2060, "1x2x1024"},
                                           {132 * 2550, "1x2x640"},
                                           {132 * 3060, "1x2x768"},
                                           {132 * 8300, "1x2x512"},
                                           {kLast, "1x1x512"},
                                           {kLast + 1, "quantize_nvfp4"}}) {
    EXPECT_EQ(of_blocks(op, until - 1), kernel);
  }
  for (const auto& [until, kernel] : Until{{132 * 450, "2x1x256"},
                                           {132 * 1800, "1x1x640"},
                                           {132 * 3300, "1x2x512"},
                                           {132 * 16384, "1x1x512"},
                                           {132 * 16384 + 1, "quantize_nvfp4"}}) {
    EXPECT_EQ(of_blocks(tiled_4096, until - 1), kernel);
  }
  for (const auto& [until, kernel] : Until{{132 * 900, "2x1x256"},
                                           {132 * 1800, "1x1x640"},
                                           {132 * 16384, "1x1x512"},
                                           {132 * 16384 + 1, "quantize_nvfp4"}}) {
    EXPECT_EQ(of_blocks(tiled_7168, until - 1), kernel);
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
    const std::string before = "zeros 1 x 128, ";
    EXPECT_EQ(launched(testing::Matrices(*device, 257, 16)),
              clusters ? one + "8 x 256, " : before + "amax 33 x 256, " + small + "2 x 384, ");
    EXPECT_EQ(launched(testing::Matrices(*device, 8, 4096)),
              clusters ? one + "8 x 256, " : before + "amax 8 x 256, " + small + "11 x 384, ");
    EXPECT_EQ(launched(testing::Matrices(*device, 8, 8192)),
              clusters ? one + "8 x 512, " : before + "amax 16 x 256, " + small + "22 x 384, ");
    EXPECT_EQ(launched(testing::Matrices(*device, 9, 8192)),
              before + "amax 18 x 256, " + small + "24 x 384, ");
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
    const std::int64_t some = std::int64_t{multiprocessors} * 770;  // blocks of 16
    const testing::Matrices below(*device, some - 1, 16), from(*device, some, 16);
    machine.cuda.begin_capture(stream);
    op.run(below.x, below.out, stream).value();
    EXPECT_EQ(machine.cuda->launches.back().block[0], 768u) << multiprocessors;
    op.run(from.x, from.out, stream).value();
    EXPECT_EQ(machine.cuda->launches.back().block[0], 512u) << multiprocessors;
    EXPECT_TRUE(machine.cuda.end_capture(stream));
  }
}

}  // namespace
}  // namespace diecast
