// Models cut into shards; see weight_list.h.
#include "ops/weight_list.h"

#include <diecast/base/text.h>
#include <diecast/ops/reference/nvfp4_sides.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "ops/variants.h"

namespace diecast::weights_test {
namespace {

std::vector<std::uint8_t> as_type(const float* values, std::int64_t count, DType type) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(count * dtype_bits(type) / 8));
  for (std::int64_t i = 0; i < count; ++i) reference::store(out.data(), type, i, values[i]);
  return out;
}

std::string difference(const std::string& what, const std::vector<std::uint8_t>& got,
                       const std::vector<std::uint8_t>& want) {
  if (got.size() != want.size()) return cat(what, " has ", got.size(), " bytes, not ", want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i]) continue;
    return cat(what, " differs at byte ", i, " of ", got.size(), ": expected ", int{want[i]},
               ", got ", int{got[i]});
  }
  return "";
}

// Linear scales with padding: 128n rows of 4n columns.
std::int64_t padded_cols(std::int64_t cols) { return (cols + 63) / 64 * 4; }
std::int64_t padded_scale_bytes(std::int64_t rows, std::int64_t cols) {
  return (rows + 127) / 128 * 128 * padded_cols(cols);
}

// Scales as the layout stores them.
std::vector<std::uint8_t> laid_out(const Model& model, const reference::Nvfp4& q) {
  const std::int64_t blocks = (q.cols + 15) / 16;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(
      model.padded_scales ? padded_scale_bytes(q.rows, q.cols)
                          : quantized_scale_bytes(model.layout, q.rows, q.cols, 16).value()));
  const std::int64_t in_row = model.padded_scales ? padded_cols(q.cols) : blocks;
  for (std::int64_t row = 0; row < q.rows; ++row) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      out[static_cast<std::size_t>(scale_offset(model.layout, row, block, in_row))] =
          q.scales[static_cast<std::size_t>(row * blocks + block)];
    }
  }
  return out;
}

}  // namespace

Model Model::random(const std::vector<std::pair<std::int64_t, std::int64_t>>& shapes,
                    std::uint64_t seed, bool specials, DType master) {
  Model model;
  model.master = master;
  for (const auto& [rows, cols] : shapes) {
    Weight weight{rows, cols, std::vector<float>(static_cast<std::size_t>(rows * cols))};
    const auto bytes = variants::hostile_values(master, rows * cols, seed++, specials);
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      weight.master[static_cast<std::size_t>(i)] = reference::load(bytes.data(), master, i);
    }
    model.weights.push_back(std::move(weight));
  }
  return model;
}

Bounds uneven_bounds(const Model& model) {
  Bounds bounds;
  for (const auto& [rows, cols, master] : model.weights) {
    const std::int64_t elements = rows * cols, third = elements / 3 / 16 * 16;
    bounds.push_back({0, third, third, 2 * third + cols % 7, elements});
  }
  return bounds;
}

Model Model::patterns(DType master, DType model) {
  Model out;
  out.master = master;
  out.model = model;
  for (const bool all : {false, true}) {
    Weight weight{256, 256, std::vector<float>(65536)};
    for (std::uint32_t i = 0; i < 65536; ++i) {
      const auto bits = static_cast<std::uint16_t>(all ? i * 40503 : i);
      const float x = reference::load(&bits, model, 0);
      weight.master[i] = all || std::isfinite(x) ? x : 0.0f;
    }
    out.weights.push_back(std::move(weight));
  }
  return out;
}

