// linear_wgmma has the bits of linear, whatever its tile, its cluster and the number of rows: over
// many turns of its ring of stages, tiles of out that end early, and several tiles a thread block.
#include <diecast/diecast.h>
#include <diecast/kernel_arguments.h>
#include <diecast/launch/tensor_map.h>
#include <diecast/ops/linear/linear_launch.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"
#include "ops/linear/linear_case.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;

constexpr std::int64_t kCols = 712, kDepth = 64 * 33 + 48;

class LinearWgmma : public GpuDeviceTest {
 protected:
  void SetUp() override {
    GpuDeviceTest::SetUp();
    if (IsSkipped()) return;
    if (device_->properties().cc != 90) GTEST_SKIP() << "wgmma is of compute capability 9.0";
    tiles_.emplace(*device_, packed_.data(), packed_.size());
    factor_.emplace(*device_, &kFactor, sizeof kFactor);
  }

  // out, as the kernel of this name makes it of the first rows of x.
  std::vector<std::uint8_t> out(const std::string& name, std::int64_t rows, Bindings bindings) {
    const DeviceBuffer x(*device_, x_.data(), static_cast<std::size_t>(rows * kDepth) * 2);
    const DeviceBuffer out(*device_, static_cast<std::size_t>(rows * kCols) * 4);
    bindings.set("IN", "bf16").set("OUT", "f32").set("HAS_BIAS", 0).set("HAS_RESIDUAL", 0);
    const auto one = runtime_->specialize_for(name, bindings, *device_).value();
    const auto map =
        map_boxes(*device_, {DType::bf16, x.data_pointer(), rows, kDepth, kDepth}).value();
    const args::Linear plain{.x = {DType::bf16, x.data_pointer(), kDepth},
                             .packed = tiles_->data_pointer(),
                             .factor = factor_->data_pointer(),
                             .bias = {DType::bf16, nullptr},
                             .residual = {DType::f32, nullptr},
                             .out = {DType::f32, out.data_pointer()},
                             .rows = rows,
                             .cols = kCols,
                             .depth = kDepth,
                             .settled = 0};
    const auto kernel = runtime_->preload(one, device_).value();
    if (name == "linear")
      kernel->launch(plain.in_order(), {}).value();
    else
      kernel->launch(with_map(plain, map).in_order(), {}).value();
    EXPECT_TRUE(out.guards_are_whole());
    return out.bytes();
  }

  static constexpr float kFactor = 0x1.8p-5f;
  std::mt19937_64 random_{36};
  const std::vector<std::uint8_t> packed_ =
      variants::drawn_tiles(ceil_div(kCols, 64) * ceil_div(kDepth, 64), random_);
  const std::vector<std::uint8_t> x_ =
      variants::Numbers(DType::bf16, 1500 * kDepth, 1, random_).bytes;
  std::optional<DeviceBuffer> tiles_, factor_;
};

TEST_F(LinearWgmma, HasTheBitsOfLinearWhateverItsTile) {
  struct Tune {
    int split, m_tile, cluster, apart, warpgroups = 2;
  };
  for (const Tune& tune :
       {Tune{1, 64, 1, 0}, Tune{1, 128, 2, 0}, Tune{1, 192, 1, 0}, Tune{1, 256, 2, 0},
        Tune{2, 64, 1, 0}, Tune{2, 128, 2, 0}, Tune{2, 128, 1, 1}, Tune{8, 64, 1, 1},
        Tune{4, 256, 1, 1}, Tune{2, 192, 1, 1}, Tune{1, 32, 1, 0}, Tune{2, 32, 1, 1},
        Tune{1, 32, 1, 0, 4}, Tune{1, 64, 1, 0, 4}, Tune{4, 64, 1, 1, 4}, Tune{8, 32, 1, 1, 4}}) {
    const Bindings split = Bindings{}.set("SPLIT", tune.split);
    Bindings wgmma = split;
    wgmma.set("M_TILE", tune.m_tile).set("CLUSTER", tune.cluster).set("APART", tune.apart);
    wgmma.set("WARPGROUPS", tune.warpgroups);
    for (const std::int64_t rows : {1, 33, 129, 700, 1500})
      EXPECT_EQ(out("linear_wgmma", rows, wgmma), out("linear", rows, split))
          << tune.split << ' ' << tune.m_tile << ' ' << tune.cluster << ' ' << tune.apart << ' '
          << tune.warpgroups << ", " << rows << " rows";
  }
}

}  // namespace
}  // namespace diecast
