// describe_group: one launch, one thread for each member.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/group/describe_group.h>

namespace diecast {
namespace {

Result<void> check_on_device(const QuantizedGroup& group, std::string_view op) {
  const bool counts_missing = group.host_row_counts != nullptr && !group.device_row_counts;
  if (group.device_row_offsets != nullptr && !counts_missing) return {};
  const std::string_view what = group.device_row_offsets == nullptr ? "offsets" : "counts";
  return Error{ErrorCode::missing_buffer,
               cat(op, ": the group has no row ", what, " in device memory"),
               cat("set device_row_", what,
                   ", or describe() the members, copy the descriptors, and pass described = true")};
}

// The host can read the offsets of its own device, where wrong ones would be written by.
Result<void> check_readable(const QuantizedGroup& group, const Device& device,
                            std::string_view op) {
  if (device.properties().cc != 0) return {};
  QuantizedGroup known = group;
  known.host_row_offsets = group.device_row_offsets;
  return known.check(op);
}

}  // namespace

KernelWanted PreparedDescribeGroup::kernel(const QuantizedType& type) {
  Bindings bindings;
  bindings.set("BLOCK", type.block()).set("FOUR_BIT", is_four_bit(type.format));
  bindings.set("ROW_SCALE", type.row_scaled).set("LAYOUT", word(type.layout));
  return {args::DescribeGroup::kTemplate, std::move(bindings)};
}

Result<PreparedDescribeGroup> PreparedDescribeGroup::prepare(Runtime& runtime,
                                                             const std::shared_ptr<Device>& device,
                                                             const QuantizedType& type) {
  PreparedDescribeGroup prepared;
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, kernel(type)));
  return prepared;
}

Result<void> PreparedDescribeGroup::run(const Tensor& x, const QuantizedGroup& group,
                                        std::string_view op, Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), op));
  DIECAST_CHECK(check_on_device(group, op));
  DIECAST_CHECK(check_readable(group, kernel_->device(), op));
  const QuantizedSide &across = group.whole.rowwise, &down = group.whole.columnwise;
  const args::DescribeGroup arguments{.offsets = group.device_row_offsets,
                                      .members = group.members,
                                      .counts = group.device_row_counts,
                                      .cols = x.cols(),
                                      .matrix = x.data,
                                      .stride = x.stride(),
                                      .element_bytes = dtype_bits(x.dtype) / 8,
                                      .rowwise_data = across.data,
                                      .rowwise_scale = across.scale,
                                      .rowwise_amax = across.amax,
                                      .columnwise_data = down.data,
                                      .columnwise_scale = down.scale,
                                      .columnwise_amax = down.amax,
                                      .rowwise_stride = across.scale_stride,
                                      .columnwise_stride = down.scale_stride,
                                      .count = group.count};
  return launch_op(op, *kernel_, arguments, stream);
}

}  // namespace diecast