Model Model::extremes() {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Model model =
      random({{18, 20}, {18, 20}, {18, 20}, {18, 20}, {18, 20}, {0, 20}, {20, 0}}, 3, false);
  const auto fill = [&](std::size_t w, auto value) {
    for (std::size_t i = 0; i < model.weights[w].master.size(); ++i)
      model.weights[w].master[i] = value(i);
  };
  fill(0, [&](std::size_t i) {
    return i % 7 == 0 ? kInfinity : i % 5 == 0 ? -kInfinity : float(i);
  });
  fill(1, [&](std::size_t) { return kNaN; });
  fill(2, [&](std::size_t i) { return i % 2 == 0 ? 0.0f : -0.0f; });
  fill(3, [&](std::size_t i) { return std::ldexp(float(i % 9) - 4.0f, -145); });
  fill(4, [&](std::size_t i) { return i < 40 ? kNaN : i % 3 == 0 ? 3.4e38f : 1e-30f; });
  return model;
}

reference::Nvfp4 Model::full_cast(std::size_t w, bool transposed) const {
  const Weight& weight = weights[w];
  auto cast = as_type(weight.master.data(), weight.rows * weight.cols, model);
  const Tensor x{cast.data(), model, Shape{weight.rows, weight.cols}, 0, nullptr};
  reference::TilesOptions squares;
  squares.square = true;
  const std::vector<float> amax = reference::amax_rowwise(x, squares.nvfp4);
  auto cast_x = transposed ? reference::quantize_columnwise(x, squares, amax)
                           : reference::quantize_rowwise(x, squares, amax);
  const Shape shape =
      transposed ? Shape{weight.cols, weight.rows} : Shape{weight.rows, weight.cols};
  return {shape.rows(), shape.cols(), std::move(cast_x.codes), std::move(cast_x.scales),
          false,        amax};
}

DeviceBuffer* RankWeights::add(std::size_t bytes, std::size_t shift) {
  return memory_.emplace_back(std::make_unique<DeviceBuffer>(*device_, bytes, shift)).get();
}

RankWeights::RankWeights(std::shared_ptr<Device> device, const Model& model, const Bounds& bounds,
                         int rank)
    : device_(std::move(device)) {
  for (std::size_t w = 0; w < model.weights.size(); ++w) {
    const Model::Weight& weight = model.weights[w];
    const auto r = static_cast<std::size_t>(rank);
    const std::int64_t begin = bounds[w][r], count = bounds[w][r + 1] - begin;
    QuantizedTensor q;
    q.shape = {weight.rows, weight.cols};
    q.type.square = true;
    q.type.layout = model.layout;
    q.rowwise = q.rowwise_sizes().value();
    q.columnwise = q.columnwise_sizes().value();
    if (model.padded_scales) {
      q.rowwise.scale_bytes = padded_scale_bytes(weight.rows, weight.cols);
      q.columnwise.scale_bytes = padded_scale_bytes(weight.cols, weight.rows);
    }
    Buffers b{};
    const auto place = [&](QuantizedSide& side, DeviceBuffer*& data, DeviceBuffer*& scale,
                           DeviceBuffer*& amax) {
      const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count); };
      side.data = (data = add(bytes(side.data_bytes), model.shift))->data_pointer();
      side.scale = (scale = add(bytes(side.scale_bytes), model.shift))->data_pointer();
      side.amax = reinterpret_cast<float*>((amax = add(sizeof(float)))->data_pointer());
    };
    place(q.rowwise, b.data, b.scale, b.amax);
    place(q.columnwise, b.column_data, b.column_scale, b.column_amax);
    const auto element = static_cast<std::size_t>(dtype_bits(model.master) / 8);
    b.master = add(static_cast<std::size_t>(count) * element, model.shift * element);
    weights.push_back(q);
    shards.push_back(
        {count == 0 ? nullptr : b.master->data_pointer(), model.master, Shape{count}, 0, nullptr});
    starts.push_back(begin);
    buffers_.push_back(b);
  }
  upload(model);
}

void RankWeights::upload(const Model& model) {
  for (std::size_t w = 0; w < shards.size(); ++w) {
    const auto bytes =
        as_type(model.weights[w].master.data() + starts[w], shards[w].cols(), model.master);
    if (bytes.empty()) continue;
    device_->copy_to_device(shards[w].data, bytes.data(), bytes.size(), {}).value();
    device_->synchronize({}).value();
  }
}

