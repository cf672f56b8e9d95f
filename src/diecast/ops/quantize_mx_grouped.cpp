// quantize_mx_grouped: the descriptors that are not given, then one launch of quantize_mx_tiles.
#include <diecast/base/text.h>
#include <diecast/ops/quantize_mx_grouped.h>

namespace diecast {
namespace {

constexpr std::string_view kMxGroupedOp = PreparedQuantizeMxGrouped::kName;

Result<void> check_format(const QuantizedTensor& out) {
  if (out.format != Format::nvfp4) return {};
  return Error{ErrorCode::not_supported, cat(kMxGroupedOp, ": out is nvfp4"),
               "describe out with format = Format::mxfp8_e4m3, mxfp8_e5m2 or mxfp4"};
}

Result<void> check_mx_group(const Tensor& x, const QuantizedGroup& group) {
  DIECAST_CHECK(x.check("quantize_mx_grouped: x"));
  DIECAST_CHECK(group.check(kMxGroupedOp));
  DIECAST_CHECK(check_format(group.whole));
  return group.check_matrix(kMxGroupedOp, x);
}

}  // namespace

std::uint64_t PreparedQuantizeMxGrouped::Request::word() const {
  // Strides are members' own affair.
  return fields(OpKind::quantize_mx_grouped).add<1>(described).word();
}

Result<PreparedQuantizeMxGrouped> PreparedQuantizeMxGrouped::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  PreparedQuantizeMxGrouped prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.quantize_,
              preload_for(runtime, device, "quantize_mx_tiles", request.bindings(true)));
  if (request.described) return prepared;
  QuantizedTensor whole;
  whole.format = request.format;
  whole.block_cols = 32;
  whole.layout = request.layout;
  DIECAST_TRY(prepared.describe_, PreparedDescribeGroup::prepare(runtime, device, whole));
  return prepared;
}

// What a launch checks of the addresses that it is given; here they are in descriptors.
Result<void> PreparedQuantizeMxGrouped::check_pair(const Tensor& x,
                                                   const QuantizedTensor& out) const {
  if (x.rows() == 0 || x.cols() == 0) return {};
  Request wanted{PreparedQuantizeMx::Request::of(x, out, request_.mode, true), request_.described};
  const bool whole_blocks = wanted.whole_blocks;
  wanted.whole_blocks = request_.whole_blocks;
  wanted.cols = request_.cols;
  wanted.scales_apart = request_.scales_apart;  // a member's own affair
  if (wanted != request_) {
    return Error{ErrorCode::not_supported,
                 cat(kMxGroupedOp,
                     ": x or out has another type, format, block, layout, profile or other "
                     "directions than this op was prepared for"),
                 "prepare another op for this group"};
  }
  if (request_.whole_blocks && !whole_blocks) {
    return Error{ErrorCode::misaligned,
                 cat(kMxGroupedOp, ": ", x.shape.text(),
                     " is not whole blocks of 32 from multiples of 16 bytes on, as prepared for"),
                 "prepare with whole_blocks = false"};
  }
  const std::uintptr_t align = request_.whole_blocks || is_four_bit(out.format) ? 16 : 1;
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
  const auto none = [](DType type) { return KernelArgument::tensor(type, nullptr); };
  const KernelArgument arguments[] = {
      none(request_.in),           none(DType::u8),
      none(DType::e8m0),           none(DType::u8),
      none(DType::e8m0),           KernelArgument::tensor(DType::u8, members),
      KernelArgument::size(rows),  KernelArgument::size(cols),
      KernelArgument::size(count), KernelArgument::size(0)};
  return launch_op(kMxGroupedOp, *quantize_, arguments, stream, {.cols = request_.cols});
}

Result<void> PreparedQuantizeMxGrouped::run(const Tensor& x, const QuantizedGroup& group,
                                            Stream stream) const {
  DIECAST_CHECK(check_prepared(quantize_.get(), kName));
  DIECAST_CHECK(check_mx_group(x, group));
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
  if (x.rows() == 0 || x.cols() == 0) return check_mx_group(x, group);
  DIECAST_CHECK(check_format(group.whole));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const PreparedQuantizeMxGrouped::Request request{
      PreparedQuantizeMx::Request::of(x, group.whole, options.mode, true), options.described};
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
  PreparedQuantizeMxGrouped::Request request{
      PreparedQuantizeMx::Request::of(one.x, one.out, options.mode, true), true};
  for (const QuantizedPair& pair : group.pairs) {
    if (pair.x.rows() > 0 && rows_class(pair.x) == RowsClass::any) request.whole_blocks = false;
  }
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedQuantizeMxGrouped>(runtime, device, request, stream));
  return prepared->run(group, stream);
}

}  // namespace diecast
