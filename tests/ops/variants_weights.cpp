// Runners of the templates for sharded weights: a list of `cols` weights of random shapes and shards,
// each kernel alone against the scalar reference.
#include <diecast/ops/reference/nvfp4_tiles.h>
#include <diecast/ops/weights/descriptor.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {

using Bytes = std::vector<std::uint8_t>;

// One weight on the host: values, codes and scales that mean nothing together.
struct HostWeight {
  std::int64_t rows, cols, tile_rows, tile_cols;
  Bytes values;  // of the shard's type, all elements
  Bytes codes, scales;
  std::int64_t row_bytes() const { return tile_cols * 8; }
  std::uint8_t code(std::int64_t row, std::int64_t col) const {
    if (row >= rows || col >= cols) return 0;
    const unsigned byte = codes[static_cast<std::size_t>(row * row_bytes() + col / 2)];
    return static_cast<std::uint8_t>(col % 2 == 0 ? byte & 15 : byte >> 4);
  }
};

// The whole list, on the host and in device memory.
struct WeightsCase {
  WeightsCase(Kernel& kernel, const Case& one) : device(kernel.device()) {
    const Specialization& s = kernel.specialization();
    master = s.bindings().find("IN") != nullptr ? dtype_of(s, "IN") : DType::f32;
    model = s.bindings().find("MODEL") != nullptr ? dtype_of(s, "MODEL") : DType::bf16;
    const std::string layout =
        s.bindings().find("LAYOUT") != nullptr ? word_of(s, "LAYOUT") : "linear";
    std::mt19937_64 random(one.seed);
    for (std::int64_t i = 0; i < one.cols; ++i) {
      add(1 + static_cast<std::int64_t>(random() % 300) / (i % 4 == 0 ? 1 : 8),
          1 + static_cast<std::int64_t>(random() % (i % 4 == 1 ? 2500 : 80)), layout, random);
    }
    table = describe_weights(list).value();
    const std::size_t bytes = table.descriptors.size() * sizeof(WeightDescriptor);
    descriptors = std::make_unique<DeviceBuffer>(device, table.descriptors.data(), bytes);
  }

  void add(std::int64_t rows, std::int64_t cols, const std::string& layout, std::mt19937_64& random) {
    // Columns of whole vectors in half of the cases, and shards that begin at them.
    if (random() % 2 == 0) cols = (cols + 15) / 16 * 16;
    const std::int64_t grain = random() % 2 == 0 ? 16 : 1, elements = rows * cols;
    HostWeight host{rows, cols, (rows + 15) / 16, (cols + 15) / 16, {}, {}, {}};
    host.values = hostile_values(master, elements, random(), random() % 2 == 0);
    ShardedWeight own;
    own.weight.shape = {rows, cols};
    own.weight.block_rows = 16;
    own.weight.layout = layout == "linear"   ? ScaleLayout::linear
                        : layout == "s128x4" ? ScaleLayout::s128x4
                                             : ScaleLayout::s8x4;
    own.shard.begin = static_cast<std::int64_t>(random() % elements) / grain * grain;
    own.shard.end = own.shard.begin + static_cast<std::int64_t>(random() % (elements - own.shard.begin + 1));
    if (random() % 3 == 0) own.shard = {0, elements};
    own.weight.rowwise = own.weight.rowwise_sizes().value();
    own.weight.columnwise = own.weight.columnwise_sizes().value();
    host.codes.resize(static_cast<std::size_t>(own.weight.rowwise.data_bytes));
    host.scales.resize(static_cast<std::size_t>(own.weight.rowwise.scale_bytes));
    for (auto& byte : host.codes) byte = static_cast<std::uint8_t>(random());
    for (auto& byte : host.scales) byte = static_cast<std::uint8_t>(random() & 0x7F);
    own.weight.rowwise.data = keep(host.codes);
    own.weight.rowwise.scale = keep(host.scales);
    own.weight.rowwise.amax = reinterpret_cast<float*>(keep(Bytes(4, 0x11)));
    own.weight.columnwise.data = keep(Bytes(static_cast<std::size_t>(own.weight.columnwise.data_bytes), 0xA5));
    own.weight.columnwise.scale = keep(Bytes(static_cast<std::size_t>(own.weight.columnwise.scale_bytes), 0xA5));
    own.weight.columnwise.amax = reinterpret_cast<float*>(keep(Bytes(4, 0x22)));
    const std::int64_t bytes = dtype_bits(master) / 8;
    own.values = keep(Bytes(host.values.begin() + own.shard.begin * bytes,
                            host.values.begin() + own.shard.end * bytes));
    list.push_back(own);
    hosts.push_back(std::move(host));
  }
  std::uint8_t* keep(const Bytes& bytes) {
    memory.push_back(std::make_unique<DeviceBuffer>(device, bytes.data(), bytes.size()));
    return memory.back()->data_pointer();
  }
  // What add() kept for weight w, in its order.
  enum Kept { data, scale, amax, column_data, column_scale, column_amax, shard, kKept };
  const DeviceBuffer& buffer(std::size_t w, Kept which) const { return *memory[w * kKept + which]; }

