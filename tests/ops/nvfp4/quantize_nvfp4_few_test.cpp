// Which kernels quantize_nvfp4 has for few elements, as the library's bounds choose them: what must
// hold whatever the bounds are.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_few.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "ops/fake_gpu.h"
#include "ops/fake_matrices.h"

namespace diecast {
namespace {

using Request = PreparedQuantizeNvfp4::Request;

DeviceProperties gpu(int cc, int multiprocessors) {
  DeviceProperties out;
  out.cc = cc;
  out.sm_count = multiprocessors;
  return out;
}

class QuantizeNvfp4Few : public testing::OnFakeGpu {
 protected:
  QuantizeNvfp4Kernels kernels(const Request& request, const DeviceProperties& device) {
    return quantize_nvfp4_kernels(*runtime_, request, device).value();
  }
  // Requests that have kernels for few elements on every GPU from 9.0 on.
  static void for_each_plain(const std::function<void(const Request&)>& use) {
    for (const DType in : {DType::bf16, DType::f16, DType::f32, DType::e4m3}) {
      for (const auto layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
        for (std::int64_t cols = 16; cols <= 65536; cols += 16 * (1 + cols / 256)) {
          for (const bool row_scaled : {false, true}) {
            Request request;
            request.in = in;
            request.out.layout = layout;
            request.cols = cols;
            request.out.row_scaled = row_scaled;
            use(request);
          }
        }
      }
    }
  }
};

// Bounds grow, each kernel can be had, and a request that finds a tensor's amax has a kernel for
// every number of elements up to where the amax is found first.
TEST_F(QuantizeNvfp4Few, EachKernelServesUpToItsBoundAndCanBeHad) {
  std::set<std::string> seen;
  for (const int cc : {80, 89, 90, 100, 120}) {
    const Target target = Target::for_device(cc).front();
    for_each_plain([&](const Request& request) {
      const QuantizeNvfp4Kernels all = kernels(request, gpu(cc, 132));
      // Short rows that find their amax lie side by side, however many there are.
      const bool short_rows = request.out.row_scaled && request.cols <= 512;
      if (cc >= 90) {
        EXPECT_EQ(all.few.empty(), short_rows) << request.cols;
      }
      std::int64_t last = 0;
      for (const auto& [below, wanted] : all.few) {
        EXPECT_GT(below, last) << wanted.name << " " << request.cols;
        last = below;
        if (request.in != DType::bf16) continue;
        const auto made = runtime_->specialize(wanted.name, wanted.bindings, target);
        ASSERT_TRUE(made) << made.error().message();
        seen.insert(made->spelling());
      }
      EXPECT_LE(all.finds_amax, last);
    });
  }
  EXPECT_GT(seen.size(), 500u);
}

// One table serves every GPU: a bound is so many elements for each multiprocessor, or the same on
// all.
TEST_F(QuantizeNvfp4Few, BoundsCountForEachMultiprocessor) {
  for_each_plain([&](const Request& request) {
    if (request.in != DType::bf16) return;
    const auto one = kernels(request, gpu(90, 1)).few, many = kernels(request, gpu(90, 300)).few;
    ASSERT_EQ(one.size(), many.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(many[i].below == 300 * one[i].below || many[i].below == one[i].below);
      EXPECT_EQ(one[i].kernel.bindings, many[i].kernel.bindings);
    }
  });
}

// Before 9.0 are neither clusters nor launches that begin before the one before has ended.
TEST_F(QuantizeNvfp4Few, BeforeNinePointZeroHaveNoClusters) {
  std::size_t seen = 0;
  for_each_plain([&](const Request& request) {
    for (const auto& few : kernels(request, gpu(89, 132)).few) {
      const Value* const cluster = few.kernel.bindings.find("CLUSTER");
      if (cluster == nullptr) continue;
      EXPECT_EQ(cluster->number, 1);
      EXPECT_EQ(few.kernel.bindings.find("NEXT")->word, "elements");
      ++seen;
    }
  });
  EXPECT_GT(seen, 100u);
}

// Without an option that they lack, on a GPU, and with rows as they take them.
TEST_F(QuantizeNvfp4Few, OthersHaveNone) {
  const std::function<void(Request&)> others[] = {
      [](Request& r) { r.rows = RowsClass::any; },
      [](Request& r) { r.out.profile = Profile::modelopt; },
      [](Request& r) { r.four_over_six = FourOverSix::mae; },
      [](Request& r) { r.scales_apart = true; },
      [](Request& r) { r.stochastic = true; },
      [](Request& r) { r.rht = TransformedSides::rowwise; }};
  for (const bool given : {false, true}) {
    Request request;
    request.cols = 2048;
    request.amax_given = given;
    EXPECT_FALSE(kernels(request, gpu(90, 132)).few.empty());
    EXPECT_TRUE(kernels(request, gpu(0, 132)).few.empty());
    for (const auto& change : others) {
      Request other = request;
      change(other);
      EXPECT_TRUE(kernels(other, gpu(90, 132)).few.empty());
    }
  }
}

// What a launch covers: every block of 16 has the threads that take it.
TEST_F(QuantizeNvfp4Few, EveryBlockHasItsThreads) {
  const auto tune = [](const Specialization& one, std::string_view name) {
    return one.tmpl().parameter(name) == nullptr ? 1 : one.number(name);
  };
  for (const std::int64_t cols : {1024, 4096, 5120, 16384, 28672}) {
    for (const bool row_scaled : {false, true}) {
      Request request;
      request.cols = cols;
      request.out.row_scaled = row_scaled;
      request.amax_given = !row_scaled;
      const auto op = PreparedQuantizeNvfp4::prepare(*runtime_, device_, request).value();
      for (const auto& few : kernels(request, device_->properties()).few) {
        const std::int64_t rows = (few.below - 1) / cols;
        if (rows == 0) continue;
        const testing::MatricesWithoutMemory m(rows, cols, row_scaled);
        op.run(m.x, m.out, {}).value();
        const auto& launch = machine_.cuda->launches.back();
        const Specialization& one = op.kernel(rows * cols).specialization();
        ASSERT_EQ(launch.symbol, one.tmpl().name());
        const std::int64_t threads =
            std::int64_t{launch.grid[0]} * launch.grid[1] * launch.block[0];
        EXPECT_GE(threads * tune(one, "BLOCKS"), rows * (cols / 16) * tune(one, "LANES"))
            << one.spelling() << " " << rows;
      }
    }
  }
}

}  // namespace
}  // namespace diecast
