// Casts that the tests on the host and on a GPU make alike; see weight_truths.h.
#include "ops/weight_truths.h"

#include <diecast/base/text.h>

#include <algorithm>
#include <random>

#include "how_many.h"
#include "ops/weight_group.h"

namespace diecast::weights_test {
namespace {

// Every way to cut `elements` into `ranks` shards, one behind another.
Bounds every_split(std::int64_t elements, int ranks) {
  Bounds all;
  std::vector<std::int64_t> bounds(static_cast<std::size_t>(ranks) + 1, 0);
  bounds.back() = elements;
  const auto cut = [&](auto&& self, std::size_t at) -> void {
    if (at + 1 == bounds.size()) return all.push_back(bounds);
    for (bounds[at] = bounds[at - 1]; bounds[at] <= elements; ++bounds[at]) self(self, at + 1);
    bounds[at] = elements;
  };
  cut(cut, 1);
  return all;
}

}  // namespace

std::string cast_every_split(Runtime& runtime, const std::shared_ptr<Device>& device) {
  const struct {
    std::int64_t rows, cols;
    int ranks;
  } cases[] = {{3, 7, 1},  {5, 7, 2}, {17, 17, 2}, {4, 9, 3},
               {2, 16, 3}, {3, 4, 4}, {3, 3, 5},   {2, 4, 5}};
  for (const auto& one : cases) {
    const Bounds bounds = every_split(one.rows * one.cols, one.ranks);
    const Model model = Model::random({bounds.size(), {one.rows, one.cols}}, 1, false);
    const std::string problem = cast_on_ranks(runtime, device, model, bounds, {});
    if (!problem.empty()) return cat(one.rows, "x", one.cols, " in ", one.ranks, ": ", problem);
  }
  return "";
}

std::string cast_with_padded_scales(Runtime& runtime, const std::shared_ptr<Device>& device) {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {{130, 20}, {1, 1}, {16, 4112}};
  for (std::int64_t cols = 16; cols <= 144; cols += 16) shapes.emplace_back(40 + cols, cols - 3);
  Model model = Model::random(shapes, 13, true);
  model.padded_scales = true;
  Bounds bounds;
  for (const auto& [rows, cols] : shapes) bounds.push_back({0, rows * cols / 3, rows * cols});
  GroupCast how;
  how.post = true;
  return cast_on_ranks(runtime, device, model, bounds, how);
}

std::string cast_nothing_finite(Runtime& runtime, const std::shared_ptr<Device>& device) {
  Model model = Model::extremes();
  for (const DType type : {DType::bf16, DType::f32}) {
    model.model = type;
    GroupCast how;
    how.post = true;
    const std::vector<std::int64_t> cuts = {0, 3, 3, 181, 360}, none = {0, 0, 0, 0, 0};
    const std::string problem =
        cast_on_ranks(runtime, device, model, {cuts, cuts, cuts, cuts, cuts, none, none}, how);
    if (!problem.empty()) return cat(dtype_name(type), ": ", problem);
  }
  return "";
}

std::string cast_ten_thousand(Runtime& runtime, const std::shared_ptr<Device>& device) {
  const Model model = Model::random({10000, {3, 5}}, 5, true);
  Bounds bounds;
  std::mt19937 random(1);
  for (std::size_t i = 0; i < 10000; ++i)
    bounds.push_back({0, static_cast<std::int64_t>(random() % 16), 15});
  return cast_on_ranks(runtime, device, model, bounds, {});
}

std::string cast_at_random(Runtime& runtime, const std::shared_ptr<Device>& device) {
  const std::pair<DType, DType> types[] = {{DType::f32, DType::bf16},
                                           {DType::bf16, DType::bf16},
                                           {DType::f32, DType::f16},
                                           {DType::f32, DType::f32}};
  const int rounds = testing::unless_sanitized(testing::how_many(20, 300, 100000));
  for (int round = 0; round < rounds; ++round) {
    const auto seed = static_cast<std::uint64_t>(round);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    const int ranks = 1 + static_cast<int>(below(5));
    std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
    Bounds bounds;
    for (std::int64_t w = below(6); w >= 0; --w) {
      const std::int64_t grain = below(2) == 0 ? 16 : 1;
      shapes.emplace_back(below(70), below(2) == 0 ? below(40) : 16 * below(80));
      const std::int64_t elements = shapes.back().first * shapes.back().second;
      std::vector<std::int64_t> cuts = {0, elements};
      for (int r = 1; r < ranks; ++r) {
        cuts.push_back(below(static_cast<std::uint64_t>(elements) + 1) / grain * grain);
      }
      std::sort(cuts.begin(), cuts.end());
      bounds.push_back(std::move(cuts));
    }
    const auto& [master, type] = types[below(4)];
    Model model = Model::random(shapes, seed, below(2) == 0, master);
    model.model = type;
    model.layout = static_cast<ScaleLayout>(below(3));
    model.padded_scales = model.layout == ScaleLayout::linear && below(2) == 0;
    GroupCast how;
    how.gather = below(3) > 0;
    how.post = how.gather;
    how.callbacks = below(2) == 0;
    if (below(2) == 0) model.shift = static_cast<std::size_t>(how.post ? 4 * below(4) : below(16));
    const std::string problem = cast_on_ranks(runtime, device, model, bounds, how);
    if (!problem.empty()) return cat("seed ", seed, ": ", problem);
  }
  return "";
}

std::string cast_behind_2_to_31(Runtime& runtime, const std::shared_ptr<Device>& device) {
  constexpr std::int64_t kRows = 65552, kCols = 32784, kElements = kRows * kCols;
  constexpr std::int64_t kBegin = kElements - 16 * kCols + 1, kCount = kElements - kBegin;
  static_assert(kBegin > std::int64_t{1} << 31 && kBegin % 2 == 1);
  Model last = Model::random({{16, kCols}}, 3, false);
  last.weights[0].master[0] = 0.0f;  // is not of the shard
  const ShardStorage storage = shard_storage(Format::nvfp4, kRows, kCols, {kBegin, kElements});
  QuantizedTensor weight;
  weight.shape = {kRows, kCols};
  weight.type.square = true;
  weight.rowwise = weight.rowwise_sizes().value();
  const DeviceBuffer master(*device, last.weights[0].master.data() + 1, kCount * sizeof(float)),
      codes(*device, static_cast<std::size_t>(storage.touched.end - storage.touched.begin)),
      scale(*device, static_cast<std::size_t>(weight.rowwise.scale_bytes)), amax(*device, 4);
  weight.rowwise.scale = scale.data_pointer();
  weight.rowwise.amax = reinterpret_cast<float*>(amax.data_pointer());
  void* const fragment = codes.data_pointer();
  const Tensor shard{master.data_pointer(), DType::f32, Shape{kCount}};
  MasterCastOptions options;
  options.device = device;
  options.gather = false;
  options.fragments = {&fragment, 1};
  cast_master_weights_to_nvfp4(runtime, {&weight, 1}, {&shard, 1}, {&kBegin, 1}, nullptr, options)
      .value();
  const reference::Nvfp4 want = last.full_cast(0);
  auto got = codes.bytes();
  const bool kept = (got[0] & 0x0F) == (DeviceBuffer::kPoison & 0x0F);
  got[0] = static_cast<std::uint8_t>((got[0] & 0xF0) | (want.codes[0] & 0x0F));
  if (!kept || got != want.codes || !codes.guards_are_whole()) return "codes differ";
  const auto scales = scale.bytes();
  const auto begun = scales.end() - static_cast<std::ptrdiff_t>(want.scales.size());
  const bool same = std::equal(want.scales.begin(), want.scales.end(), begun) &&
                    std::count(scales.begin(), begun, 0) == begun - scales.begin();
  return same ? "" : "scales differ";
}

}  // namespace diecast::weights_test
