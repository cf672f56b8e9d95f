// The kernels for experts on Hopper have the bits of linear_experts, whatever their tiles and
// whatever ids, offsets or counts say: experts with no row, one, some more than a tile has columns
// or rows, several tiles a thread block; numbers that no routing should have.
#include <diecast/diecast.h>
#include <diecast/kernel_arguments.h>
#include <diecast/launch/tensor_map.h>
#include <diecast/ops/linear/linear_launch.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
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
using Routing = std::vector<std::int32_t>;

// More experts than a warp looks at together; weights whose last 128 rows are not whole.
constexpr std::int64_t kExperts = 37, kRowsOfEach = 80, kRows = kExperts * kRowsOfEach;
constexpr std::int64_t kCols = 456, kDepth = 64 * 9 + 32, kStride = kDepth + 8;
constexpr std::int64_t kFanOut = 3;  // by id
constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();

// Rows of experts one behind another, from row 5 on and to beyond the last.
Routing offsets() {
  constexpr std::int32_t kCounts[] = {0,   1,   32,  33,  63,  64,  65, 0,
                                      127, 128, 129, 192, 193, 256, 257};
  Routing out = {5};
  while (static_cast<std::int64_t>(out.size()) <= kExperts)
    out.push_back(out.back() + kCounts[out.size() % std::size(kCounts)]);
  return out;
}
// All rows of one expert, which is not among the first 32.
Routing offsets_of_one() {
  Routing out(kExperts + 1, 0);
  std::fill(out.begin() + 35, out.end(), static_cast<std::int32_t>(kRows));
  return out;
}
// Decreasing, below 0 and beyond the rows. No row is of two experts.
Routing bad_offsets() {
  Routing out = {kMost, 2000, kMost, 1000, 1700, 400, 700, -7, 3};
  for (std::size_t i = out.size(); i <= kExperts; ++i) out.push_back(i % 2 != 0 ? kLeast : -1);
  return out;
}
Routing counts() {
  Routing out;
  for (std::int32_t i = 0; i < kExperts; ++i) out.push_back(i * 29 % 100 - 10);
  out[3] = kMost, out[33] = kLeast, out[35] = kRowsOfEach;
  return out;
}

// A third of them of one expert; some are of none.
Routing ids(std::int64_t count) {
  std::mt19937_64 random(43);
  Routing out = {34};
  for (std::int64_t i = 1; i < count; ++i)
    out.push_back(static_cast<std::int32_t>(random() % 3 == 0 ? 36 : random() % 42) - 2);
  return out;
}

bool by_id(const Specialization& s) { return variants::word_of(s, "FORM") == "indexed"; }

class ExpertsOnHopper : public GpuDeviceTest {
 protected:
  void SetUp() override {
    GpuDeviceTest::SetUp();
    if (IsSkipped()) return;
    if (device_->properties().cc != 90) GTEST_SKIP() << "wgmma is of compute capability 9.0";
    std::mt19937_64 random(41);
    const auto tiles =
        variants::drawn_tiles(kExperts * ceil_div(2 * kCols, 64) * ceil_div(kDepth, 64), random);
    tiles_.emplace(*device_, tiles.data(), tiles.size());
    x_ = variants::Numbers(DType::bf16, kRows * kStride, 1, random).bytes;
    for (std::int64_t row = 0; row < kRows; ++row)  // what lies between rows of x is NaN
      std::fill_n(x_.begin() + 2 * (row * kStride + kDepth), 2 * (kStride - kDepth),
                  std::uint8_t{0xFF});
    const auto bias = variants::Numbers(DType::bf16, kExperts * 2 * kCols, 1, random).bytes;
    bias_.emplace(*device_, bias.data(), bias.size());
    std::vector<float> factors;
    for (std::int64_t i = 0; i < 2 * kExperts; ++i)
      factors.push_back(static_cast<float>(1 + random() % 8) * 0x1p-8f);
    factors_.emplace(*device_, factors.data(), 4 * factors.size());
  }

