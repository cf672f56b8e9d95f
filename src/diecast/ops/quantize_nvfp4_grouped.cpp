// quantize_nvfp4_grouped: the descriptors and amaxes that are not given, then one launch for all.
#include <diecast/base/text.h>
#include <diecast/ops/quantize_nvfp4_grouped.h>

namespace diecast {
namespace {

constexpr std::string_view kGroupedOp = PreparedQuantizeNvfp4Grouped::kName;

KernelArgument address(const void* pointer) {
  return KernelArgument::scalar(
      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(pointer)));
}

PreparedAmaxGrouped::Request amax_request(const Nvfp4TilesRequest& r, bool of_columns) {
  PreparedAmaxGrouped::Request amax;
  amax.in = r.in;
  amax.rows = r.rows;
  amax.cols = r.cols;
  amax.nans = r.nans();
  amax.transform = r.transform(of_columns);
  if (amax.transform != AmaxTransform::none) amax.sign_mask = r.sign_mask;
  if (of_columns && r.row_scaled) amax.per = AmaxPer::column;
  return amax;
}

}  // namespace

Result<PreparedQuantizeNvfp4Grouped> PreparedQuantizeNvfp4Grouped::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  PreparedQuantizeNvfp4Grouped prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.quantize_, preload_for(runtime, device, PreparedQuantizeNvfp4Tiles::kName,
                                              request.bindings(true, *device)));
  if (!request.described) {
    Bindings bindings;
    bindings.set("ROW_SCALE", request.row_scaled).set("LAYOUT", layout_name(request.layout));
    DIECAST_TRY(prepared.describe_, preload_for(runtime, device, "describe_group", bindings));
  }
  if (!request.finds_amax()) return prepared;
  if (request.rowwise && request.row_scaled) {
    PreparedAmax::Request amax{request.in,       AmaxPer::row,   request.rows,
                               request.cols,     request.nans(), request.transform(false),
                               request.sign_mask};
    DIECAST_TRY(prepared.of_rows_, PreparedAmax::prepare(runtime, device, amax));
  } else if (request.rowwise) {
    DIECAST_TRY(prepared.rowwise_,
                PreparedAmaxGrouped::prepare(runtime, device, amax_request(request, false)));
  }
  if (request.columnwise && !request.shares_amax()) {
    DIECAST_TRY(prepared.columnwise_,
                PreparedAmaxGrouped::prepare(runtime, device, amax_request(request, true)));
  }
  return prepared;
}

Result<void> PreparedQuantizeNvfp4Grouped::check(const Tensor& x,
                                                 const QuantizedGroup& group) const {
  DIECAST_CHECK(x.check("quantize_nvfp4_grouped: x"));
  DIECAST_CHECK(group.check(kGroupedOp));
  DIECAST_CHECK(check_nvfp4_tiles(request_, group.whole, kGroupedOp));
  if (x.rows() != group.whole.rows() || x.cols() != group.whole.cols()) {
    return Error{
        ErrorCode::shape_mismatch,
        cat(kGroupedOp, ": x is ", x.shape.text(), ", the group ", group.whole.shape.text()),
        cat("describe the group with shape ", x.shape.text())};
  }
  if (x.device_rows != nullptr) {
    return Error{ErrorCode::not_supported, cat(kGroupedOp, ": x has a row count in device memory"),
                 "leave x.device_rows null: the last row offset says how many rows count"};
  }
  if (!request_.described && group.device_row_offsets == nullptr && group.count > 0) {
    return Error{
        ErrorCode::missing_buffer,
        cat(kGroupedOp, ": the group has no row offsets in device memory"),
        "set device_row_offsets, or describe() the members, copy the descriptors, and pass "
        "described = true"};
  }
  return {};
}

Result<void> PreparedQuantizeNvfp4Grouped::describe(const Tensor& x, const QuantizedGroup& group,
                                                    Stream stream) const {
  const QuantizedSide &across = group.whole.rowwise, &down = group.whole.columnwise;
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::i64, group.device_row_offsets),
                                      KernelArgument::tensor(DType::u8, group.members),
                                      KernelArgument::scalar(x.cols()),
                                      address(x.data),
                                      KernelArgument::scalar(x.stride()),
                                      KernelArgument::scalar(std::int64_t{dtype_bits(x.dtype) / 8}),
                                      address(across.data),
                                      address(across.scale),
                                      address(across.amax),
                                      address(down.data),
                                      address(down.scale),
                                      address(down.amax),
                                      KernelArgument::scalar(across.scale_stride),
                                      KernelArgument::scalar(down.scale_stride),
                                      KernelArgument::size(group.count)};
  return describe_->launch(arguments, stream);
}

Result<void> PreparedQuantizeNvfp4Grouped::find_amaxes(const Tensor& x, const QuantizedGroup& group,
                                                       Stream stream) const {
  const QuantizedTensor& whole = group.whole;
  if (of_rows_) {
    // Rows behind the last offset have no amax.
    Tensor rows = x;
    if (group.device_row_offsets != nullptr) {
      rows.device_rows = group.device_row_offsets + group.count;
    } else {
      rows.shape = {group.host_row_offsets[group.count], x.cols()};
    }
    DIECAST_CHECK(of_rows_->run(rows, whole.rowwise.amax, false, stream));
  }
  if (rowwise_) DIECAST_CHECK(rowwise_->run(group, whole.rowwise.amax, stream));
  if (columnwise_) return columnwise_->run(group, whole.columnwise.amax, stream);
  if (!request_.finds_amax() || !request_.columnwise) return {};
  return quantize_->device().copy_on_device(whole.columnwise.amax, whole.rowwise.amax,
                                            static_cast<std::size_t>(group.count) * sizeof(float),
                                            stream);
}

Result<void> PreparedQuantizeNvfp4Grouped::run(const Tensor& x, const QuantizedGroup& group,
                                               Stream stream) const {
  DIECAST_CHECK(check(x, group));
  if (group.count == 0) return {};
  if (describe_) DIECAST_CHECK(describe(x, group, stream));
  DIECAST_CHECK(find_amaxes(x, group, stream));
  const auto none = [](DType type) { return KernelArgument::tensor(type, nullptr); };
  const KernelArgument arguments[] = {tensor_argument(x),
                                      none(DType::f32),
                                      none(DType::u8),
                                      none(DType::e4m3),
                                      none(DType::f32),
                                      none(DType::u8),
                                      none(DType::e4m3),
                                      KernelArgument::tensor(DType::u8, group.members),
                                      rows_argument(x),
                                      cols_argument(x),
                                      KernelArgument::size(group.count)};
  return quantize_->launch(arguments, stream);
}

Result<void> quantize_nvfp4_grouped(Runtime& runtime, const Tensor& x, const QuantizedGroup& group,
                                    const QuantizeNvfp4GroupedOptions& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const PreparedQuantizeNvfp4Grouped::Request request{nvfp4_tiles_request(x, group.whole, options),
                                                      options.described};
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedQuantizeNvfp4Grouped>(runtime, device, request, stream));
  return prepared->run(x, group, stream);
}

}  // namespace diecast
