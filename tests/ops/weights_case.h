// A list of weights of random shapes and shards, on the host and in device memory, for the runners
// of the templates for sharded weights.
#pragma once

#include <diecast/ops/weights/descriptor.h>

#include <random>

#include "ops/variant_case.h"

namespace diecast::variants {

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
  WeightsCase(Kernel& kernel, const Case& one, bool mxfp8 = false)
      : device(kernel.device()), mx(mxfp8) {
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

  void add(std::int64_t rows, std::int64_t cols, const std::string& layout,
           std::mt19937_64& random) {
    // Columns of whole vectors in half of the cases, and shards that begin at them.
    if (random() % 2 == 0) cols = (cols + 15) / 16 * 16;
    const std::int64_t grain = random() % 2 == 0 ? 16 : 1, elements = rows * cols;
    HostWeight host{rows, cols, (rows + 15) / 16, (cols + 15) / 16, {}, {}, {}};
    host.values = hostile_values(master, elements, random(), random() % 2 == 0);
    ShardedWeight own;
    own.weight.shape = {rows, cols};
    if (mx) {
      own.weight.type.format = Format::mxfp8_e4m3;
    } else {
      own.weight.type.square = true;
    }
    own.weight.type.layout = layout == "linear"   ? ScaleLayout::linear
                             : layout == "s128x4" ? ScaleLayout::s128x4
                                                  : ScaleLayout::s8x4;
    own.shard.begin = static_cast<std::int64_t>(random() % elements) / grain * grain;
    own.shard.end =
        own.shard.begin + static_cast<std::int64_t>(random() % (elements - own.shard.begin + 1));
    if (random() % 3 == 0) own.shard = {0, elements};
    own.weight.rowwise = own.weight.rowwise_sizes().value();
    own.weight.columnwise = own.weight.columnwise_sizes().value();
    own.padded_scales = !mx && layout == "linear" && random() % 3 == 0;
    if (own.padded_scales) {
      const auto padded = [](std::int64_t a, std::int64_t b) {
        return (a + 127) / 128 * 128 * ((b + 63) / 64 * 4);
      };
      own.weight.rowwise.scale_bytes = padded(rows, cols);
      own.weight.columnwise.scale_bytes = padded(cols, rows);
    }
    host.codes.resize(static_cast<std::size_t>(own.weight.rowwise.data_bytes));
    host.scales.resize(static_cast<std::size_t>(own.weight.rowwise.scale_bytes));
    for (auto& byte : host.codes) byte = static_cast<std::uint8_t>(random());
    for (auto& byte : host.scales) byte = static_cast<std::uint8_t>(random() & 0x7F);
    own.weight.rowwise.data = keep(host.codes);
    own.weight.rowwise.scale = keep(host.scales);
    own.weight.rowwise.amax = reinterpret_cast<float*>(keep(Bytes(4, 0x11)));
    own.weight.columnwise.data =
        keep(Bytes(static_cast<std::size_t>(own.weight.columnwise.data_bytes), 0xA5));
    own.weight.columnwise.scale =
        keep(Bytes(static_cast<std::size_t>(own.weight.columnwise.scale_bytes), 0xA5));
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

  const void* weights() const { return descriptors->data_pointer(); }
  std::int64_t count() const { return static_cast<std::int64_t>(list.size()); }
  std::int64_t units(UnitKind kind) const { return table.units[static_cast<std::size_t>(kind)]; }
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
  // Columns of weight w's scale matrix for so many blocks, those of the padding included.
  std::int64_t scale_cols(std::size_t w, std::int64_t blocks) const {
    return list[w].padded_scales ? (blocks + 3) / 4 * 4 : blocks;
  }
  // Scales by (row, column of blocks) as the layout stores them.
  template <class Scale>
  Bytes laid_out(const Bytes& size, std::int64_t rows, std::int64_t blocks, std::size_t w,
                 Scale scale) const {
    Bytes out(size.size(), 0);
    const std::int64_t in_row = scale_cols(w, blocks);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        out[static_cast<std::size_t>(
            scale_offset(list[w].weight.type.layout, row, block, in_row))] = scale(row, block);
      }
    }
    return out;
  }

  Device& device;
  bool mx;  // in MXFP8, not in NVFP4
  DType master = DType::f32, model = DType::bf16;
  std::vector<HostWeight> hosts;
  std::vector<ShardedWeight> list;
  WeightTable table;
  std::unique_ptr<DeviceBuffer> descriptors;
  std::vector<std::unique_ptr<DeviceBuffer>> memory;
};

}  // namespace diecast::variants
