// amax: one launch, after zeros where several thread blocks find one maximum together.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/amax/amax.h>
#include <diecast/ops/amax/zeros.h>

#include <tuple>

namespace diecast {
namespace {

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

AmaxRequest AmaxRequest::of(const Tensor& x, const AmaxOptions& options) {
  const bool transformed = options.transform != AmaxTransform::none;
  return {.in = x.dtype,
          .per = options.per,
          .rows = rows_class(x),
          .nans = options.nans,
          .transform = options.transform,
          .sign_mask = transformed ? options.sign_mask : std::uint16_t{0},
          .block = options.block};
}

Result<void> AmaxRequest::check(const Tensor& x, const float* result, bool accumulate,
                                std::string_view op) const {
  DIECAST_CHECK(x.check("amax: x"));
  DIECAST_CHECK(check_maxima(op, "result", result, result_count(x, per, block)));
  if (!accumulate || begins_at_zero()) return {};
  return Error{ErrorCode::not_supported,
               cat("amax: maxima of one ", word(per), " each do not accumulate"),
               "accumulate = false, or maxima per tensor, row or column"};
}

std::vector<KernelWanted> AmaxRequest::kernels(const DeviceProperties& device) const {
  std::vector<KernelWanted> out = {kernel_of(kName, *this)};
  if (begins_at_zero() && has_zeros(device)) out.push_back(zeros_kernel());
  return out;
}

Result<PreparedAmax> PreparedAmax::prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                                           const Request& request) {
  DIECAST_CHECK(check_device(device));
  DIECAST_CHECK(check_values(request));
  const KernelWanted own = request.kernels(device->properties()).front();
  PreparedAmax prepared;
  prepared.request_ = request;
  DIECAST_TRY(std::tie(prepared.kernel_, prepared.zeros_),
              preload_with_zeros(runtime, device, own, request.begins_at_zero()));
  return prepared;
}

Result<void> PreparedAmax::run(const Tensor& x, float* result, bool accumulate, Stream stream,
                               std::string_view op) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), op));
  DIECAST_CHECK(request_.check(x, result, accumulate, op));
  if (!accumulate && request_.begins_at_zero()) {
    const std::int64_t count = result_count(x, request_.per, request_.block);
    DIECAST_CHECK(write_zeros(zeros_.get(), kernel_->device(), result, count, stream));
  }
  const args::Amax arguments{
      .x = tensor_argument(x), .amax = result, .rows = rows_argument(x), .cols = x.cols()};
  return launch_op(op, *kernel_, arguments, stream, {"x", &x, request_.rows, request_.cols});
}

Result<void> amax(Runtime& runtime, const Tensor& x, float* result, const AmaxOptions& options,
                  Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = AmaxRequest::of(x, options);
  DIECAST_TRY(const auto prepared, prepared_once<PreparedAmax>(runtime, device, request, stream));
  return prepared->run(x, result, options.accumulate, stream);
}

}  // namespace diecast