  // out, as the kernel of this name makes it. x: kRows rows, by id each of three rows of out.
  std::vector<std::uint8_t> out(const std::string& name, const Bindings& bindings,
                                const Routing& routing, const DeviceBuffer& x) {
    const DeviceBuffer of(*device_, routing.data(), 4 * routing.size());
    const DeviceBuffer out(*device_, static_cast<std::size_t>(kRows * kCols) * 2);
    const auto one = runtime_->specialize_for(name, bindings, *device_).value();
    const auto kernel = runtime_->preload(one, device_).value();
    const args::LinearExperts plain{
        .x = {DType::bf16, x.data_pointer(), kStride},
        .packed = tiles_->data_pointer(),
        .factor = factors_->data_pointer(),
        .routing = {DType::i32, of.data_pointer()},
        .bias = {DType::bf16, variants::flag(one, "HAS_BIAS") ? bias_->data_pointer() : nullptr},
        .out = {DType::bf16, out.data_pointer()},
        .rows = by_id(one) ? static_cast<std::int64_t>(routing.size()) : kRows,
        .cols = kCols,
        .depth = kDepth,
        .experts = kExperts,
        .fan_out = by_id(one) ? kFanOut : 1,
        .expert_map = nullptr,
        .unexpected = nullptr,
        .global_experts = 0};
    const auto map =
        map_boxes(*device_, {DType::bf16, x.data_pointer(), kRows, kDepth, kStride}).value();
    if (name == "linear_experts_wgmma")
      kernel->launch(with_map(plain, map).in_order(), {}).value();
    else
      kernel->launch(plain.in_order(), {}).value();
    EXPECT_TRUE(out.guards_are_whole());
    return out.bytes();
  }
  // Rows of x that nobody has are NaN, found by what linear_experts leaves alone. tunes: of the
  // kernel of this name.
  void expect_same(const std::string& name, const Bindings& layer,
                   const std::vector<LinearKernel::Tunes>& tunes, const Routing& routing) {
    Bindings ids = Bindings(layer).set("IN", "bf16").set("OUT", "bf16"), bindings = ids;
    ids.set("HAS_EXPERT_MAP", false).set("HAS_UNEXPECTED", false);
    if (name == "linear_experts_few") bindings = ids;
    const DeviceBuffer whole(*device_, x_.data(), x_.size());
    const auto first = out("linear_experts", Bindings(ids).set("M_TILE", 32), routing, whole);
    const std::int64_t fan_out = layer.find("FORM")->word == "indexed" ? kFanOut : 1;
    std::vector<std::uint8_t> poisoned = x_;
    std::int64_t owned = 0;
    for (std::int64_t row = 0; row < kRows / fan_out; ++row) {
      const auto at = first.begin() + row * fan_out * kCols * 2, end = at + fan_out * kCols * 2;
      const bool is = std::any_of(at, end, [](auto byte) { return byte != DeviceBuffer::kPoison; });
      if (!is) std::fill_n(poisoned.begin() + row * kStride * 2, kStride * 2, std::uint8_t{0xFF});
      owned += is ? 1 : 0;
    }
    EXPECT_GT(owned, 0);
    const DeviceBuffer x(*device_, poisoned.data(), poisoned.size());
    for (const LinearKernel::Tunes& one : tunes) {
      Bindings tuned = bindings;
      for (const auto& [tune, value] : one) tuned.set(tune, value);
      EXPECT_EQ(out(name, tuned, routing, x), first) << name << ", M_TILE " << one.front().second;
    }
  }

  std::vector<std::uint8_t> x_;
  std::optional<DeviceBuffer> tiles_, bias_, factors_;
};

Bindings plain_layer(std::string_view form, int split) {
  return Bindings().set("FORM", form).set("SPLIT", split).set("HAS_BIAS", false);
}

// M_TILE and WARPGROUPS.
struct Tile {
  int rows, warpgroups;
};

class LinearExpertsWgmma : public ExpertsOnHopper {
 protected:
  void expect(const Bindings& layer, const std::vector<Tile>& tiles, const Routing& routing) {
    std::vector<LinearKernel::Tunes> tunes;
    for (const Tile& tile : tiles)
      tunes.push_back({{"M_TILE", tile.rows}, {"WARPGROUPS", tile.warpgroups}});
    expect_same("linear_experts_wgmma", layer, tunes, routing);
  }
};

TEST_F(LinearExpertsWgmma, HasTheBitsOfLinearExpertsWhateverItsTile) {
  expect(plain_layer("contiguous", 1), {{32, 4}, {64, 4}, {64, 2}, {128, 2}, {192, 2}, {256, 2}},
         offsets());
  expect(plain_layer("contiguous", 2), {{32, 4}, {64, 2}, {128, 2}}, offsets());
}

TEST_F(LinearExpertsWgmma, TakesAllRowsOfOneExpert) {
  expect(plain_layer("contiguous", 1), {{64, 4}, {64, 2}, {256, 2}}, offsets_of_one());
}

TEST_F(LinearExpertsWgmma, TouchesNoRowThatOffsetsOrCountsNameByMistake) {
  expect(plain_layer("contiguous", 1), {{64, 4}, {128, 2}, {256, 2}}, bad_offsets());
  expect(plain_layer("masked", 1), {{64, 4}, {64, 2}, {256, 2}}, counts());
}

TEST_F(LinearExpertsWgmma, HasTheBiasAndTheFactorsOfTheExpert) {
  for (const char* activation : {"relu2", "silu_and_mul", "swiglu_oai"})
    expect(plain_layer("contiguous", 1).set("ACTIVATION", activation).set("HAS_BIAS", true),
           {{64, 4}, {256, 2}}, offsets());
  expect(plain_layer("masked", 4).set("ACTIVATION", "silu_and_mul"), {{32, 4}, {128, 2}}, counts());
}

class LinearExpertsFew : public ExpertsOnHopper {
 protected:
  void expect(const Bindings& layer, const Routing& routing) {
    expect_same("linear_experts_few", layer,
                {{{"M_TILE", 8}, {"STAGES", 2}},
                 {{"M_TILE", 16}, {"N_TILE", 128}, {"STAGES", 3}},
                 {{"M_TILE", 32}, {"N_TILE", 128}, {"STAGES", 3}}},
                routing);
  }
};

TEST_F(LinearExpertsFew, HasTheBitsOfLinearExpertsByIdWhateverItsTile) {
  for (const int split : {1, 2, 8})
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{9}, kExperts - 1, kRows})
      expect(plain_layer("indexed", split), ids(count));
}

TEST_F(LinearExpertsFew, TakesRowsByOffsetsAndCounts) {
  expect(plain_layer("contiguous", 2), offsets());
  expect(plain_layer("contiguous", 2), offsets_of_one());
  expect(plain_layer("masked", 1), counts());
}

TEST_F(LinearExpertsFew, TouchesNoRowThatOffsetsNameByMistake) {
  expect(plain_layer("contiguous", 2), bad_offsets());
}

TEST_F(LinearExpertsFew, HasTheBiasAndTheFactorsOfTheExpert) {
  for (const char* activation : {"relu2", "swiglu_oai"})
    expect(plain_layer("indexed", 4).set("ACTIVATION", activation).set("HAS_BIAS", true),
           ids(kRows));
}

}  // namespace
}  // namespace diecast
