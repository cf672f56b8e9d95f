// quantize_mx_grouped: the descriptors that are not given, then one launch of quantize_mx_tiles.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/mx/quantize_mx_grouped.h>

namespace diecast {
namespace {

constexpr std::string_view kMxGroupedOp = PreparedQuantizeMxGrouped::kName;

Result<void> check_format(const QuantizedTensor& out) {
  if (out.type.format != Format::nvfp4) return {};
  return Error{ErrorCode::not_supported, cat(kMxGroupedOp, ": out is nvfp4"),
               "describe out with format = Format::mxfp8_e4m3, mxfp8_e5m2 or mxfp4"};
}

}  // namespace

Result<void> check_quantize_mx_grouped(const Tensor& x, const QuantizedGroup& group) {
  DIECAST_CHECK(x.check("quantize_mx_grouped: x"));
  DIECAST_CHECK(group.check(kMxGroupedOp));
  DIECAST_CHECK(check_format(group.whole));
  return group.check_matrix(kMxGroupedOp, x);
}

QuantizeMxGroupedRequest QuantizeMxGroupedRequest::of(const Tensor& x, const QuantizedTensor& out,
                                                      MxMode mode, bool described) {
  return {QuantizeMxRequest::of(x, out, mode, true), described};
}

KernelWanted QuantizeMxGroupedRequest::kernel(const DeviceProperties&) const {
  return kernel_of(
      "quantize_mx_tiles", *this,
      {{"GROUPED", Value::boolean(true)}, {"BLOCK_ROWS", Value::integer(out.block_rows())}});
}

std::vector<KernelWanted> QuantizeMxGroupedRequest::kernels(const DeviceProperties& device) const {
  if (described) return {kernel(device)};
  return {PreparedDescribeGroup::kernel(out), kernel(device)};
}

Result<PreparedQuantizeMxGrouped> PreparedQuantizeMxGrouped::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  DIECAST_CHECK(check_device(device));
  DIECAST_CHECK(check_values(request));
  PreparedQuantizeMxGrouped prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.quantize_,
              preload_for(runtime, device, request.kernel(device->properties())));
  if (request.described) return prepared;
  DIECAST_TRY(prepared.describe_, PreparedDescribeGroup::prepare(runtime, device, request.out));
  return prepared;
}

// What a launch checks of the addresses that it is given; here they are in descriptors.
Result<void> PreparedQuantizeMxGrouped::check_pair(const Tensor& x,
                                                   const QuantizedTensor& out) const {
  if (x.rows() == 0 || x.cols() == 0) return {};
  Request wanted = Request::of(x, out, request_.mode, request_.described);
  const bool whole_blocks = wanted.rows != RowsClass::any;
  wanted.rows = request_.rows;
  wanted.cols = request_.cols;
  if (wanted != request_) return not_as_prepared(kMxGroupedOp, "the group", request_, wanted);
  const bool of_whole_blocks = request_.rows != RowsClass::any;
  if (of_whole_blocks && !whole_blocks) {
    return Error{ErrorCode::misaligned,
                 cat(kMxGroupedOp, ": ", x.shape.text(),
                     " is not whole blocks of 32 from multiples of 16 bytes on, as prepared for"),
                 "prepare with rows = RowsClass::any"};
  }
  const std::uintptr_t align = of_whole_blocks || is_four_bit(out.type.format) ? 16 : 1;
  for (const QuantizedSide* side : {&out.rowwise, &out.columnwise}) {
    const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(side->data) % align;
    if (past == 0) continue;
    return Error{ErrorCode::misaligned,
                 cat(kMxGroupedOp, ": the ", side == &out.rowwise ? "rowwise" : "columnwise",
                     " data starts ", past, " bytes past a multiple of 16"),
                 "start codes at multiples of 16 bytes"};
  }
  return {};
}

Result<void> PreparedQuantizeMxGrouped::launch(const MemberDescriptor* members, std::int64_t rows,
                                               std::int64_t cols, std::int64_t count,
                                               Stream stream) const {
  return launch_op(kMxGroupedOp, *quantize_,
                   args::QuantizeMxTiles{.x = {request_.in, nullptr},
                                         .members = members,
                                         .rows = rows,
                                         .cols = cols,
                                         .count = count,
                                         .pitch_t = 0},
                   stream, {.cols = request_.cols});
}

Result<void> PreparedQuantizeMxGrouped::run(const Tensor& x, const QuantizedGroup& group,
                                            Stream stream) const {
  DIECAST_CHECK(check_prepared(quantize_.get(), kName));
  DIECAST_CHECK(check_quantize_mx_grouped(x, group));
  DIECAST_CHECK(check_pair(x, group.whole));
  if (group.count == 0) return {};
  if (describe_) DIECAST_CHECK(describe_->run(x, group, kMxGroupedOp, stream));
  return launch(group.members, x.rows(), x.cols(), group.count, stream);
}

Result<void> PreparedQuantizeMxGrouped::run(const TensorGroup& group, Stream stream) const {
  DIECAST_CHECK(check_prepared(quantize_.get(), kName));
  if (group.pairs.empty()) return {};
  DIECAST_CHECK(group.check(kMxGroupedOp));
  DIECAST_CHECK(check_format(group.first()->out));
  for (const QuantizedPair& pair : group.pairs) DIECAST_CHECK(check_pair(pair.x, pair.out));
  return launch(group.members, group.rows(), group.cols(), group.count(), stream);
}

Result<void> quantize_mx_grouped(Runtime& runtime, const Tensor& x, const QuantizedGroup& group,
                                 const QuantizeMxGroupedOptions& options, Stream stream) {
  // What has no elements has no directions to prepare for.
  if (x.rows() == 0 || x.cols() == 0) return check_quantize_mx_grouped(x, group);
  DIECAST_CHECK(check_format(group.whole));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request =
      QuantizeMxGroupedRequest::of(x, group.whole, options.mode, options.described);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedQuantizeMxGrouped>(runtime, device, request, stream));
  return prepared->run(x, group, stream);
}

Result<void> quantize_mx_grouped(Runtime& runtime, const TensorGroup& group,
                                 const QuantizeMxOptions& options, Stream stream) {
  if (group.pairs.empty()) return {};
  DIECAST_CHECK(group.check(kMxGroupedOp));
  const QuantizedPair& one = *group.first();
  DIECAST_CHECK(check_format(one.out));
  if (group.rows() == 0 || group.cols() == 0) return {};
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  auto request = QuantizeMxGroupedRequest::of(one.x, one.out, options.mode, true);
  for (const QuantizedPair& pair : group.pairs) {
    if (pair.x.rows() > 0 && rows_class(pair.x) == RowsClass::any) request.rows = RowsClass::any;
  }
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedQuantizeMxGrouped>(runtime, device, request, stream));
  return prepared->run(group, stream);
}

}  // namespace diecast
