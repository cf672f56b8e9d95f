// Codes and scales of many weights transposed; see post_all_gather.h.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/launch/device_memory.h>
#include <diecast/ops/weights/checks.h>
#include <diecast/ops/weights/post_all_gather.h>

namespace diecast {
namespace {

constexpr std::string_view kPostAllGather = PostAllGatherRequest::kName;

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

std::vector<KernelWanted> PostAllGatherRequest::kernels(const DeviceProperties&) const {
  return {{"transpose_weight_codes", {}}, kernel_of("transpose_weight_scales", *this)};
}

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
    DIECAST_CHECK(check_weight({false, kPostAllGather}, weight, name, options.padded_scales));
    if (weight.rows() * weight.cols() > 0) DIECAST_CHECK(check_both_sides(weight, name));
    if (weight.type.layout != weights[0].type.layout) {
      return Error{ErrorCode::not_supported,
                   cat(name, " has ", word(weight.type.layout), " scales, weight 0 ",
                       word(weights[0].type.layout)),
                   "process weights of different scale layouts in calls of their own"};
    }
    // Without elements there is nothing to transpose but the amax, and perhaps no buffer.
    const bool has_amaxes = weight.rowwise.amax != nullptr && weight.columnwise.amax != nullptr;
    if (weight.rows() * weight.cols() == 0 && !has_amaxes) continue;
    list.push_back({weight, nullptr, {}, nullptr, options.padded_scales});
  }
  DIECAST_TRY(state->table, describe_weights(list));
  PostAllGatherRequest request;
  if (!weights.empty()) request.layout = weights[0].type.layout;
  const DeviceProperties& properties = state->device->properties();
  DIECAST_TRY(const auto kernels,
              preload_all_for(runtime, state->device, request.kernels(properties)));
  state->codes = kernels[0], state->scales = kernels[1];
  DIECAST_TRY(state->descriptors,
              DeviceMemory::copy_of(state->device, state->table.descriptors, stream));
  DIECAST_CHECK(state->device->synchronize(stream));
  PreparedPostAllGather prepared;
  prepared.state_ = std::move(state);
  return prepared;
}

Result<void> PreparedPostAllGather::run(Stream stream) const {
  DIECAST_CHECK(check_prepared(state_.get(), kPostAllGather));
  const State& s = *state_;
  if (s.table.descriptors.empty()) return {};
  const auto count = static_cast<std::int64_t>(s.table.descriptors.size());
  const args::TransposeWeightCodes codes{.weights = s.descriptors.data(),
                                         .count = count,
                                         .units = s.table.units_of(UnitKind::transpose)};
  DIECAST_CHECK(s.codes->launch(codes.in_order(), stream));
  const args::TransposeWeightScales scales{.weights = s.descriptors.data(),
                                           .count = count,
                                           .units = s.table.units_of(UnitKind::scale_transpose)};
  return s.scales->launch(scales.in_order(), stream);
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
