// The steps of a cast: maxima of tiles, agreed on; scales of every weight; codes of the own shards;
// the halves of bytes that two ranks share; and the gathering of the codes.
#include <diecast/base/text.h>
#include <diecast/ops/weights/agreement.h>
#include <diecast/ops/weights/checks.h>
#include <diecast/ops/weights/device_memory.h>
#include <diecast/ops/weights/master_weights.h>

#include <algorithm>
#include <optional>

namespace diecast {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
std::int64_t align_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b * b; }

// The high half of a byte that this rank sends and another one owns the second code of.
struct EdgeMerge {
  std::int64_t byte = 0;  // address in device memory
  std::int64_t edge = 0;  // index in the gathered first codes: rank * weights + weight
};

// One buffer's Gather with the numbers it points to.
struct OwnedGather {
  void* buffer = nullptr;
  std::vector<std::int64_t> offsets, counts;
};

}  // namespace

struct PreparedMasterCast::State {
  std::shared_ptr<Device> device;
  std::shared_ptr<Kernel> partial_amax, fused_scale, partial_cast, merge;
  Communicator* communicator = nullptr;
  std::int64_t weights = 0, ranks = 1;
  WeightTable table;
  DeviceMemory descriptors, merges;
  std::vector<EdgeMerge> own_merges;
  bool edges = false;  // some shard of some rank begins inside a byte
  std::vector<OwnedGather> owned_gathers;
  std::vector<Gather> gathers;
  std::vector<std::int64_t> edge_offsets, edge_counts;

  // Scratch: amaxes of the weights, maxima of the tiles, first codes of every rank.
  std::int64_t amaxes() const { return align_up(weights, 4); }
  std::int64_t floats() const { return amaxes() + table.tiles; }
  std::int64_t scratch_bytes() const { return floats() * kFloat + ranks * weights; }

  Result<void> prepare_alone(Runtime& runtime, const std::vector<ShardedWeight>& list, DType master,
                             const MasterCastOptions& options, Stream stream);
  Result<void> prepare_exchange(const std::vector<ShardedWeight>& list,
                                const std::vector<std::vector<ShardRange>>& of_ranks,
                                bool gather_codes, Stream stream);
  void plan_gather(const QuantizedTensor& weight, const std::vector<ShardStorage>& of_ranks);
  Result<void> find_maxima(float* amaxes, Stream stream) const;
  Result<void> share_edges(std::uint8_t* edges, Stream stream) const;
};

namespace {

// What must be the same on every rank.
Record record_of(std::span<const QuantizedTensor> weights, const MasterCastOptions& options) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  Record record;
  record.add(1, number(weights.size()))
      .add(2, number(options.model))
      .add(3, number(options.gather));
  record.add(4, number(options.padded_scales));
  for (const QuantizedTensor& weight : weights) {
    record.add(5, number(weight.rows())).add(6, number(weight.cols()));
    record.add(7, number(weight.layout));
  }
  return record;
}

DType master_type(std::span<const Tensor> shards, DType model) {
  for (const Tensor& shard : shards) {
    if (shard.data != nullptr) return shard.dtype;
  }
  return model == DType::bf16 ? DType::bf16 : DType::f32;  // a rank without shards launches nothing
}

// The rank whose shard begins where this one ends, inside the same byte; -1 for none.
int next_rank(const std::vector<std::vector<ShardRange>>& of_ranks, std::size_t weight,
              std::int64_t end) {
  for (std::size_t r = 0; r < of_ranks.size(); ++r) {
    const ShardRange& other = of_ranks[r][weight];
    if (!other.empty() && other.begin == end) return static_cast<int>(r);
  }
  return -1;
}

}  // namespace

Result<void> PreparedMasterCast::State::prepare_alone(Runtime& runtime,
                                                      const std::vector<ShardedWeight>& list,
                                                      DType master,
                                                      const MasterCastOptions& options,
                                                      Stream stream) {
  DIECAST_TRY(table, describe_weights(list));
  Bindings types;
  types.set("IN", master).set("MODEL", options.model);
  Bindings layout;
  if (!list.empty()) layout.set("LAYOUT", layout_name(list[0].weight.layout));
  DIECAST_TRY(partial_amax, preload_for(runtime, device, "partial_amax", types));
  DIECAST_TRY(fused_scale, preload_for(runtime, device, "fused_scale", layout));
  DIECAST_TRY(partial_cast, preload_for(runtime, device, "partial_cast", types));
  DIECAST_TRY(merge, preload_for(runtime, device, "merge_edge_codes", {}));
  DIECAST_TRY(descriptors, DeviceMemory::copy_of(device, table.descriptors, stream));
  return {};
}