std::string RankWeights::scale_difference(const Model& model, std::size_t w,
                                          bool columnwise) const {
  const reference::Nvfp4 want = model.full_cast(w, columnwise);
  const Buffers& b = buffers_[w];
  const DeviceBuffer& scale = columnwise ? *b.column_scale : *b.scale;
  const DeviceBuffer& amax = columnwise ? *b.column_amax : *b.amax;
  std::vector<std::uint8_t> amax_bytes(sizeof(float));
  std::memcpy(amax_bytes.data(), want.amax.data(), sizeof(float));
  std::string problem = difference("scales", scale.bytes(), laid_out(model, want));
  if (problem.empty()) problem = difference("amax", amax.bytes(), amax_bytes);
  if (problem.empty() && !scale.guards_are_whole())
    problem = "a guard of the scales was overwritten";
  return problem.empty() ? "" : cat("weight ", w, ": ", problem);
}

std::string RankWeights::codes_difference(const Model& model, std::size_t w) const {
  const std::string problem =
      difference("codes", buffers_[w].data->bytes(), model.full_cast(w).codes);
  if (!problem.empty()) return cat("weight ", w, ": ", problem);
  return buffers_[w].data->guards_are_whole() ? "" : "a guard of the codes was overwritten";
}

std::string RankWeights::own_codes_difference(const Model& model, std::size_t w) const {
  const Model::Weight& weight = model.weights[w];
  const std::int64_t count = shards[w].cols();
  const ShardStorage own =
      shard_storage(Format::nvfp4, weight.rows, weight.cols,
                    count == 0 ? ShardRange{} : ShardRange{starts[w], starts[w] + count});
  // The other half of the last byte, which this rank sends, comes from the rank behind it.
  const std::int64_t end_code = own.end_code + (own.ends_inside_byte ? 1 : 0);
  std::vector<std::uint8_t> want = model.full_cast(w).codes;
  for (std::size_t code = 0; code < 2 * want.size(); ++code) {
    const auto at = static_cast<std::int64_t>(code);
    if (at >= own.first_code && at < end_code) continue;
    const unsigned keep = code % 2 == 0 ? 0xF0 : 0x0F;
    auto& byte = want[code / 2];
    byte = static_cast<std::uint8_t>((byte & keep) | (DeviceBuffer::kPoison & ~keep & 0xFF));
  }
  const std::string problem = difference("own codes", buffers_[w].data->bytes(), want);
  if (!problem.empty()) return cat("weight ", w, ": ", problem);
  return buffers_[w].data->guards_are_whole() ? "" : "a guard of the codes was overwritten";
}

std::string RankWeights::columnwise_difference(const Model& model, std::size_t w) const {
  const reference::Nvfp4 want = model.full_cast(w, true);
  std::string problem =
      difference("columnwise codes", buffers_[w].column_data->bytes(), want.codes);
  if (problem.empty()) problem = scale_difference(model, w, true);
  if (problem.empty() && !buffers_[w].column_data->guards_are_whole())
    problem = "a guard was overwritten";
  return problem.empty() ? "" : cat("weight ", w, " columnwise: ", problem);
}

bool RankWeights::is_untouched() const {
  for (const Buffers& b : buffers_) {
    for (const DeviceBuffer* buffer :
         {b.data, b.scale, b.amax, b.column_data, b.column_scale, b.column_amax}) {
      const auto bytes = buffer->bytes();
      const auto count = std::count(bytes.begin(), bytes.end(), DeviceBuffer::kPoison);
      if (count != static_cast<std::ptrdiff_t>(bytes.size()) || !buffer->guards_are_whole())
        return false;
    }
  }
  return true;
}

std::vector<Result<void>> on_ranks(int ranks, const std::function<Result<void>(int)>& body) {
  std::vector<Result<void>> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] { outcomes[static_cast<std::size_t>(r)] = body(r); });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

}  // namespace diecast::weights_test