  KernelArgument weights() const { return KernelArgument::tensor(DType::u8, descriptors->data_pointer()); }
  KernelArgument count() const { return KernelArgument::size(static_cast<std::int64_t>(list.size())); }
  KernelArgument units(UnitKind kind) const {
    return KernelArgument::size(table.units[static_cast<std::size_t>(kind)]);
  }
  // Element `at` of weight w, rounded to the model's type.
  float element(std::size_t w, std::int64_t at) const {
    std::uint32_t rounded = 0;
    reference::store(&rounded, model, 0, reference::load(hosts[w].values.data(), master, at));
    return reference::load(&rounded, model, 0);
  }
  std::size_t tile_of(std::size_t w, std::int64_t at) const {
    const HostWeight& h = hosts[w];
    return static_cast<std::size_t>(table.descriptors[w].first_tile +
                                    at / h.cols / 16 * h.tile_cols + at % h.cols / 16);
  }
  // Scales by (row, column of blocks) as the layout stores them.
  template <class Scale>
  Bytes laid_out(const Bytes& size, std::int64_t rows, std::int64_t blocks, std::size_t w, Scale scale) const {
    Bytes out(size.size(), 0);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        out[static_cast<std::size_t>(scale_offset(list[w].weight.layout, row, block, blocks))] = scale(row, block);
      }
    }
    return out;
  }

  Device& device;
  DType master = DType::f32, model = DType::bf16;
  std::vector<HostWeight> hosts;
  std::vector<ShardedWeight> list;
  WeightTable table;
  std::unique_ptr<DeviceBuffer> descriptors;
  std::vector<std::unique_ptr<DeviceBuffer>> memory;
};

KernelArgument floats(const DeviceBuffer& buffer) {
  return KernelArgument::tensor(DType::f32, buffer.data_pointer());
}

std::string compare_floats(const char* name, const DeviceBuffer& got, const std::vector<float>& want) {
  return compare(name, got, want.data(), want.size() * sizeof(float));
}

}  // namespace

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
  const KernelArgument arguments[] = {c.weights(), floats(got_amaxes), floats(got_tiles), c.count(),
                                      c.units(UnitKind::shard), KernelArgument::size(c.table.tiles)};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty()) problem = compare_floats("amaxes", got_amaxes, amaxes);
  return problem.empty() ? compare_floats("tiles", got_tiles, tiles) : problem;
}