void PreparedMasterCast::State::plan_gather(const QuantizedTensor& weight,
                                            const std::vector<ShardStorage>& of_ranks) {
  OwnedGather own{weight.rowwise.data, {}, {}};
  for (const ShardStorage& storage : of_ranks) {
    own.offsets.push_back(storage.sent.begin);
    own.counts.push_back(storage.sent.end - storage.sent.begin);
  }
  owned_gathers.push_back(std::move(own));
}

Result<void> PreparedMasterCast::State::prepare_exchange(
    const std::vector<ShardedWeight>& list, const std::vector<std::vector<ShardRange>>& of_ranks,
    bool gather_codes, Stream stream) {
  const auto own_rank =
      static_cast<std::size_t>(communicator == nullptr ? 0 : communicator->rank());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const QuantizedTensor& weight = list[i].weight;
    std::vector<ShardStorage> storage;
    for (const auto& shards : of_ranks) {
      storage.push_back(shard_storage(weight.format, weight.rows(), weight.cols(), shards[i]));
      edges = edges || storage.back().begins_inside_byte;
    }
    const ShardStorage& own = storage[own_rank];
    const int next = own.ends_inside_byte ? next_rank(of_ranks, i, list[i].shard.end) : -1;
    if (next >= 0) {
      const auto base = static_cast<std::int64_t>(table.descriptors[i].member.rowwise.data);
      own_merges.push_back(
          {base + own.touched.end - 1, next * weights + static_cast<std::int64_t>(i)});
    }
    if (gather_codes && weight.rows() * weight.cols() > 0) plan_gather(weight, storage);
  }
  for (const OwnedGather& own : owned_gathers)
    gathers.push_back({own.buffer, own.offsets, own.counts});
  for (std::int64_t r = 0; r < ranks; ++r) edge_offsets.push_back(r * weights);
  edge_counts.assign(static_cast<std::size_t>(ranks), weights);
  DIECAST_TRY(merges, DeviceMemory::copy_of(device, own_merges, stream));
  return {};
}

Result<PreparedMasterCast> PreparedMasterCast::prepare(
    Runtime& runtime, std::span<const QuantizedTensor> model_weights,
    std::span<const Tensor> master_shards, std::span<const std::int64_t> start_offsets,
    Communicator* communicator, const MasterCastOptions& options, Stream stream) {
  auto state = std::make_shared<State>();
  DIECAST_TRY(state->device, device_or_default(runtime, options.device));
  state->communicator = communicator;
  state->weights = static_cast<std::int64_t>(model_weights.size());
  state->ranks = communicator == nullptr ? 1 : communicator->size();
  std::vector<ShardedWeight> list;
  const auto plan_alone = [&]() -> Result<RankPlan> {
    if (options.group_size != 0 && options.group_size != state->ranks) {
      return Error{ErrorCode::invalid_argument,
                   cat("cast_master_weights_to_nvfp4: the group has ", state->ranks,
                       " ranks, the caller expects ", options.group_size),
                   "pass the communicator of the group that the weights are sharded over"};
    }
    DIECAST_TRY(list, sharded_weights(model_weights, master_shards, start_offsets, options));
    DIECAST_CHECK(state->prepare_alone(runtime, list, master_type(master_shards, options.model),
                                       options, stream));
    RankPlan plan{record_of(model_weights, options), {}};
    for (const ShardedWeight& weight : list) plan.shards.push_back(weight.shard);
    return plan;
  };
  const Result<RankPlan> plan = plan_alone();
  DIECAST_TRY(const auto of_ranks, agree(communicator, *state->device, plan, stream));
  std::vector<std::int64_t> elements;
  for (const ShardedWeight& w : list) elements.push_back(w.weight.rows() * w.weight.cols());
  DIECAST_CHECK(check_shards(of_ranks, elements, options.gather));
  const bool gather = options.gather && state->ranks > 1;
  DIECAST_CHECK(state->prepare_exchange(list, of_ranks, gather, stream));
  DIECAST_CHECK(state->device->synchronize(stream));
  PreparedMasterCast prepared;
  prepared.state_ = std::move(state);
  return prepared;
}

std::int64_t PreparedMasterCast::scratch_bytes() const { return state_->scratch_bytes(); }

