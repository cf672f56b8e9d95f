// Rank 0's share of casting the master weights of a 70B-class model, sharded 8 ways, on a GPU: each
// kernel and all of them against a device-to-device copy, with the bytes that must be moved; and
// the transpose that follows the gathering. Layers are left out where memory does not hold all.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/weights/master_weights.h>
#include <diecast/ops/weights/post_all_gather.h>

#include <algorithm>
#include <chrono>

#include "bench/bench.h"
#include "bench/device.h"

namespace diecast::tool {
namespace {

constexpr int kCastRepeats = 11, kRanks = 8, kLayers = 80;
constexpr std::size_t kCopied = std::size_t{2} << 30;
constexpr std::int64_t kLayer[][2] = {{8192, 8192},  {1024, 8192},  {1024, 8192}, {8192, 8192},
                                      {28672, 8192}, {28672, 8192}, {8192, 28672}};

// Bytes that a kernel must read and write.
struct Moved {
  double read = 0, written = 0;
  double all() const { return read + written; }
};

// Rank 0's weights, shards and scratch. Codes go to fragments: a rank keeps its own part alone.
struct Share {
  std::shared_ptr<Device> device;
  Stream stream;
  double copy_bytes_a_ms = 0;
  std::vector<DeviceMemory> memory;
  std::vector<QuantizedTensor> weights;
  std::vector<Tensor> shards;
  std::vector<std::int64_t> starts;
  std::vector<void*> fragments;
  double shard_elements = 0, scale_bytes = 0;
  WeightTable table;