std::string fused_scale_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const WeightsCase c(kernel, one);
  std::mt19937_64 random(one.seed);
  std::vector<float> amaxes(c.list.size()), tiles(static_cast<std::size_t>(c.table.tiles));
  for (float& a : amaxes) a = random() % 8 == 0 ? 0.0f : std::ldexp(1.0f, static_cast<int>(random() % 260) - 130);
  for (std::size_t w = 0; w < amaxes.size(); ++w) {
    const std::size_t begin = static_cast<std::size_t>(c.table.descriptors[w].first_tile);
    const std::size_t end = begin + static_cast<std::size_t>(c.hosts[w].tile_rows * c.hosts[w].tile_cols);
    for (std::size_t t = begin; t < end; ++t) tiles[t] = amaxes[w] * static_cast<float>(random() % 1025) / 1024;
    if (random() % 8 == 0) amaxes[w] = INFINITY;
  }
  const DeviceBuffer got_amaxes(c.device, amaxes.data(), amaxes.size() * 4);
  const DeviceBuffer got_tiles(c.device, tiles.data(), tiles.size() * 4);
  const KernelArgument arguments[] = {c.weights(), floats(got_amaxes), floats(got_tiles), c.count(),
                                      c.units(UnitKind::scale), KernelArgument::size(c.table.tiles)};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  for (std::size_t w = 0; w < c.list.size() && problem.empty(); ++w) {
    const HostWeight& h = c.hosts[w];
    const float encode = reference::te_encode_scale(amaxes[w]);
    const std::size_t first = static_cast<std::size_t>(c.table.descriptors[w].first_tile);
    const auto scale = [&](std::int64_t row, std::int64_t block) {
      return reference::te_block_scale(tiles[first + static_cast<std::size_t>(row / 16 * h.tile_cols + block)], encode);
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
  for (float& d : decode) d = random() % 9 == 0 ? 0.0f : std::ldexp(1.0f + static_cast<float>(random() % 64) / 64.0f, static_cast<int>(random() % 12) - 8);
  Bytes edges(c.list.size(), DeviceBuffer::kPoison);
  const DeviceBuffer tiles(c.device, decode.data(), decode.size() * 4), got_edges(c.device, edges.size());
  const KernelArgument arguments[] = {
      c.weights(), floats(tiles), KernelArgument::tensor(DType::u8, got_edges.data_pointer()),
      c.count(), c.units(UnitKind::shard), KernelArgument::size(c.table.tiles)};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  for (std::size_t w = 0; w < c.list.size() && problem.empty(); ++w) {
    const HostWeight& h = c.hosts[w];
    const ShardRange shard = c.list[w].shard;
    Bytes want = h.codes;  // random: every half that is not the shard's must stay
    const auto put = [&](std::int64_t row, std::int64_t col, unsigned code) {
      auto& byte = want[static_cast<std::size_t>(row * h.row_bytes() + col / 2)];
      byte = static_cast<std::uint8_t>(col % 2 == 0 ? (byte & 0xF0) | code : (byte & 0x0F) | code << 4);
    };
    for (std::int64_t at = shard.begin; at < shard.end; ++at) {
      const float d = decode[c.tile_of(w, at)];
      const float factor = d == 0.0f ? 3.4028234663852886e38f : std::fmin(1.0f / d, 3.4028234663852886e38f);
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

std::string transpose_weight_codes_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const WeightsCase c(kernel, one);
  const KernelArgument arguments[] = {c.weights(), c.count(), c.units(UnitKind::transpose)};
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

std::string transpose_weight_scales_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const WeightsCase c(kernel, one);
  const KernelArgument arguments[] = {c.weights(), c.count(), c.units(UnitKind::scale_transpose)};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  for (std::size_t w = 0; w < c.list.size() && problem.empty(); ++w) {
    const HostWeight& h = c.hosts[w];
    const auto scale = [&](std::int64_t row, std::int64_t block) {
      return h.scales[static_cast<std::size_t>(scale_offset(c.list[w].weight.layout, block * 16, row / 16, h.tile_cols))];
    };
    const Bytes size(static_cast<std::size_t>(c.list[w].weight.columnwise.scale_bytes));
    const Bytes want = c.laid_out(size, h.cols, h.tile_rows, w, scale);
    problem = compare("scales", c.buffer(w, WeightsCase::column_scale), want.data(), want.size());
    const Bytes amax(4, 0x11);
    if (problem.empty()) problem = compare("amax", c.buffer(w, WeightsCase::column_amax), amax.data(), 4);
  }
  return problem;
}

std::string merge_edge_codes_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  Device& device = kernel.device();
  std::mt19937_64 random(one.seed);
  Bytes bytes(static_cast<std::size_t>(2 * one.cols + 1)), edges(static_cast<std::size_t>(one.cols + 5));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  for (auto& edge : edges) edge = static_cast<std::uint8_t>(random() % 16);
  const DeviceBuffer got(device, bytes.data(), bytes.size()), codes(device, edges.data(), edges.size());
  std::vector<std::int64_t> merges;
  for (std::int64_t i = 0; i < one.cols; ++i) {
    const auto edge = static_cast<std::int64_t>(random() % edges.size());
    merges.push_back(reinterpret_cast<std::intptr_t>(got.data_pointer()) + 2 * i + 1);
    merges.push_back(edge);
    auto& byte = bytes[static_cast<std::size_t>(2 * i + 1)];
    byte = static_cast<std::uint8_t>((byte & 0x0F) | edges[static_cast<std::size_t>(edge)] << 4);
  }
  const DeviceBuffer list(device, merges.data(), merges.size() * 8);
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::i64, list.data_pointer()),
                                      KernelArgument::tensor(DType::u8, codes.data_pointer()),
                                      KernelArgument::size(one.cols),
                                      KernelArgument::size(static_cast<std::int64_t>(edges.size()))};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("bytes", got, bytes.data(), bytes.size()) : problem;
}

}  // namespace diecast::variants
