// amax: one launch, after zeros where maxima of many blocks of threads meet in memory.
#include <diecast/base/text.h>
#include <diecast/ops/amax.h>
#include <diecast/ops/zeros.h>

#include <tuple>

namespace diecast {

std::string_view amax_per_name(AmaxPer per) {
  constexpr std::string_view names[] = {"tensor", "row", "column", "block", "tile"};
  return name_of(per, names);
}

std::string_view amax_transform_name(AmaxTransform transform) {
  constexpr std::string_view names[] = {"none", "row", "column"};
  return name_of(transform, names);
}

namespace {

// Whether maxima of many blocks of threads meet in one entry.
bool meets(AmaxPer per) { return per != AmaxPer::block && per != AmaxPer::tile; }

// Entries of the result: fewer than x has elements, or 1.
std::int64_t result_count(const Tensor& x, AmaxPer per, int block) {
  switch (per) {
    case AmaxPer::tensor:
      return 1;
    case AmaxPer::row:
      return x.rows();
    case AmaxPer::column:
      return x.cols();
    case AmaxPer::block:
      return x.rows() * ceil_div(x.cols(), block);
    case AmaxPer::tile:
      return ceil_div(x.rows(), 16) * ceil_div(x.cols(), 16);
  }
  return 0;
}

}  // namespace

PreparedAmax::Request PreparedAmax::Request::of(const Tensor& x, const AmaxOptions& options) {
  Request out{x.dtype,           options.per, rows_class(x), 0, options.nans,
              options.transform, 0,           options.block};
  if (options.transform != AmaxTransform::none) out.sign_mask = options.sign_mask;
  return out;
}

std::uint64_t PreparedAmax::Request::word() const {
  return request_word(OpKind::amax)
      .add<4>(in)
      .add<3>(per)
      .add<2>(rows)
      .add<1>(nans)
      .add<2>(transform)
      .add<16>(sign_mask)
      .add<8>(block)
      .word();
}

Result<PreparedAmax> PreparedAmax::prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                                           const Request& request) {
  Bindings bindings;
  bindings.set("COLS", request.cols).set("IN", request.in);
  bindings.set("ROWS", rows_class_name(request.rows));
  bindings.set("PER", amax_per_name(request.per))
      .set("RHT", amax_transform_name(request.transform));
  bindings.set("BLOCK", request.block);
  bindings.set("NANS", request.nans == AmaxNans::ignore ? "ignore" : "propagate");
  bindings.set("SIGN_MASK", request.transform == AmaxTransform::none ? 0 : request.sign_mask);
  PreparedAmax prepared;
  prepared.request_ = request;
  DIECAST_TRY(std::tie(prepared.kernel_, prepared.zeros_),
              preload_with_zeros(runtime, device, kName, bindings, meets(request.per)));
  return prepared;
}

Result<void> PreparedAmax::run(const Tensor& x, float* result, bool accumulate, Stream stream,
                               std::string_view op) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), op));
  DIECAST_CHECK(x.check("amax: x"));
  const AmaxPer per = request_.per;
  const std::int64_t count = result_count(x, per, request_.block);
  DIECAST_CHECK(check_maxima(op, "result", result, count));
  if (accumulate && !meets(per)) {
    return Error{ErrorCode::not_supported,
                 cat("amax: maxima of one ", amax_per_name(per), " each do not accumulate"),
                 "accumulate = false, or maxima per tensor, row or column"};
  }
  if (!accumulate && meets(per))
    DIECAST_CHECK(write_zeros(zeros_.get(), kernel_->device(), result, count, stream));
  const KernelArgument arguments[] = {tensor_argument(x),
                                      KernelArgument::tensor(DType::f32, result), rows_argument(x),
                                      cols_argument(x)};
  return launch_op(op, *kernel_, arguments, stream, {"x", &x, request_.rows, request_.cols});
}

Result<void> amax(Runtime& runtime, const Tensor& x, float* result, const AmaxOptions& options,
                  Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = PreparedAmax::Request::of(x, options);
  DIECAST_TRY(const auto prepared, prepared_once<PreparedAmax>(runtime, device, request, stream));
  return prepared->run(x, result, options.accumulate, stream);
}

}  // namespace diecast
