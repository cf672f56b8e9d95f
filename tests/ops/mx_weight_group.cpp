// Groups of threads that cast to MXFP8; see mx_weight_group.h.
#include "ops/mx_weight_group.h"

#include <diecast/base/text.h>
#include <diecast/ops/reference/mx.h>

#include <algorithm>

namespace diecast::weights_test {
namespace {

std::int64_t blocks_of(std::int64_t elements) { return (elements + 31) / 32; }
std::int64_t padded_to(std::int64_t grain, std::int64_t n) {
  return (n + grain - 1) / grain * grain;
}

}  // namespace

MxRank::MxRank(const std::shared_ptr<Device>& device, const Model& model, const Bounds& bounds,
               int rank, Format format) {
  for (std::size_t w = 0; w < model.weights.size(); ++w) {
    const Model::Weight& weight = model.weights[w];
    const std::int64_t begin = bounds[w][static_cast<std::size_t>(rank)];
    const std::int64_t count = bounds[w][static_cast<std::size_t>(rank) + 1] - begin;
    QuantizedTensor q;
    q.type.format = format;
    q.type.layout = model.layout;
    q.shape = {weight.rows, weight.cols};
    q.rowwise = q.rowwise_sizes().value();
    q.columnwise = q.columnwise_sizes().value();
    if (model.padded_scales) {
      q.rowwise.scale_bytes =
          padded_to(128, q.shape.rows()) * padded_to(4, blocks_of(q.shape.cols()));
      q.columnwise.scale_bytes =
          padded_to(4, blocks_of(q.shape.rows())) * padded_to(128, q.shape.cols());
    }
    for (QuantizedSide* side : {&q.rowwise, &q.columnwise}) {
      side->data = add(*device, static_cast<std::size_t>(side->data_bytes), model.shift);
      side->scale = add(*device, static_cast<std::size_t>(side->scale_bytes), model.shift);
    }
    const auto element = static_cast<std::size_t>(dtype_bits(model.master) / 8);
    const std::size_t bytes = static_cast<std::size_t>(count) * element;
    std::vector<std::uint8_t> own(bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      reference::store(own.data(), model.master, i,
                       weight.master[static_cast<std::size_t>(begin + i)]);
    }
    void* const values = add(*device, bytes, model.shift * element);
    device->copy_to_device(values, own.data(), bytes, {}).value();
    device->synchronize({}).value();
    weights.push_back(q);
    shards.push_back({count == 0 ? nullptr : values, model.master, Shape{count}, 0, nullptr});
    starts.push_back(begin);
  }
}

void* MxRank::add(Device& device, std::size_t bytes, std::size_t shift) {
  return memory.emplace_back(std::make_unique<DeviceBuffer>(device, bytes, shift))->data_pointer();
}

std::string MxRank::difference(const Model& model, std::size_t w, bool columnwise,
                               bool gathered) const {
  const Model::Weight& weight = model.weights[w];
  std::vector<std::uint8_t> rounded(weight.master.size() * 4);
  for (std::size_t i = 0; i < weight.master.size(); ++i) {
    reference::store(rounded.data(), model.model, static_cast<std::int64_t>(i), weight.master[i]);
  }
  const Tensor whole{rounded.data(), model.model, {weight.rows, weight.cols}};
  reference::MxFormula formula;
  formula.format = weights[w].type.format;
  auto want = reference::quantize_mx(whole, formula, columnwise, false).value();
  const std::size_t first = 5 * w + (columnwise ? 2 : 0);
  for (std::size_t i = 0; i < want.data.size() && !gathered; ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) - starts[w];
    if (at < 0 || at >= shards[w].cols()) want.data[i] = DeviceBuffer::kPoison;
  }
  if (memory[first]->bytes() != want.data) return cat("weight ", w, " data ", columnwise);
  if (!memory[first]->guards_are_whole() || !memory[first + 1]->guards_are_whole())
    return cat("a guard of weight ", w, " was overwritten");
  const std::int64_t rows = columnwise ? weight.cols : weight.rows;
  const std::int64_t blocks = blocks_of(columnwise ? weight.rows : weight.cols);
  const bool by_rows = columnwise && model.layout == ScaleLayout::linear;
  // Of a row of scales as they lie.
  std::int64_t in_row = by_rows ? rows : blocks;
  if (model.padded_scales) in_row = padded_to(by_rows ? 128 : 4, in_row);
  std::vector<std::uint8_t> scales(memory[first + 1]->bytes().size());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t place =
          by_rows ? block * in_row + row : scale_offset(model.layout, row, block, in_row);
      scales[static_cast<std::size_t>(place)] =
          want.scales[static_cast<std::size_t>(row * blocks + block)];
    }
  }
  return memory[first + 1]->bytes() == scales ? "" : cat("weight ", w, " scales ", columnwise);
}

