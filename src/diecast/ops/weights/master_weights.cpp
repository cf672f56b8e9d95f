// Preparing casts of master weights: what one rank does alone, what all agree on, and what they
// will exchange. Running one is master_cast_run.cpp.
#include <diecast/base/text.h>
#include <diecast/launch/device_memory.h>
#include <diecast/ops/weights/agreement.h>
#include <diecast/ops/weights/checks.h>
#include <diecast/ops/weights/master_cast_state.h>
#include <diecast/ops/weights/master_weights.h>

namespace diecast {
namespace {

constexpr WeightFamily kNvfp4{false, "cast_master_weights_to_nvfp4"};
constexpr WeightFamily kMxfp8{true, "cast_master_weights_to_mxfp8"};

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
    record.add(7, number(weight.type.layout)).add(8, number(weight.type.format));
  }
  return record;
}

// A shard without elements may have any address, and type.
DType master_type(std::span<const Tensor> shards, DType model) {
  for (const Tensor& shard : shards) {
    if (shard.rows() * shard.cols() > 0) return shard.dtype;
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

std::vector<KernelWanted> MasterCastRequest::kernels(const DeviceProperties&) const {
  const bool mx = format != Format::nvfp4;
  return {kernel_of(mx ? "mx_partial_amax" : "partial_amax", *this),
          kernel_of(mx ? "mx_fused_scale" : "fused_scale", *this),
          kernel_of(mx ? "mx_partial_cast" : "partial_cast", *this),
          {"merge_edge_codes", {}}};
}

Result<void> PreparedMasterCast::State::prepare_alone(Runtime& runtime,
                                                      const std::vector<ShardedWeight>& list,
                                                      DType master,
                                                      const MasterCastOptions& options,
                                                      Stream stream) {
  DIECAST_TRY(table, describe_weights(list));
  MasterCastRequest request{.master = master, .model = options.model};
  if (family.mx) request.format = Format::mxfp8_e4m3;
  if (!list.empty()) {
    request.format = list[0].weight.type.format;
    request.layout = list[0].weight.type.layout;
  }
  DIECAST_TRY(const auto kernels,
              preload_all_for(runtime, device, request.kernels(device->properties())));
  partial_amax = kernels[0], fused_scale = kernels[1];
  partial_cast = kernels[2], merge = kernels[3];
  DIECAST_TRY(descriptors, DeviceMemory::copy_of(device, table.descriptors, stream));
  // At most one a weight: which ones is known when the ranks have agreed, and then nothing is
  // allocated any more, because no rank could tell the others that it failed.
  DIECAST_TRY(merges, DeviceMemory::allocate(device, list.size() * sizeof(EdgeMerge)));
  return {};
}

void PreparedMasterCast::State::plan_gather(void* data, const std::vector<ShardStorage>& of_ranks) {
  OwnedGather own{data, {}, {}};
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
      storage.push_back(shard_storage(weight.type.format, weight.rows(), weight.cols(), shards[i]));
      edges = edges || storage.back().begins_inside_byte;
    }
    const ShardStorage& own = storage[own_rank];
    const int next = own.ends_inside_byte ? next_rank(of_ranks, i, list[i].shard.end) : -1;
    if (next >= 0) {
      const auto base = static_cast<std::int64_t>(table.descriptors[i].member.rowwise.data);
      own_merges.push_back(
          {base + own.touched.end - 1, next * weights + static_cast<std::int64_t>(i)});
    }
    if (!gather_codes || weight.rows() * weight.cols() == 0) continue;
    plan_gather(weight.rowwise.data, storage);
    if (family.mx) plan_gather(weight.columnwise.data, storage);
  }
  for (const OwnedGather& own : owned_gathers)
    gathers.push_back({own.buffer, own.offsets, own.counts});
  for (std::int64_t r = 0; r < ranks; ++r) edge_offsets.push_back(r * weights);
  edge_counts.assign(static_cast<std::size_t>(ranks), weights);
  if (own_merges.empty()) return {};
  return device->copy_to_device(merges.data(), own_merges.data(),
                                own_merges.size() * sizeof(EdgeMerge), stream);
}

