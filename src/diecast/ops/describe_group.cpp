// describe_group: one launch, a thread a member.
#include <diecast/base/text.h>
#include <diecast/ops/describe_group.h>

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

}  // namespace

Result<PreparedDescribeGroup> PreparedDescribeGroup::prepare(Runtime& runtime,
                                                             const std::shared_ptr<Device>& device,
                                                             const QuantizedTensor& whole) {
  Bindings bindings;
  bindings.set("BLOCK", whole.block_cols).set("FOUR_BIT", is_four_bit(whole.format));
  bindings.set("ROW_SCALE", whole.row_scaled).set("LAYOUT", layout_name(whole.layout));
  PreparedDescribeGroup prepared;
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, "describe_group", bindings));
  return prepared;
}

Result<void> PreparedDescribeGroup::run(const Tensor& x, const QuantizedGroup& group,
                                        std::string_view op, Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), op));
  DIECAST_CHECK(check_on_device(group, op));
  const QuantizedSide &across = group.whole.rowwise, &down = group.whole.columnwise;
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::i64, group.device_row_offsets),
                                      KernelArgument::tensor(DType::u8, group.members),
                                      address_argument(group.device_row_counts),
                                      KernelArgument::scalar(x.cols()),
                                      address_argument(x.data),
                                      KernelArgument::scalar(x.stride()),
                                      KernelArgument::scalar(std::int64_t{dtype_bits(x.dtype) / 8}),
                                      address_argument(across.data),
                                      address_argument(across.scale),
                                      address_argument(across.amax),
                                      address_argument(down.data),
                                      address_argument(down.scale),
                                      address_argument(down.amax),
                                      KernelArgument::scalar(across.scale_stride),
                                      KernelArgument::scalar(down.scale_stride),
                                      KernelArgument::size(group.count)};
  return launch_op(op, *kernel_, arguments, stream);
}

}  // namespace diecast
