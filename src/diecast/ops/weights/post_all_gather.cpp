// Codes and scales of many weights transposed; see post_all_gather.h.
#include <diecast/base/text.h>
#include <diecast/launch/device_memory.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/weights/checks.h>
#include <diecast/ops/weights/post_all_gather.h>

namespace diecast {
namespace {

Result<void> check_both_sides(const QuantizedTensor& weight, const std::string& name) {
  for (const QuantizedSide* side : {&weight.rowwise, &weight.columnwise}) {
    const char* direction = side == &weight.rowwise ? "rowwise" : "columnwise";
    if (!side->present()) {
      return Error{ErrorCode::missing_buffer, cat(name, " has no ", direction, " buffers"),
                   "set data, scale and amax of both directions"};
    }
    if (reinterpret_cast<std::uintptr_t>(side->data) % 4 != 0) {
      return Error{ErrorCode::misaligned,
                   cat(name, ": its ", direction, " data is not at a multiple of 4 bytes"),
                   "align data to 4 bytes"};
    }
  }
  return {};
}

}  // namespace

struct PreparedPostAllGather::State {
  std::shared_ptr<Device> device;
  std::shared_ptr<Kernel> codes, scales;
  WeightTable table;
  DeviceMemory descriptors;
};

Result<PreparedPostAllGather> PreparedPostAllGather::prepare(
    Runtime& runtime, std::span<const QuantizedTensor> weights, const PostAllGatherOptions& options,
    Stream stream) {
  auto state = std::make_shared<State>();
  DIECAST_TRY(state->device, device_or_default(runtime, options.device));
  std::vector<ShardedWeight> list;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const QuantizedTensor& weight = weights[i];
    const std::string name = cat("weight ", i);
    DIECAST_CHECK(
        check_weight({false, "post_all_gather_processing"}, weight, name, options.padded_scales));
    if (weight.rows() * weight.cols() > 0) DIECAST_CHECK(check_both_sides(weight, name));
    if (weight.layout != weights[0].layout) {
      return Error{ErrorCode::not_supported,
                   cat(name, " has ", layout_name(weight.layout), " scales, weight 0 ",
                       layout_name(weights[0].layout)),
                   "process weights of different scale layouts in calls of their own"};
    }
    // Without elements there is nothing to transpose but the amax, and perhaps no buffer.
    const bool has_amaxes = weight.rowwise.amax != nullptr && weight.columnwise.amax != nullptr;
    if (weight.rows() * weight.cols() == 0 && !has_amaxes) continue;
    list.push_back({weight, nullptr, {}, nullptr, options.padded_scales});
  }
  DIECAST_TRY(state->table, describe_weights(list));
  Bindings layout;
  if (!weights.empty()) layout.set("LAYOUT", layout_name(weights[0].layout));
  DIECAST_TRY(state->codes, preload_for(runtime, state->device, "transpose_weight_codes", {}));
  DIECAST_TRY(state->scales,
              preload_for(runtime, state->device, "transpose_weight_scales", layout));
  DIECAST_TRY(state->descriptors,
              DeviceMemory::copy_of(state->device, state->table.descriptors, stream));
  DIECAST_CHECK(state->device->synchronize(stream));
  PreparedPostAllGather prepared;
  prepared.state_ = std::move(state);
  return prepared;
}

Result<void> PreparedPostAllGather::run(Stream stream) const {
  DIECAST_CHECK(check_prepared(state_.get(), "post_all_gather_processing"));
  const State& s = *state_;
  if (s.table.descriptors.empty()) return {};
  const auto launch = [&](const Kernel& kernel, UnitKind kind) {
    const KernelArgument arguments[] = {
        KernelArgument::tensor(DType::u8, s.descriptors.data()),
        KernelArgument::size(static_cast<std::int64_t>(s.table.descriptors.size())),
        KernelArgument::size(s.table.units[static_cast<std::size_t>(kind)])};
    return kernel.launch(arguments, stream);
  };
  DIECAST_CHECK(launch(*s.codes, UnitKind::transpose));
  return launch(*s.scales, UnitKind::scale_transpose);
}

Result<void> post_all_gather_processing(Runtime& runtime, std::span<const QuantizedTensor> weights,
                                        const PostAllGatherOptions& options, Stream stream) {
  DIECAST_TRY(const auto prepared,
              PreparedPostAllGather::prepare(runtime, weights, options, stream));
  DIECAST_CHECK(prepared.run(stream));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  return device->synchronize(stream);
}

}  // namespace diecast
