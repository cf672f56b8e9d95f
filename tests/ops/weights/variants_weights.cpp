// Runners of the templates for sharded weights: a list of `cols` weights of random shapes and
// shards, each kernel alone against the scalar reference.
#include <diecast/ops/reference/nvfp4_te.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ops/weights_case.h"

namespace diecast::variants {
namespace {
std::string compare_floats(const char* name, const DeviceBuffer& got,
                           const std::vector<float>& want) {
  return compare(name, got, want.data(), want.size() * sizeof(float));
}

std::string partial_amax_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const WeightsCase c(kernel, one);
  std::vector<float> amaxes(c.list.size()), tiles(static_cast<std::size_t>(c.table.tiles));
  const DeviceBuffer got_amaxes(c.device, amaxes.data(), amaxes.size() * 4);
  const DeviceBuffer got_tiles(c.device, tiles.data(), tiles.size() * 4);
  for (std::size_t w = 0; w < c.list.size(); ++w) {
    for (std::int64_t at = c.list[w].shard.begin; at < c.list[w].shard.end; ++at) {
      const float magnitude = std::fabs(c.element(w, at));
      float& tile = tiles[c.tile_of(w, at)];
      if (magnitude > tile) tile = magnitude;
      if (magnitude > amaxes[w]) amaxes[w] = magnitude;
    }
  }
  const args::PartialAmax arguments{.weights = c.weights(),
                                    .amaxes = got_amaxes.data_pointer(),
                                    .maxima = got_tiles.data_pointer(),
                                    .count = c.count(),
                                    .units = c.units(UnitKind::shard),
                                    .tiles = c.table.tiles};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty()) problem = compare_floats("amaxes", got_amaxes, amaxes);
  return problem.empty() ? compare_floats("tiles", got_tiles, tiles) : problem;
}

std::string fused_scale_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const WeightsCase c(kernel, one);
  std::mt19937_64 random(one.seed);
  std::vector<float> amaxes(c.list.size()), tiles(static_cast<std::size_t>(c.table.tiles));
  for (float& a : amaxes)
    a = random() % 8 == 0 ? 0.0f : std::ldexp(1.0f, static_cast<int>(random() % 260) - 130);
  for (std::size_t w = 0; w < amaxes.size(); ++w) {
    const std::size_t begin = static_cast<std::size_t>(c.table.descriptors[w].first_tile);
    const std::size_t end =
        begin + static_cast<std::size_t>(c.hosts[w].tile_rows * c.hosts[w].tile_cols);
    for (std::size_t t = begin; t < end; ++t)
      tiles[t] = amaxes[w] * static_cast<float>(random() % 1025) / 1024;
    if (random() % 8 == 0) amaxes[w] = INFINITY;
  }
  const DeviceBuffer got_amaxes(c.device, amaxes.data(), amaxes.size() * 4);
  const DeviceBuffer got_tiles(c.device, tiles.data(), tiles.size() * 4);
  const args::FusedScale arguments{.weights = c.weights(),
                                   .amaxes = got_amaxes.data_pointer(),
                                   .decode = got_tiles.data_pointer(),
                                   .count = c.count(),
                                   .units = c.units(UnitKind::scale),
                                   .tiles = c.table.tiles};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  for (std::size_t w = 0; w < c.list.size() && problem.empty(); ++w) {
    const HostWeight& h = c.hosts[w];
    const float encode = reference::te_encode_scale(amaxes[w]);
    const std::size_t first = static_cast<std::size_t>(c.table.descriptors[w].first_tile);
    const auto scale = [&](std::int64_t row, std::int64_t block) {
      return reference::te_block_scale(
          tiles[first + static_cast<std::size_t>(row / 16 * h.tile_cols + block)], encode);
    };
    const Bytes want = c.laid_out(h.scales, h.rows, h.tile_cols, w, scale);
    problem = compare("scales", c.buffer(w, WeightsCase::scale), want.data(), want.size());
    if (problem.empty()) problem = compare("amax", c.buffer(w, WeightsCase::amax), &amaxes[w], 4);
    for (std::int64_t t = 0; t < h.tile_rows * h.tile_cols; ++t) {
      float& decode = tiles[first + static_cast<std::size_t>(t)];
      const float byte = reference::decode_e4m3(reference::te_block_scale(decode, encode));
      decode = byte * reference::te_decode_scale(amaxes[w]);
    }
  }
  return problem.empty() ? compare_floats("decode scales", got_tiles, tiles) : problem;
}

