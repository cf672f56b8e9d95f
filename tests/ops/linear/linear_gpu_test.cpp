// The kernels of a linear layer on a GPU: every weight comes back through identity, and a row has
// the same bits whichever kernel makes it, among however many others.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"
#include "ops/linear/drawn_layer.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;

class LinearOnGpu : public GpuDeviceTest {
 protected:
  bool is_hopper() const { return device_->properties().cc == 90; }

  // The first `rows` rows' sums, as f32 bits.
  std::vector<std::uint32_t> run(const std::string& name, const DrawnLayer& layer,
                                 std::int64_t rows, Bindings bindings) {
    const std::int64_t cols = layer.weight.rows, depth = layer.weight.cols;
    const DeviceBuffer x(*device_, layer.x.data(), static_cast<std::size_t>(rows * depth) * 2);
    const DeviceBuffer packed(*device_, layer.packed.data(), layer.packed.size());
    const float one = 1.0f;
    const DeviceBuffer factor(*device_, &one, sizeof one);
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(rows * cols));
    const DeviceBuffer out(*device_, sums.size() * 4);
    const auto runtime = test_runtime();
    bindings.set("FORMAT", layer.weight.format == Format::nvfp4 ? "nvfp4" : "mxfp4");
    bindings.set("IN", "bf16").set("OUT", "f32").set("HAS_BIAS", false).set("HAS_RESIDUAL", false);
    const auto one_kernel = runtime->specialize_for(name, bindings, *device_).value();
    const auto launched =
        runtime->preload(one_kernel, device_)
            .value()
            ->launch({{"x", KernelArgument::tensor(DType::bf16, x.data_pointer(), depth)},
                      {"packed", packed.argument(DType::u8)},
                      {"factor", factor.argument(DType::f32)},
                      {"bias", KernelArgument::tensor(DType::bf16, nullptr)},
                      {"residual", KernelArgument::tensor(DType::f32, nullptr)},
                      {"out", out.argument(DType::f32)},
                      {"rows", KernelArgument::size(rows)},
                      {"cols", KernelArgument::size(cols)},
                      {"depth", KernelArgument::size(depth)},
                      {"settled", KernelArgument::scalar(0)}},
                     {});
    if (!launched) ADD_FAILURE() << launched.error().message();
    std::memcpy(sums.data(), out.bytes().data(), sums.size() * 4);
    EXPECT_TRUE(out.guards_are_whole());
    return sums;
  }

  // What the op makes of `bound` rows of which `count` count, as f32 bits.
  std::vector<std::uint32_t> counted(const DrawnLayer& layer, std::int64_t bound,
                                     std::int64_t count, int split) {
    const std::int64_t cols = layer.weight.rows, depth = layer.weight.cols;
    std::vector<std::uint16_t> words(layer.x.begin(), layer.x.begin() + bound * depth);
    const std::int64_t rows = std::clamp(count, std::int64_t{0}, bound);
    std::fill(words.begin() + rows * depth, words.end(), std::uint16_t{0xFFFF});
    const DeviceBuffer x(*device_, words.data(), words.size() * 2);
    const DeviceBuffer packed(*device_, layer.packed.data(), layer.packed.size());
    const float one = 1.0f;
    const DeviceBuffer factor(*device_, &one, sizeof one), of_rows(*device_, &count, sizeof count);
    std::vector<std::uint32_t> out(static_cast<std::size_t>(bound * cols));
    const DeviceBuffer of_out(*device_, out.size() * 4);
    const auto made =
        linear(*test_runtime(),
               {.data = x.data_pointer(),
                .dtype = DType::bf16,
                .shape = {bound, depth},
                .device_rows = reinterpret_cast<const std::int64_t*>(of_rows.data_pointer())},
               {.shape = Shape{cols, depth},
                .data = packed.data_pointer(),
                .bytes = static_cast<std::int64_t>(layer.packed.size())},
               reinterpret_cast<const float*>(factor.data_pointer()),
               {.data = of_out.data_pointer(), .dtype = DType::f32, .shape = {bound, cols}},
               {.split = split, .device = device_});
    if (!made) ADD_FAILURE() << made.error().message();
    std::memcpy(out.data(), of_out.bytes().data(), out.size() * 4);
    EXPECT_TRUE(of_out.guards_are_whole());
    return out;
  }

  // The fewest rows that each kernel serves.
  std::vector<std::int64_t> served(int split, std::int64_t cols, std::int64_t depth,
                                   std::int64_t most) const {
    const auto table = LinearRequest{.split = split}.table(device_->properties());
    std::vector<std::int64_t> out(table.size());
    for (std::int64_t rows = most; rows > 0; --rows)
      out[soonest_of(table, {rows, cols, depth})] = rows;
    std::erase(out, 0);
    return out;
  }
};

