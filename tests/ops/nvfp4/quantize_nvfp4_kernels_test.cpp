// Which of its kernels a prepared quantize_nvfp4 launches, on a fake GPU: the number of elements
// chooses.
#include <diecast/diecast.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_kernels.h>
#include <gtest/gtest.h>

#include <algorithm>
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
    request.out.row_scaled = true;
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

// Under an amax the elements choose among kernels that are all made beforehand. With tiled scales
// rows of a known length have them, and of dense rows alone.
TEST(QuantizeNvfp4Kernels, SmallMatricesHaveKernelsOfTheirOwn) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  PreparedQuantizeNvfp4::Request request;
  request.amax_given = true;
  const auto prepared = [&](RowsClass rows, ScaleLayout layout, std::int64_t cols) {
    request.rows = rows, request.out.layout = layout, request.cols = cols;
    return PreparedQuantizeNvfp4::prepare(*runtime, device, request).value();
  };
  const auto any = prepared(RowsClass::dense, ScaleLayout::linear, 0);
  const auto of_4096 = prepared(RowsClass::dense, ScaleLayout::linear, 4096);
  const auto apart = prepared(RowsClass::apart, ScaleLayout::linear, 0);
  const auto tiled = prepared(RowsClass::dense, ScaleLayout::s128x4, 0);
  const auto tiled_4096 = prepared(RowsClass::dense, ScaleLayout::s128x4, 4096);
  runtime->freeze();
  const auto launched = [&](const PreparedQuantizeNvfp4& op, const testing::Matrices& m) {
    op.run(m.x, m.out, {}).value();
    return machine.cuda->launches.back().symbol;
  };
  const testing::Matrices m(*device, 8, 4096), t(*device, 8, 4096, false, ScaleLayout::s128x4);
  EXPECT_EQ(launched(any, m), "quantize_nvfp4_few");
  EXPECT_EQ(launched(of_4096, m), "quantize_nvfp4_few");
  EXPECT_EQ(launched(apart, m), "quantize_nvfp4");
  EXPECT_EQ(launched(tiled, t), "quantize_nvfp4");
  EXPECT_EQ(launched(tiled_4096, t), "quantize_nvfp4_few");
  // A row's length buys nothing where scales lie as blocks do.
  EXPECT_EQ(any.kernel(8 * 4096).specialization().spelling(),
            of_4096.kernel(8 * 4096).specialization().spelling());
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  for (const PreparedQuantizeNvfp4* const op : {&any, &of_4096, &apart, &tiled, &tiled_4096})
    EXPECT_EQ(op->kernel(kMany).specialization().tmpl().name(), "quantize_nvfp4");
}

// Few elements find their amax and are quantized in one launch, of one thread block or one cluster.
// For more, and where the device counts the rows, the amax is found first. Before 9.0 are no
// clusters, nor launches that begin while the one before ends: the driver fills.
TEST(QuantizeNvfp4Kernels, OneClusterFindsTheAmaxOfFewElements) {
  for (const int cc : {90, 89}) {
    testing::FakeMachine machine;
    machine.cuda->gpus[0].cc = cc;
    const auto runtime = machine.runtime();
    const auto device = machine.cuda.device();
    const auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, {}).value();
    const std::int64_t found_first =
        quantize_nvfp4_kernels(*runtime, {}, device->properties()).value().finds_amax;
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
      for (const auto& launch : machine.cuda->launches) {
        if (launch.symbol == "quantize_nvfp4_amax_few") {
          EXPECT_EQ(launch.grid[0], std::max(launch.cluster, 1u));
        }
        all += launch.symbol + ", ";
      }
      return all;
    };
    const std::string alone = "quantize_nvfp4_amax_few, ";
    const std::int64_t most = (found_first - 1) / 16;  // blocks
    EXPECT_EQ(launched(testing::Matrices(*device, 0, 64)), alone);
    EXPECT_EQ(launched(testing::Matrices(*device, 1, 16)), alone);
    EXPECT_EQ(launched(testing::Matrices(*device, most, 16)), alone);
    EXPECT_EQ(machine.cuda->launches.back().cluster > 1, cc >= 90);
    EXPECT_EQ(launched(testing::Matrices(*device, most + 1, 16)),
              "zeros, amax, quantize_nvfp4_few, ");
    EXPECT_EQ(launched(testing::Matrices(*device, 4, 64), device->allocate(8).value()),
              "zeros, amax, quantize_nvfp4, ");
  }
}

}  // namespace
}  // namespace diecast