  Result<void*> take(std::int64_t bytes) {
    DIECAST_TRY(memory.emplace_back(),
                DeviceMemory::allocate(device, static_cast<std::size_t>(bytes)));
    return memory.back().data();
  }
  std::int64_t units(UnitKind kind) const { return table.units[static_cast<std::size_t>(kind)]; }
  Result<void> add(std::int64_t rows, std::int64_t cols, void* values);
  Result<Figure> against_copy(const std::string& what, const Moved& moved, double bound,
                              const std::function<Result<void>()>& call) const;
};

Result<void> Share::add(std::int64_t rows, std::int64_t cols, void* values) {
  const std::int64_t count = rows * cols / kRanks;
  QuantizedTensor weight;
  weight.shape = {rows, cols};
  weight.type.square = true;
  DIECAST_TRY(weight.rowwise, weight.rowwise_sizes());
  DIECAST_TRY(weight.rowwise.scale, take(weight.rowwise.scale_bytes));
  DIECAST_TRY(void* const amax, take(sizeof(float)));
  weight.rowwise.amax = static_cast<float*>(amax);
  DIECAST_TRY(fragments.emplace_back(), take(count / 2));
  shard_elements += static_cast<double>(count);
  scale_bytes += static_cast<double>(weight.rowwise.scale_bytes);
  weights.push_back(weight);
  shards.push_back({values, DType::f32, Shape{count}, 0, nullptr});
  starts.push_back(0);
  return {};
}

Result<Figure> Share::against_copy(const std::string& what, const Moved& moved, double bound,
                                   const std::function<Result<void>()>& call) const {
  DIECAST_TRY(const double ms, median_ms(*device, stream, kCastRepeats, call));
  const auto megabytes = [](double bytes) { return static_cast<std::int64_t>(bytes / 1e6); };
  return Figure{what,
                100 * moved.all() / ms / copy_bytes_a_ms,
                "% of copy",
                bound,
                true,
                cat("reads ", megabytes(moved.read), " MB, writes ", megabytes(moved.written),
                    " MB in ", static_cast<int>(ms * 1000), " us, copy ",
                    static_cast<int>(copy_bytes_a_ms / 1e6), " GB/s")};
}

Result<void> measure_copy(Share& share, std::size_t bytes) {
  DIECAST_TRY(const DeviceMemory a, DeviceMemory::allocate(share.device, bytes));
  DIECAST_TRY(const DeviceMemory b, DeviceMemory::allocate(share.device, bytes));
  DIECAST_TRY(const double ms, median_ms(*share.device, share.stream, kCastRepeats, [&] {
                return share.device->copy_on_device(a.data(), b.data(), bytes, share.stream);
              }));
  share.copy_bytes_a_ms = 2.0 * static_cast<double>(bytes) / ms;
  return {};
}

// As many layers as fit; every shard has values of its own, made of one random stretch.
Result<void> fill(Share& share) {
  std::int64_t layer_elements = 0;
  for (const auto& [rows, cols] : kLayer) layer_elements += rows * cols;
  // f32 shards, their codes, scales and maxima of whole weights.
  const std::int64_t layer_bytes =
      layer_elements / kRanks * 9 / 2 + layer_elements / 16 + layer_elements / 64;
  const std::int64_t room = share.device->properties().memory_bytes / 10 * 7;
  const auto layers = static_cast<int>(std::min<std::int64_t>(kLayers, room / layer_bytes));
  DIECAST_TRY(const BenchMatrix random, bench_matrix(share.device, 1024, 1024, false, 1));
  const std::int64_t values = layer_elements / kRanks * layers;
  DIECAST_TRY(void* const all, share.take(values * 4));
  // bf16 patterns in both halves of an f32: ordinary values, because the high half is one.
  constexpr std::int64_t kStretch = 1024 * 1024 * 2;
  for (std::int64_t at = 0; at < values * 4; at += kStretch) {
    const auto bytes = static_cast<std::size_t>(std::min(kStretch, values * 4 - at));
    DIECAST_CHECK(share.device->copy_on_device(static_cast<std::byte*>(all) + at, random.x.data,
                                               bytes, share.stream));
  }
  std::int64_t next = 0;
  for (int layer = 0; layer < layers; ++layer) {
    for (const auto& [rows, cols] : kLayer) {
      DIECAST_CHECK(share.add(rows, cols, static_cast<float*>(all) + next));
      next += rows * cols / kRanks;
    }
  }
  return share.device->synchronize(share.stream);
}

struct Kernels {
  std::shared_ptr<Kernel> amax, scale, cast;
  DeviceMemory descriptors;
};

Result<Kernels> load_kernels(Runtime& runtime, Share& share) {
  std::vector<ShardedWeight> list;
  for (std::size_t i = 0; i < share.weights.size(); ++i) {
    list.push_back({share.weights[i],
                    share.shards[i].data,
                    {0, share.shards[i].cols()},
                    share.fragments[i],
                    false});
  }
  DIECAST_TRY(share.table, describe_weights(list));
  Kernels kernels;
  Bindings types;
  types.set("IN", DType::f32).set("MODEL", DType::bf16);
  DIECAST_TRY(kernels.amax, preload_for(runtime, share.device, {"partial_amax", types}));
  DIECAST_TRY(kernels.scale, preload_for(runtime, share.device, {"fused_scale", {}}));
  DIECAST_TRY(kernels.cast, preload_for(runtime, share.device, {"partial_cast", types}));
  const std::size_t bytes = share.table.descriptors.size() * sizeof(WeightDescriptor);
  DIECAST_TRY(kernels.descriptors, DeviceMemory::allocate(share.device, bytes));
  DIECAST_CHECK(share.device->copy_to_device(kernels.descriptors.data(),
                                             share.table.descriptors.data(), bytes, share.stream));
  DIECAST_CHECK(share.device->synchronize(share.stream));
  return kernels;
}

// The three kernels alone and together. Maxima of tiles outside the shard are counted as written:
// the ranks' maxima meet in them.
Result<void> bench_steps(Runtime& runtime, Share& share, Figures& figures) {
  DIECAST_TRY(const Kernels kernels, load_kernels(runtime, share));
  MasterCastOptions options;
  options.gather = false;
  options.device = share.device;
  options.fragments = share.fragments;
  DIECAST_TRY(const auto cast,
              PreparedMasterCast::prepare(runtime, share.weights, share.shards, share.starts,
                                          nullptr, options, share.stream));
  DIECAST_TRY(void* const scratch, share.take(cast.scratch_bytes()));
  const auto weights = static_cast<std::int64_t>(share.weights.size());
  auto* amaxes = static_cast<float*>(scratch);
  float* tiles = amaxes + (weights + 3) / 4 * 4;
  const void* const descriptors = kernels.descriptors.data();
  const std::int64_t of_shards = share.units(UnitKind::shard), all_tiles = share.table.tiles;
  const args::PartialAmax partial_amax{.weights = descriptors,
                                       .amaxes = amaxes,
                                       .maxima = tiles,
                                       .count = weights,
                                       .units = of_shards,
                                       .tiles = all_tiles};
  const args::FusedScale fused_scale{.weights = descriptors,
                                     .amaxes = amaxes,
                                     .decode = tiles,
                                     .count = weights,
                                     .units = share.units(UnitKind::scale),
                                     .tiles = all_tiles};
  const args::PartialCast partial_cast{.weights = descriptors,
                                       .decode = tiles,
                                       .edges = tiles + all_tiles,
                                       .count = weights,
                                       .units = of_shards,
                                       .tiles = all_tiles};
  const double tile_bytes = static_cast<double>(share.table.tiles) * 4, own = share.shard_elements;
  const double own_tiles = own / 256 * 4;
  const Moved amax{own * 4, own_tiles}, scale{tile_bytes, tile_bytes + share.scale_bytes};
  const Moved codes{own * 4 + own_tiles, own / 2};
  const Moved all{amax.read + scale.read + codes.read, tile_bytes + scale.written + codes.written};
  DIECAST_TRY(figures.emplace_back(),
              share.against_copy("cast_master_weights, rank 0 of 8", all, 85,
                                 [&] { return cast.run(scratch, share.stream); }));
  DIECAST_TRY(figures.emplace_back(), share.against_copy("partial_amax", amax, 0, [&] {
    return kernels.amax->launch(partial_amax.in_order(), share.stream);
  }));
  DIECAST_TRY(figures.emplace_back(), share.against_copy("fused_scale", scale, 0, [&] {
    return kernels.scale->launch(fused_scale.in_order(), share.stream);
  }));
  DIECAST_TRY(figures.emplace_back(), share.against_copy("partial_cast", codes, 90, [&] {
    return kernels.cast->launch(partial_cast.in_order(), share.stream);
  }));
  Result<void> outcome;
  // A step comes among other calls: after a wait the first one pays for the processor's sleep.
  const double us = median_of(kCastRepeats, [&] {
    if (outcome) outcome = cast.run(scratch, share.stream);
    const auto start = std::chrono::steady_clock::now();
    if (outcome) outcome = cast.run(scratch, share.stream);
    const auto end = std::chrono::steady_clock::now();
    if (outcome) outcome = share.device->synchronize(share.stream);
    return std::chrono::duration<double, std::micro>(end - start).count();
  });
  DIECAST_CHECK(outcome);
  figures.push_back({"cast_master_weights, host time a step", us, "us", 50, false,
                     cat(share.weights.size(), " weights, prepared")});
  return {};
}

// The transpose alone, with one matrix: a byte of code is read and one written for two elements. It
// moves little, so it is held against a copy of as little.
Result<void> bench_transpose(Runtime& runtime, Share& share, Figures& figures) {
  constexpr std::int64_t kRows = 8192, kCols = 28672;
  DIECAST_CHECK(measure_copy(share, kRows * kCols / 2));
  ShardedWeight one;
  one.weight.shape = {kRows, kCols};
  one.weight.type.square = true;
  DIECAST_TRY(one.weight.rowwise.data, share.take(kRows * kCols / 2));
  DIECAST_TRY(one.weight.columnwise.data, share.take(kRows * kCols / 2));
  DIECAST_TRY(const WeightTable table, describe_weights({&one, 1}));
  DIECAST_TRY(void* const descriptor, share.take(sizeof(WeightDescriptor)));
  DIECAST_CHECK(share.device->copy_to_device(descriptor, table.descriptors.data(),
                                             sizeof(WeightDescriptor), share.stream));
  DIECAST_TRY(const auto kernel,
              preload_for(runtime, share.device, {"transpose_weight_codes", {}}));
  const double half = static_cast<double>(kRows * kCols) / 2;
  const args::TransposeWeightCodes arguments{
      .weights = descriptor,
      .count = 1,
      .units = table.units[static_cast<std::size_t>(UnitKind::transpose)]};
  DIECAST_TRY(figures.emplace_back(),
              share.against_copy("transpose_weight_codes 8192x28672", {half, half}, 85, [&] {
                return kernel->launch(arguments.in_order(), share.stream);
              }));
  return {};
}

}  // namespace

Result<Figures> bench_weights(Runtime& runtime) {
  Share share;
  DIECAST_TRY(share.device, runtime.default_device());
  DIECAST_TRY(share.stream, share.device->create_stream());
  Figures figures;
  DIECAST_CHECK(bench_transpose(runtime, share, figures));
  DIECAST_CHECK(measure_copy(share, kCopied));
  DIECAST_CHECK(fill(share));
  DIECAST_CHECK(bench_steps(runtime, share, figures));
  return figures;
}

}  // namespace diecast::tool