Result<PreparedMasterCast> PreparedMasterCast::prepare_family(
    const WeightFamily& family, Runtime& runtime, std::span<const QuantizedTensor> model_weights,
    std::span<const Tensor> master_shards, std::span<const std::int64_t> start_offsets,
    Communicator* communicator, const MasterCastOptions& options, Stream stream,
    DeviceMemory* scratch) {
  auto state = std::make_shared<State>();
  DIECAST_TRY(state->device, device_or_default(runtime, options.device));
  state->family = family;
  state->communicator = communicator;
  state->weights = static_cast<std::int64_t>(model_weights.size());
  state->ranks = communicator == nullptr ? 1 : communicator->size();
  DIECAST_TRY(Agreement agreement, Agreement::open(communicator, state->device));
  std::vector<ShardedWeight> list;
  const auto plan_alone = [&]() -> Result<RankPlan> {
    if (options.fault != nullptr) return *options.fault;
    if (options.group_size != 0 && options.group_size != state->ranks) {
      return Error{ErrorCode::invalid_argument,
                   cat(family.op, ": the group has ", state->ranks, " ranks, the caller expects ",
                       options.group_size),
                   "pass the communicator of the group that the weights are sharded over"};
    }
    DIECAST_TRY(list,
                sharded_weights(family, model_weights, master_shards, start_offsets, options));
    DIECAST_CHECK(state->prepare_alone(runtime, list, master_type(master_shards, options.model),
                                       options, stream));
    if (scratch != nullptr) {
      const auto bytes = static_cast<std::size_t>(state->scratch_bytes());
      DIECAST_TRY(*scratch, DeviceMemory::allocate(state->device, bytes));
    }
    DIECAST_CHECK(agreement.reserve(list.size()));
    RankPlan plan{record_of(model_weights, options), {}};
    for (const ShardedWeight& weight : list) plan.shards.push_back(weight.shard);
    return plan;
  };
  const Result<RankPlan> plan = plan_alone();
  DIECAST_TRY(const auto of_ranks, agreement.agree(plan, stream));
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

Result<PreparedMasterCast> PreparedMasterCast::prepare(
    Runtime& runtime, std::span<const QuantizedTensor> model_weights,
    std::span<const Tensor> master_shards, std::span<const std::int64_t> start_offsets,
    Communicator* communicator, const MasterCastOptions& options, Stream stream) {
  const bool mx = !model_weights.empty() && model_weights[0].type.format != Format::nvfp4;
  return prepare_family(mx ? kMxfp8 : kNvfp4, runtime, model_weights, master_shards, start_offsets,
                        communicator, options, stream, nullptr);
}

std::int64_t PreparedMasterCast::scratch_bytes() const {
  return state_ == nullptr ? 0 : state_->scratch_bytes();
}

Result<void> PreparedMasterCast::cast_once(const WeightFamily& family, Runtime& runtime,
                                           std::span<const QuantizedTensor> model_weights,
                                           std::span<const Tensor> master_shards,
                                           std::span<const std::int64_t> start_offsets,
                                           Communicator* communicator,
                                           const MasterCastOptions& options, Stream stream) {
  DeviceMemory scratch;
  DIECAST_TRY(const auto prepared,
              prepare_family(family, runtime, model_weights, master_shards, start_offsets,
                             communicator, options, stream, &scratch));
  DIECAST_CHECK(prepared.run(scratch.data(), stream));
  return prepared.state_->device->synchronize(stream);
}

Result<void> cast_master_weights_to_nvfp4(Runtime& runtime,
                                          std::span<const QuantizedTensor> model_weights,
                                          std::span<const Tensor> master_shards,
                                          std::span<const std::int64_t> start_offsets,
                                          Communicator* communicator,
                                          const MasterCastOptions& options, Stream stream) {
  return PreparedMasterCast::cast_once(kNvfp4, runtime, model_weights, master_shards, start_offsets,
                                       communicator, options, stream);
}

Result<void> cast_master_weights_to_mxfp8(Runtime& runtime,
                                          std::span<const QuantizedTensor> model_weights,
                                          std::span<const Tensor> master_shards,
                                          std::span<const std::int64_t> start_offsets,
                                          Communicator* communicator,
                                          const MasterCastOptions& options, Stream stream) {
  return PreparedMasterCast::cast_once(kMxfp8, runtime, model_weights, master_shards, start_offsets,
                                       communicator, options, stream);
}

}  // namespace diecast