// Tiles outside the shard's rows stay at the fill's zeros; without such tiles only amaxes, where
// maxima meet, need it.
Result<void> PreparedMasterCast::State::find_maxima(float* amaxes_at, Stream stream) const {
  const std::int64_t cleared = table.owns_all_tiles ? amaxes() : floats();
  DIECAST_CHECK(device->fill(amaxes_at, 0, static_cast<std::size_t>(cleared * kFloat), stream));
  const KernelArgument arguments[] = {
      KernelArgument::tensor(DType::u8, descriptors.data()),
      KernelArgument::tensor(DType::f32, amaxes_at),
      KernelArgument::tensor(DType::f32, amaxes_at + amaxes()),
      KernelArgument::size(weights),
      KernelArgument::size(table.units[static_cast<std::size_t>(UnitKind::shard)]),
      KernelArgument::size(table.tiles)};
  DIECAST_CHECK(partial_amax->launch(arguments, stream));
  if (communicator == nullptr) return {};
  return communicator->all_reduce_max(amaxes_at, floats(), stream);
}

Result<void> PreparedMasterCast::State::share_edges(std::uint8_t* first_codes,
                                                    Stream stream) const {
  if (!edges || communicator == nullptr) return {};
  const Gather gather{first_codes, edge_offsets, edge_counts};
  DIECAST_CHECK(communicator->all_gather({&gather, 1}, stream));
  const KernelArgument arguments[] = {
      KernelArgument::tensor(DType::i64, merges.data()),
      KernelArgument::tensor(DType::u8, first_codes),
      KernelArgument::size(static_cast<std::int64_t>(own_merges.size())),
      KernelArgument::size(ranks * weights)};
  return merge->launch(arguments, stream);
}

Result<void> PreparedMasterCast::run(void* scratch, Stream stream) const {
  const State& s = *state_;
  if (s.weights == 0) return {};
  if (scratch == nullptr || reinterpret_cast<std::uintptr_t>(scratch) % 16 != 0) {
    return Error{scratch == nullptr ? ErrorCode::missing_buffer : ErrorCode::misaligned,
                 cat("cast_master_weights_to_nvfp4: the scratch is ",
                     scratch == nullptr ? "null" : "not at a multiple of 16 bytes"),
                 cat("pass ", s.scratch_bytes(), " bytes of device memory")};
  }
  auto* amaxes = static_cast<float*>(scratch);
  float* tiles = amaxes + s.amaxes();
  auto* first_codes = reinterpret_cast<std::uint8_t*>(amaxes + s.floats());
  const std::int64_t own = s.communicator == nullptr ? 0 : s.communicator->rank();
  DIECAST_CHECK(s.find_maxima(amaxes, stream));
  const auto units = [&](UnitKind kind) {
    return KernelArgument::size(s.table.units[static_cast<std::size_t>(kind)]);
  };
  const auto weights = KernelArgument::tensor(DType::u8, s.descriptors.data());
  const auto count = KernelArgument::size(s.weights),
             tile_count = KernelArgument::size(s.table.tiles);
  const auto of_tiles = KernelArgument::tensor(DType::f32, tiles);
  const KernelArgument scale[] = {weights,
                                  KernelArgument::tensor(DType::f32, amaxes),
                                  of_tiles,
                                  count,
                                  units(UnitKind::scale),
                                  tile_count};
  DIECAST_CHECK(s.fused_scale->launch(scale, stream));
  const KernelArgument cast[] = {weights,
                                 of_tiles,
                                 KernelArgument::tensor(DType::u8, first_codes + own * s.weights),
                                 count,
                                 units(UnitKind::shard),
                                 tile_count};
  DIECAST_CHECK(s.partial_cast->launch(cast, stream));
  DIECAST_CHECK(s.share_edges(first_codes, stream));
  if (s.gathers.empty()) return {};
  return s.communicator->all_gather(s.gathers, stream);
}

Result<void> cast_master_weights_to_nvfp4(Runtime& runtime,
                                          std::span<const QuantizedTensor> model_weights,
                                          std::span<const Tensor> master_shards,
                                          std::span<const std::int64_t> start_offsets,
                                          Communicator* communicator,
                                          const MasterCastOptions& options, Stream stream) {
  DIECAST_TRY(const auto prepared,
              PreparedMasterCast::prepare(runtime, model_weights, master_shards, start_offsets,
                                          communicator, options, stream));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto bytes = static_cast<std::size_t>(prepared.scratch_bytes());
  DIECAST_TRY(const DeviceMemory scratch, DeviceMemory::allocate(device, bytes));
  DIECAST_CHECK(prepared.run(scratch.data(), stream));
  return device->synchronize(stream);
}

}  // namespace diecast
