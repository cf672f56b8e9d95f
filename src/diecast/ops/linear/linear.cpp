// linear: one launch of the kernel that the table has for so many rows.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/linear/linear.h>
#include <diecast/ops/linear/linear_launch.h>
#include <diecast/ops/linear/linear_operands.h>
#include <diecast/ops/linear/linear_table.h>

namespace diecast {
namespace {

constexpr std::string_view kLinearOp = PreparedLinear::kName;

}  // namespace

Result<void> check_linear(const Tensor& x, const PackedLinear& weight, const float* factor,
                          const Tensor& out, const LinearOptions& options) {
  const LinearOperands of{kLinearOp, x, weight, out, options.activation};
  DIECAST_CHECK(of.check_weight(2));
  DIECAST_CHECK(of.check_x());
  const Shape result{x.rows(), linear_columns(weight, options.activation)};
  DIECAST_CHECK(of.check_out(result));
  if (options.residual)
    DIECAST_CHECK(of.check_dense("residual", *options.residual, result, out.dtype));
  if (x.device_rows == nullptr) {
    DIECAST_CHECK(out.check_rows_known("linear: out"));
    if (options.residual) DIECAST_CHECK(options.residual->check_rows_known("linear: residual"));
  }
  if (options.bias)
    DIECAST_CHECK(of.check_dense("bias", *options.bias, Shape{weight.rows()}, x.dtype));
  return of.check_factor(factor);
}

int linear_split(std::int64_t rows, std::int64_t cols) {
  // A thread block takes 64 rows of a part: parts until there are enough for the multiprocessors of
  // an H100, none shorter than 32 tiles.
  constexpr std::int64_t kSide = PackedLinear::kSide, kBlocks = 224, kTiles = 32;
  int split = 1;
  while (split < 8 && ceil_div(rows, kSide) * split < kBlocks &&
         ceil_div(cols, kSide) >= 2 * split * kTiles)
    split *= 2;
  return split;
}

LinearRequest LinearRequest::of(const Tensor& x, const PackedLinear& weight, const Tensor& out,
                                const LinearOptions& options) {
  return {.in = x.dtype,
          .out = out.dtype,
          .format = weight.format,
          .activation = options.activation,
          .split = options.split != 0 ? options.split : linear_split(weight.rows(), weight.cols()),
          .factors = options.factors,
          .bias = options.bias.has_value(),
          .residual = options.residual.has_value(),
          .fast = options.fast};
}

std::vector<LinearKernel> LinearRequest::table(const DeviceProperties& device) const {
  if (device.cc == 90) return hopper_table(*this, device.sm_count);
  const auto serve = [&](std::int64_t most_rows, std::int64_t m_tile) {
    return LinearKernel::of(most_rows, kName, *this, {{"M_TILE", m_tile}});
  };
  if (device.cc == 0) return {serve(LinearKernel::kAnyRows, 8)};
  return {serve(8, 8), serve(LinearKernel::kAnyRows, 32)};
}

std::vector<KernelWanted> LinearRequest::kernels(const DeviceProperties& device) const {
  return kernels_of(table(device));
}

Result<PreparedLinear> PreparedLinear::prepare(Runtime& runtime,
                                               const std::shared_ptr<Device>& device,
                                               const Request& request) {
  PreparedLinear op;
  op.request_ = request;
  DIECAST_TRY(op.kernels_, LinearKernels::prepare(runtime, device, request));
  return op;
}

Result<void> PreparedLinear::run(const Tensor& x, const PackedLinear& weight, const float* factor,
                                 const Tensor& out, const LinearOptions& options,
                                 Stream stream) const {
  DIECAST_CHECK(check_prepared(kernels_.prepared(), kName));
  DIECAST_CHECK(check_linear(x, weight, factor, out, options));
  const Request asked = Request::of(x, weight, out, options);
  if (asked != request_) return not_as_prepared(kName, "the call", request_, asked);
  return multiply(x, weight, factor, out, options, stream);
}

Result<void> PreparedLinear::multiply(const Tensor& x, const PackedLinear& weight,
                                      const float* factor, const Tensor& out,
                                      const LinearOptions& options, Stream stream) const {
  const args::Linear arguments{.x = tensor_argument(x),
                               .packed = weight.data,
                               .factor = factor,
                               .bias = optional_argument(options.bias, x.dtype),
                               .residual = optional_argument(options.residual, out.dtype),
                               .out = tensor_argument(out),
                               .rows = rows_argument(x),
                               .cols = out.cols(),
                               .depth = x.cols(),
                               .settled = options.settled ? 1 : 0};
  const LinearSize size = {x.rows(), weight.rows(), x.cols()};
  return launch_linear(kName, kernels_, size, x, arguments, stream);
}

Result<void> linear(Runtime& runtime, const Tensor& x, const PackedLinear& weight,
                    const float* factor, const Tensor& out, const LinearOptions& options,
                    Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  DIECAST_CHECK(check_linear(x, weight, factor, out, options));
  const auto request = LinearRequest::of(x, weight, out, options);
  DIECAST_TRY(const auto prepared, prepared_once<PreparedLinear>(runtime, device, request, stream));
  return prepared->multiply(x, weight, factor, out, options, stream);
}

}  // namespace diecast