std::string cast_mx_on_ranks(Runtime& runtime, const std::shared_ptr<Device>& device,
                             const Model& model, const Bounds& bounds, Format format, bool gather) {
  const int ranks = static_cast<int>(bounds[0].size()) - 1;
  std::vector<MxRank> own;
  for (int r = 0; r < ranks; ++r) own.emplace_back(device, model, bounds, r, format);
  const auto group = thread_ranks({static_cast<std::size_t>(ranks), device});
  const auto outcomes = on_ranks(ranks, [&](int r) {
    const auto at = static_cast<std::size_t>(r);
    MasterCastOptions options;
    options.device = device;
    options.model = model.model;
    options.gather = gather;
    options.padded_scales = model.padded_scales;
    options.manual_post_all_gather_processing = r % 2 == 0;  // there is nothing to do after
    return cast_master_weights_to_mxfp8(runtime, own[at].weights, own[at].shards, own[at].starts,
                                        group[at].get(), options);
  });
  for (int r = 0; r < ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    if (!outcomes[at]) return outcomes[at].error().message();
    for (std::size_t w = 0; w < model.weights.size(); ++w) {
      for (const bool columnwise : {false, true}) {
        const std::string problem = own[at].difference(model, w, columnwise, gather);
        if (!problem.empty()) return cat("rank ", r, ": ", problem);
      }
    }
  }
  return "";
}

std::string cast_mx_every_bf16_value(Runtime& runtime, const std::shared_ptr<Device>& device) {
  const Model model = Model::patterns(DType::f32, DType::bf16);
  const Bounds bounds(model.weights.size(), {0, 20001, 40002, 65536});
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2}) {
    const std::string problem = cast_mx_on_ranks(runtime, device, model, bounds, format);
    if (!problem.empty()) return cat(word(format), ": ", problem);
  }
  return "";
}

std::string cast_mx_however_cut(Runtime& runtime, const std::shared_ptr<Device>& device) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {
      {64, 96}, {33, 47}, {5, 1100}, {130, 20}, {1, 1}};
  const struct {
    ScaleLayout layout;
    bool padded;
  } places[] = {{ScaleLayout::linear, false},
                {ScaleLayout::linear, true},
                {ScaleLayout::s128x4, false},
                {ScaleLayout::s8x4, false}};
  Bounds bounds;
  for (const auto& [rows, cols] : shapes) {
    const std::int64_t n = rows * cols;
    bounds.push_back({0, n / 3, n / 3, n * 2 / 3, n});
  }
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2}) {
    for (const auto& [layout, padded] : places) {
      Model model = Model::random(shapes, 31, true);
      model.layout = layout;
      model.padded_scales = padded;
      const std::string problem = cast_mx_on_ranks(runtime, device, model, bounds, format);
      if (!problem.empty()) {
        return cat(word(format), " ", word(layout), " ", padded, ": ", problem);
      }
    }
  }
  return "";
}

std::string cast_mx_every_type(Runtime& runtime, const std::shared_ptr<Device>& device) {
  for (const auto& [master, type] : kMasterTypes) {
    Model model = Model::random({{24, 48}, {13, 37}, {70, 33}}, 41, true, master);
    model.model = type;
    const Bounds bounds = {{0, 301, 301, 1152}, {0, 7, 246, 481}, {0, 33, 1000, 2310}};
    for (const bool gather : {false, true}) {
      model.shift = gather ? 1 : 0;
      const std::string problem =
          cast_mx_on_ranks(runtime, device, model, bounds, Format::mxfp8_e4m3, gather);
      if (!problem.empty())
        return cat(dtype_name(master), " to ", dtype_name(type), " ", gather, ": ", problem);
    }
  }
  return "";
}