std::string partial_cast_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const WeightsCase c(kernel, one);
  std::mt19937_64 random(one.seed);
  std::vector<float> decode(static_cast<std::size_t>(c.table.tiles));
  for (float& d : decode)
    d = random() % 9 == 0 ? 0.0f
                          : std::ldexp(1.0f + static_cast<float>(random() % 64) / 64.0f,
                                       static_cast<int>(random() % 12) - 8);
  Bytes edges(c.list.size(), DeviceBuffer::kPoison);
  const DeviceBuffer tiles(c.device, decode.data(), decode.size() * 4),
      got_edges(c.device, edges.size());
  const args::PartialCast arguments{.weights = c.weights(),
                                    .decode = tiles.data_pointer(),
                                    .edges = got_edges.data_pointer(),
                                    .count = c.count(),
                                    .units = c.units(UnitKind::shard),
                                    .tiles = c.table.tiles};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  for (std::size_t w = 0; w < c.list.size() && problem.empty(); ++w) {
    const HostWeight& h = c.hosts[w];
    const ShardRange shard = c.list[w].shard;
    Bytes want = h.codes;  // random: every half that is not the shard's must stay
    const auto put = [&](std::int64_t row, std::int64_t col, unsigned code) {
      auto& byte = want[static_cast<std::size_t>(row * h.row_bytes() + col / 2)];
      byte = static_cast<std::uint8_t>(col % 2 == 0 ? (byte & 0xF0) | code
                                                    : (byte & 0x0F) | code << 4);
    };
    for (std::int64_t at = shard.begin; at < shard.end; ++at) {
      const float d = decode[c.tile_of(w, at)];
      const float factor =
          d == 0.0f ? 3.4028234663852886e38f : std::fmin(1.0f / d, 3.4028234663852886e38f);
      const std::uint8_t code = reference::te_code(c.element(w, at), factor);
      put(at / h.cols, at % h.cols, code);
      if (at == shard.begin && at % h.cols % 2 == 1) edges[w] = code;
      if (at % h.cols + 1 < h.cols) continue;
      for (std::int64_t col = h.cols; col < h.tile_cols * 16; ++col) put(at / h.cols, col, 0);
    }
    problem = compare("codes", c.buffer(w, WeightsCase::data), want.data(), want.size());
  }
  return problem.empty() ? compare("edges", got_edges, edges.data(), edges.size()) : problem;
}

std::string transpose_weight_codes_difference(Kernel& kernel, const Case& one,
                                              const Bindings& tunes) {
  const WeightsCase c(kernel, one);
  const args::TransposeWeightCodes arguments{
      .weights = c.weights(), .count = c.count(), .units = c.units(UnitKind::transpose)};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  for (std::size_t w = 0; w < c.list.size() && problem.empty(); ++w) {
    const HostWeight& h = c.hosts[w];
    Bytes want;
    for (std::int64_t col = 0; col < h.cols; ++col) {
      for (std::int64_t row = 0; row < h.tile_rows * 16; row += 2) {
        want.push_back(static_cast<std::uint8_t>(h.code(row, col) | h.code(row + 1, col) << 4));
      }
    }
    problem = compare("codes", c.buffer(w, WeightsCase::column_data), want.data(), want.size());
  }
  return problem;
}

std::string transpose_weight_scales_difference(Kernel& kernel, const Case& one,
                                               const Bindings& tunes) {
  const WeightsCase c(kernel, one);
  const args::TransposeWeightScales arguments{
      .weights = c.weights(), .count = c.count(), .units = c.units(UnitKind::scale_transpose)};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  for (std::size_t w = 0; w < c.list.size() && problem.empty(); ++w) {
    const HostWeight& h = c.hosts[w];
    const auto scale = [&](std::int64_t row, std::int64_t block) {
      return h.scales[static_cast<std::size_t>(scale_offset(
          c.list[w].weight.type.layout, block * 16, row / 16, c.scale_cols(w, h.tile_cols)))];
    };
    const Bytes size(static_cast<std::size_t>(c.list[w].weight.columnwise.scale_bytes));
    const Bytes want = c.laid_out(size, h.cols, h.tile_rows, w, scale);
    problem = compare("scales", c.buffer(w, WeightsCase::column_scale), want.data(), want.size());
    const Bytes amax(4, 0x11);
    if (problem.empty())
      problem = compare("amax", c.buffer(w, WeightsCase::column_amax), amax.data(), 4);
  }
  return problem;
}

std::string merge_edge_codes_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  Device& device = kernel.device();
  std::mt19937_64 random(one.seed);
  Bytes bytes(static_cast<std::size_t>(2 * one.cols + 1)),
      edges(static_cast<std::size_t>(one.cols + 5));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  for (auto& edge : edges) edge = static_cast<std::uint8_t>(random() % 16);
  const DeviceBuffer got(device, bytes.data(), bytes.size()),
      codes(device, edges.data(), edges.size());
  std::vector<std::int64_t> merges;
  for (std::int64_t i = 0; i < one.cols; ++i) {
    const auto edge = static_cast<std::int64_t>(random() % edges.size());
    merges.push_back(reinterpret_cast<std::intptr_t>(got.data_pointer()) + 2 * i + 1);
    merges.push_back(edge);
    auto& byte = bytes[static_cast<std::size_t>(2 * i + 1)];
    byte = static_cast<std::uint8_t>((byte & 0x0F) | edges[static_cast<std::size_t>(edge)] << 4);
  }
  const DeviceBuffer list(device, merges.data(), merges.size() * 8);
  const args::MergeEdgeCodes arguments{.merges = list.data_pointer(),
                                       .edges = codes.data_pointer(),
                                       .count = one.cols,
                                       .gathered = static_cast<std::int64_t>(edges.size())};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("bytes", got, bytes.data(), bytes.size()) : problem;
}

const RunnerFor<args::FusedScale> fused_scale_runner{fused_scale_difference};
const RunnerFor<args::MergeEdgeCodes> merge_edge_codes_runner{merge_edge_codes_difference};
const RunnerFor<args::PartialAmax> partial_amax_runner{partial_amax_difference};
const RunnerFor<args::PartialCast> partial_cast_runner{partial_cast_difference};
const RunnerFor<args::TransposeWeightCodes> transpose_weight_codes_runner{
    transpose_weight_codes_difference};
const RunnerFor<args::TransposeWeightScales> transpose_weight_scales_runner{
    transpose_weight_scales_difference};

}  // namespace
}  // namespace diecast::variants
