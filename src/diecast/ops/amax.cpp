// amax: one fill and one launch.
#include <diecast/ops/amax.h>

#include <diecast/base/text.h>

namespace diecast {

std::uint64_t PreparedAmax::Request::word() const {
  return static_cast<std::uint64_t>(OpKind::amax) | static_cast<std::uint64_t>(in) << 8 |
         static_cast<std::uint64_t>(per_row) << 16 | static_cast<std::uint64_t>(rows) << 17 |
         static_cast<std::uint64_t>(cols) << 24;
}

Result<PreparedAmax> PreparedAmax::prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                                           const Request& request) {
  Bindings bindings;
  bindings.set("COLS", request.cols).set("ROWS", rows_class_name(request.rows)).set("IN", request.in);
  bindings.set("PER", request.per_row ? "row" : "tensor");
  PreparedAmax prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, kName, bindings));
  return prepared;
}

Result<void> PreparedAmax::run(const Tensor& x, float* result, bool accumulate,
                               Stream stream) const {
  DIECAST_CHECK(x.check("amax: x"));
  const std::int64_t count = request_.per_row ? x.rows() : 1;
  if (result == nullptr && count > 0) {
    return Error{ErrorCode::missing_buffer, "amax: the result is null",
                 cat("pass device memory for f32 [", count, "]")};
  }
  if (!accumulate) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    DIECAST_CHECK(kernel_->device().fill(result, 0, bytes, stream));
  }
  const KernelArgument arguments[] = {tensor_argument(x), KernelArgument::tensor(DType::f32, result),
                                      rows_argument(x), cols_argument(x)};
  return kernel_->launch(arguments, stream);
}

Result<void> amax(Runtime& runtime, const Tensor& x, float* result, const AmaxOptions& options,
                  Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const PreparedAmax::Request request{x.dtype, options.per_row, rows_class(x), 0};
  DIECAST_TRY(const auto prepared, prepared_once<PreparedAmax>(runtime, device, request, stream));
  return prepared->run(x, result, options.accumulate, stream);
}

}  // namespace diecast