std::string cast_mx_every_small_cut(Runtime& runtime, const std::shared_ptr<Device>& device) {
  Bounds bounds;
  for (std::int64_t a = 0; a <= 66; ++a)
    bounds.push_back({0, a, std::min<std::int64_t>(a + 5, 66), 66});
  const Model model = Model::random({bounds.size(), {2, 33}}, 1, false);
  return cast_mx_on_ranks(runtime, device, model, bounds, Format::mxfp8_e4m3);
}

std::string cast_mx_nothing_finite(Runtime& runtime, const std::shared_ptr<Device>& device) {
  Model model = Model::extremes();
  const std::vector<std::int64_t> cuts = {0, 3, 3, 181, 360}, none = {0, 0, 0, 0, 0};
  for (const DType type : {DType::bf16, DType::f32}) {
    model.model = type;
    const std::string problem = cast_mx_on_ranks(
        runtime, device, model, {cuts, cuts, cuts, cuts, cuts, none, none}, Format::mxfp8_e4m3);
    if (!problem.empty()) return cat(dtype_name(type), ": ", problem);
  }
  return "";
}

std::string cast_mx_ten_thousand(Runtime& runtime, const std::shared_ptr<Device>& device) {
  const Model model = Model::random({10000, {3, 5}}, 5, true);
  Bounds bounds;
  for (std::int64_t i = 0; i < 10000; ++i) bounds.push_back({0, i % 16, 15});
  return cast_mx_on_ranks(runtime, device, model, bounds, Format::mxfp8_e4m3);
}

std::string cast_mx_last_rows(Runtime& runtime, const std::shared_ptr<Device>& device,
                              std::int64_t rows, std::int64_t cols) {
  const std::int64_t last = 32 * cols, begin = rows * cols - last + 1;
  Model model = Model::random({{32, cols}}, 3, false);
  std::vector<float>& master = model.weights[0].master;
  master[0] = 0.0f;  // is not of the shard
  const DeviceBuffer values(*device, master.data() + 1, (master.size() - 1) * sizeof(float));
  QuantizedTensor weight;
  weight.type.format = Format::mxfp8_e4m3;
  weight.shape = {rows, cols};
  weight.rowwise = weight.rowwise_sizes().value();
  weight.columnwise = weight.columnwise_sizes().value();
  std::vector<std::unique_ptr<DeviceBuffer>> memory;
  const auto take = [&](std::int64_t bytes) {
    memory.push_back(std::make_unique<DeviceBuffer>(*device, static_cast<std::size_t>(bytes)));
    return memory.back()->data_pointer();
  };
  for (QuantizedSide* side : {&weight.rowwise, &weight.columnwise}) {
    side->data = take(side->data_bytes);
    side->scale = take(side->scale_bytes);
  }
  const Tensor shard{values.data_pointer(), DType::f32, Shape{last - 1}};
  MasterCastOptions options;
  options.device = device;
  options.gather = false;
  cast_master_weights_to_mxfp8(runtime, {&weight, 1}, {&shard, 1}, {&begin, 1}, nullptr, options)
      .value();
  std::vector<std::uint16_t> rounded;
  for (const float x : master) rounded.push_back(reference::encode_bf16(x));
  const Tensor whole{rounded.data(), DType::bf16, Shape{32, cols}};
  for (const bool columnwise : {false, true}) {
    auto want = reference::quantize_mx(whole, {}, columnwise, false).value();
    want.data[0] = DeviceBuffer::kPoison;
    const QuantizedSide& side = columnwise ? weight.columnwise : weight.rowwise;
    std::vector<std::uint8_t> codes(want.data.size());
    const auto* from = static_cast<const std::uint8_t*>(side.data) + rows * cols - last;
    device->copy_to_host(codes.data(), from, codes.size(), {}).value();
    device->synchronize({}).value();
    if (codes != want.data) return cat("data ", columnwise);
    std::vector<std::uint8_t> scales(static_cast<std::size_t>(side.scale_bytes));
    std::copy(want.scales.begin(), want.scales.end(),
              scales.end() - static_cast<std::ptrdiff_t>(want.scales.size()));
    if (memory[columnwise ? 3 : 1]->bytes() != scales) return cat("scales ", columnwise);
  }
  return "";
}

}  // namespace diecast::weights_test