TEST_F(LinearOnGpu, IdentityReadsEveryWeight) {
  for (const Format format : {Format::nvfp4, Format::mxfp4}) {
    constexpr std::int64_t kDepth = 160, kCols = 200;
    DrawnLayer layer(format, kCols, kDepth, kDepth);
    for (std::int64_t i = 0; i < kDepth * kDepth; ++i)
      layer.x[static_cast<std::size_t>(i)] = i % (kDepth + 1) == 0 ? 0x3F80 : 0;
    for (const char* name : {"linear", "linear_few"}) {
      if (name == std::string("linear_few") && !is_hopper()) continue;
      const auto sums = run(name, layer, kDepth, {});
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < kDepth * kCols; ++i) {
        float sum;
        std::memcpy(&sum, &sums[static_cast<std::size_t>(i)], sizeof sum);
        wrong += sum != layer.weight.value(i % kCols, i / kCols) ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0) << name;
    }
  }
}

TEST_F(LinearOnGpu, ARowHasItsBitsInEveryKernelAndAmongAnyOthers) {
  if (!is_hopper()) GTEST_SKIP() << "linear_few is of compute capability 9.0";
  struct Tunes {
    int m_tile, n_tile, stages;
  };
  // Depths of whole stages, of part of one, of less than a tile for the last part.
  for (const std::int64_t depth : {2048, 1056, 176}) {
    const DrawnLayer layer(Format::nvfp4, 328, depth, 70);
    for (const int split : {1, 2, 4, 8}) {
      const Bindings bindings = Bindings{}.set("SPLIT", split);
      const auto whole = run("linear", layer, 70, bindings);
      for (const std::int64_t rows : {1, 7, 33}) {
        auto some = run("linear", layer, rows, Bindings(bindings).set("M_TILE", 32));
        EXPECT_TRUE(std::equal(some.begin(), some.end(), whole.begin())) << depth << " " << split;
      }
      for (const Tunes& of : {Tunes{8, 64, 2}, Tunes{16, 128, 4}, Tunes{32, 128, 3}})
        for (const std::int64_t rows : {1, 7, 16, 33, 70}) {
          auto tuned = Bindings(bindings).set("M_TILE", of.m_tile).set("N_TILE", of.n_tile);
          tuned.set("STAGES", of.stages);
          const auto some = run("linear_few", layer, rows, tuned);
          EXPECT_TRUE(std::equal(some.begin(), some.end(), whole.begin()))
              << rows << " rows of " << depth << " in " << split << ", M_TILE " << of.m_tile;
        }
    }
  }
}

// By the kernels for few rows, and one for many.
TEST_F(LinearOnGpu, TheOpGivesARowItsBitsAmongAnyOthers) {
  constexpr std::int64_t kCols = 200, kDepth = 2112, kRows = 600;
  const DrawnLayer layer(Format::nvfp4, kCols, kDepth, kRows);
  const DeviceBuffer x(*device_, layer.x.data(), layer.x.size() * 2);
  const DeviceBuffer packed(*device_, layer.packed.data(), layer.packed.size());
  const float one = 1.0f;
  const DeviceBuffer factor(*device_, &one, sizeof one);
  const PackedLinear weight{.shape = Shape{kCols, kDepth},
                            .data = packed.data_pointer(),
                            .bytes = static_cast<std::int64_t>(layer.packed.size())};
  for (const int split : {1, 2}) {
    const auto rows_of = [&](std::int64_t rows) {
      const DeviceBuffer out(*device_, static_cast<std::size_t>(rows * kCols) * 4);
      const auto made =
          linear(*test_runtime(),
                 {.data = x.data_pointer(), .dtype = DType::bf16, .shape = {rows, kDepth}}, weight,
                 reinterpret_cast<const float*>(factor.data_pointer()),
                 {.data = out.data_pointer(), .dtype = DType::f32, .shape = {rows, kCols}},
                 {.split = split, .device = device_});
      if (!made) ADD_FAILURE() << made.error().message();
      return out.bytes();
    };
    const auto all = rows_of(kRows);
    for (const std::int64_t rows : {1, 8, 9, 16, 17, 32, 33, 64, 65, 256, 257}) {
      const auto some = rows_of(rows);
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << rows << ", " << split;
    }
  }
}

// By every kernel of a weight of this size, rows of NaN behind those that count.
TEST_F(LinearOnGpu, RowsThatTheDeviceCountsHaveTheirBitsAndOthersAreKept) {
  constexpr std::int64_t kCols = 2112, kDepth = 2112, kRows = 1400;
  DrawnLayer layer(Format::nvfp4, kCols, kDepth, kRows);
  for (const int split : {1, 2, 4, 8}) {
    const auto all = run("linear", layer, kRows, Bindings{}.set("SPLIT", split));
    for (const std::int64_t bound : served(split, kCols, kDepth, kRows)) {
      for (const std::int64_t count : {std::int64_t{-9}, std::int64_t{1}, bound / 2, bound + 9}) {
        const std::int64_t rows = std::clamp(count, std::int64_t{0}, bound);
        const auto out = counted(layer, bound, count, split);
        const auto end = out.begin() + rows * kCols;
        EXPECT_TRUE(std::equal(out.begin(), end, all.begin())) << count << " of " << bound;
        EXPECT_TRUE(std::all_of(end, out.end(), [](auto word) { return word == 0xA5A5A5A5; }))
            << count << " of " << bound << ", split " << split;
      }
    }
  }
}

}  // namespace
}  // namespace diecast
