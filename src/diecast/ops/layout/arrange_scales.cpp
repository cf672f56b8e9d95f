// arrange_scales: one launch.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/layout/arrange_scales.h>

namespace diecast {
namespace {

constexpr std::string_view kArrangeOp = PreparedArrangeScales::kName;

// Bytes of the array, in checked arithmetic.
std::optional<std::int64_t> bytes_of(const ScaleArray& array) {
  const auto columns = checked_product(array.cols, 16);
  if (!columns) return std::nullopt;
  const auto dense = quantized_scale_bytes(array.layout, array.rows, *columns, 16);
  if (!dense) return std::nullopt;
  if (array.stride == 0 || *dense == 0) return checked_product(*dense, array.batch);
  const auto rows = checked_product(array.rows, array.batch);
  return rows ? checked_product(*rows, array.stride) : std::nullopt;
}

Result<void> check_stride(std::string_view name, const ScaleArray& array) {
  if (array.stride == 0) return {};
  if (array.layout != ScaleLayout::linear) {
    return Error{ErrorCode::not_supported,
                 cat(kArrangeOp, ": ", name, " has stride = ", array.stride, " and ",
                     word(array.layout), " scales"),
                 "stride = 0: tiles of scales lie one behind another"};
  }
  if (array.stride < array.cols) {
    return Error{ErrorCode::shape_mismatch,
                 cat(kArrangeOp, ": ", name, " has stride = ", array.stride, " for ", array.cols,
                     " scales a row"),
                 cat("stride = ", array.cols, " or more, or 0 for dense rows")};
  }
  return {};
}

Result<void> check_array(std::string_view name, const ScaleArray& array) {
  if (array.batch < 0 || array.rows < 0 || array.cols < 0) {
    return Error{ErrorCode::invalid_argument,
                 cat(kArrangeOp, ": ", name, " has ", array.batch, " matrices of ", array.rows,
                     " x ", array.cols, " scales"),
                 "batch, rows and cols are 0 or more"};
  }
  DIECAST_CHECK(check_stride(name, array));
  const auto bytes = bytes_of(array);
  if (!bytes) {
    return Error{ErrorCode::shape_mismatch,
                 cat(kArrangeOp, ": ", name, " needs more bytes than fit in 63 bits"),
                 "make smaller arrays"};
  }
  if (array.data == nullptr && *bytes > 0) {
    return Error{ErrorCode::missing_buffer, cat(kArrangeOp, ": ", name, " is null"),
                 cat("pass the address of ", *bytes, " bytes")};
  }
  return {};
}

Result<void> check_pair(const ScaleArray& from, const ScaleArray& to, bool tiles) {
  const std::int64_t sixteenth = ceil_div(from.rows, 16);
  const bool same = to.rows == from.rows && to.cols == from.cols;
  const bool transposed = to.cols == sixteenth && ceil_div(to.rows, 16) == from.cols;
  if (from.batch == to.batch && (tiles ? transposed : same)) return {};
  const auto text = [](const ScaleArray& a) { return Shape{a.batch, a.rows, a.cols}.text(); };
  return Error{
      ErrorCode::shape_mismatch,
      cat(kArrangeOp, ": from is ", text(from), ", to is ", text(to), tiles ? ", with tiles" : ""),
      tiles ? cat("give to ", from.batch, " matrices of ", sixteenth,
                  " scale columns, with at most ", from.cols, " * 16 rows")
            : cat("describe to as ", text(from))};
}

}  // namespace

Result<void> check_arrange_scales(const ScaleArray& from, const ScaleArray& to, bool tiles) {
  DIECAST_CHECK(check_array("from", from));
  DIECAST_CHECK(check_array("to", to));
  return check_pair(from, to, tiles);
}

Result<void> PreparedArrangeScales::run(const ScaleArray& from, const ScaleArray& to, Stream stream,
                                        const float* old_decode, const float* new_decode) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_arrange_scales(from, to, request_.tiles));
  Request asked = request_;
  asked.from = from.layout;
  asked.to = to.layout;
  if (asked != request_) return not_as_prepared(kName, "the call", request_, asked);
  if (request_.rescale != (old_decode != nullptr) || request_.rescale != (new_decode != nullptr)) {
    return Error{
        ErrorCode::invalid_argument,
        cat(kArrangeOp, ": old_decode is ", old_decode ? "given" : "null", ", new_decode is ",
            new_decode ? "given" : "null"),
        request_.rescale ? "give both decode scales" : "give both decode scales or neither"};
  }
  return launch(args::ArrangeScales{.scales = {from.data, from.stride},
                                    .old_decode = old_decode,
                                    .new_decode = new_decode,
                                    .arranged = {to.data, to.stride},
                                    .batch = from.batch,
                                    .rows = from.rows,
                                    .cols = from.cols,
                                    .new_rows = to.rows},
                stream);
}

Result<void> arrange_scales(Runtime& runtime, const ScaleArray& from, const ScaleArray& to,
                            const ArrangeScalesOptions& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const ArrangeScalesRequest request{
      .from = from.layout,
      .to = to.layout,
      .tiles = options.tiles,
      .rescale = options.old_decode != nullptr || options.new_decode != nullptr};
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedArrangeScales>(runtime, device, request, stream));
  return prepared->run(from, to, stream, options.old_decode, options.new_decode);
}

}  // namespace diecast
