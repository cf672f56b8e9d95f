// gemm_nvfp4, of two matrices or of the members of two groups: one launch.
#include <diecast/base/text.h>
#include <diecast/ops/cublaslt/gemm_cublaslt.h>
#include <diecast/ops/gemm_nvfp4.h>
#include <diecast/ops/gemm_operands.h>

namespace diecast {
namespace {

KernelArgument gemm_scales(const GemmOperand& x) {
  const bool apart = x.tensor.layout == ScaleLayout::linear && x.side().scale_stride != 0;
  return KernelArgument::tensor(DType::e4m3, x.side().scale, apart ? x.side().scale_stride : 0);
}

KernelArgument gemm_bias(const GemmNvfp4Options& options) {
  return options.bias ? KernelArgument::tensor(options.bias->dtype, options.bias->data)
                      : KernelArgument::tensor(DType::f32, nullptr);
}

constexpr std::string_view kColumns[] = {"none", "of_b", "of_both"};

}  // namespace

std::uint64_t PreparedGemmNvfp4::Request::word() const {
  return request_word(OpKind::gemm_nvfp4)
      .add<4>(out)
      .add<2>(layout)
      .add<1>(a_rows)
      .add<1>(b_rows)
      .add<1>(bias.has_value())
      .add<4>(bias.value_or(DType::bf16))
      .add<1>(accumulate)
      .add<1>(wide)
      .add<1>(grouped)
      .add<2>(columns)
      .add<1>(tile)
      .add<2>(math)
      .word();
}

PreparedGemmNvfp4::Request PreparedGemmNvfp4::Request::of(const QuantizedTensor& a,
                                                          const QuantizedTensor& b,
                                                          const Tensor& out,
                                                          const GemmNvfp4Options& options,
                                                          const Device& device) {
  Request request;
  request.out = out.dtype, request.layout = a.layout;
  request.a_rows = a.row_scaled, request.b_rows = b.row_scaled;
  if (options.bias) request.bias = options.bias->dtype;
  request.accumulate = options.accumulate;
  request.wide = is_wide(a, b, options.layout);
  // Large tiles where they are enough for every multiprocessor.
  const auto tiles = checked_product(ceil_div(out.rows(), 128), ceil_div(out.cols(), 128));
  if (tiles && *tiles < device.properties().sm_count) request.tile = GemmTile::small;
  return request;
}

PreparedGemmNvfp4::Request PreparedGemmNvfp4::Request::of(const QuantizedGroup& a,
                                                          const QuantizedGroup& b,
                                                          const Tensor& out,
                                                          const GemmNvfp4Options& options,
                                                          const Device& device) {
  Request request = of(a.whole, b.whole, out, options, device);
  request.grouped = true;
  request.wide = is_wide(a, b, options.layout);
  if (options.layout != "TN")
    request.columns = options.layout == "NN" ? GemmColumns::of_b : GemmColumns::of_both;
  return request;
}

Result<PreparedGemmNvfp4> PreparedGemmNvfp4::prepare(Runtime& runtime,
                                                     const std::shared_ptr<Device>& device,
                                                     const Request& request) {
  Bindings bindings;
  bindings.set("OUT", request.out).set("LAYOUT", layout_name(request.layout));
  bindings.set("A_ROWS", request.a_rows).set("B_ROWS", request.b_rows);
  bindings.set("BIAS", request.bias.has_value());
  bindings.set("BIAS_TYPE", request.bias.value_or(DType::f32));
  bindings.set("ACCUMULATE", request.accumulate).set("WIDE", request.wide);
  bindings.set("GROUPED", request.grouped);
  bindings.set("COLUMNS", name_of(request.columns, kColumns));
  if (request.math != GemmMath::f16) {
    bindings.set("MATH", request.math == GemmMath::s8 ? "s8" : "dp4a");
  }
  if (request.tile == GemmTile::small || request.math == GemmMath::dp4a)
    bindings.set("M_TILE", 64).set("N_TILE", 64);
  PreparedGemmNvfp4 prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, kName, bindings));
  return prepared;
}

Result<void> PreparedGemmNvfp4::check_request(Request asked) const {
  if (request_.wide && !asked.wide) {
    return Error{ErrorCode::misaligned,
                 cat(kName,
                     ": prepared for codes from multiples of 16 bytes on and K of pairs of "
                     "blocks, which these are not"),
                 "prepare with wide = false"};
  }
  asked.wide = request_.wide, asked.tile = request_.tile, asked.math = request_.math;
  if (asked == request_) return {};
  return Error{
      ErrorCode::not_supported,
      cat(kName, ": prepared for other operands: a row_scaled = ", request_.a_rows,
          ", b row_scaled = ", request_.b_rows, ", ", layout_name(request_.layout), " scales, out ",
          dtype_name(request_.out), ", bias = ", request_.bias.has_value(),
          ", accumulate = ", request_.accumulate, ", grouped = ", request_.grouped,
          ", columns = ", name_of(request_.columns, kColumns)),
      "prepare with Request::of these operands"};
}

Result<void> PreparedGemmNvfp4::run(const QuantizedTensor& a, const QuantizedTensor& b,
                                    const Tensor& out, const GemmNvfp4Options& options,
                                    Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_CHECK(check_request(Request::of(a, b, out, options, kernel_->device())));
  if (options.path == "cublaslt") {
    return Error{ErrorCode::not_supported, cat(kName, ": prepared for path own, not cublaslt"),
                 "prepare a PreparedGemmCublaslt, or path = \"own\""};
  }
  if (out.rows() * out.cols() == 0) return {};
  const GemmOperand left = operand_a(a, options.layout), right = operand_b(b, options.layout);
  const auto none = KernelArgument::tensor(DType::u8, nullptr);
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::u8, left.side().data),
                                      gemm_scales(left),
                                      KernelArgument::tensor(DType::f32, left.side().amax),
                                      KernelArgument::tensor(DType::u8, right.side().data),
                                      gemm_scales(right),
                                      KernelArgument::tensor(DType::f32, right.side().amax),
                                      gemm_bias(options),
                                      KernelArgument::tensor(out.dtype, out.data),
                                      none,
                                      none,
                                      rows_argument(out),
                                      cols_argument(out),
                                      KernelArgument::size(left.depth()),
                                      KernelArgument::size(0),
                                      KernelArgument::size(0),
                                      KernelArgument::scalar(options.alpha),
                                      gemm_unit(a, b)};
  return launch_op(kName, *kernel_, arguments, stream);
}

Result<void> PreparedGemmNvfp4::run(const QuantizedGroup& a, const QuantizedGroup& b,
                                    const Tensor& out, const GemmNvfp4Options& options,
                                    Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_CHECK(check_request(Request::of(a, b, out, options, kernel_->device())));
  if (a.count == 0) return {};
  const bool of_rows = request_.columns == GemmColumns::of_both;
  const auto none = [](DType type) { return KernelArgument::tensor(type, nullptr); };
  const KernelArgument arguments[] = {none(DType::u8),
                                      none(DType::e4m3),
                                      none(DType::f32),
                                      none(DType::u8),
                                      none(DType::e4m3),
                                      none(DType::f32),
                                      gemm_bias(options),
                                      KernelArgument::tensor(out.dtype, out.data),
                                      KernelArgument::tensor(DType::u8, a.members),
                                      KernelArgument::tensor(DType::u8, b.members),
                                      rows_argument(out),
                                      cols_argument(out),
                                      KernelArgument::size(of_rows ? 0 : a.whole.cols()),
                                      KernelArgument::size(a.count),
                                      KernelArgument::size(of_rows ? a.whole.cols() : 0),
                                      KernelArgument::scalar(options.alpha),
                                      gemm_unit(a.whole, b.whole)};
  return launch_op(kName, *kernel_, arguments, stream);
}

Result<void> gemm_nvfp4(Runtime& runtime, const QuantizedTensor& a, const QuantizedTensor& b,
                        const Tensor& out, const GemmNvfp4Options& options, Stream stream) {
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  DIECAST_TRY(const bool made, gemm_by_cublaslt(runtime, device, a, b, out, options, stream));
  if (made) return {};
  const auto request = PreparedGemmNvfp4::Request::of(a, b, out, options, *device);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedGemmNvfp4>(runtime, device, request, stream));
  return prepared->run(a, b, out, options, stream);
}

Result<void> gemm_nvfp4_grouped(Runtime& runtime, const QuantizedGroup& a, const QuantizedGroup& b,
                                const Tensor& out, const GemmNvfp4Options& options, Stream stream) {
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = PreparedGemmNvfp4::Request::of(a, b, out, options, *device);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedGemmNvfp4>(runtime, device, request, stream));
  return prepared->run(a, b, out, options, stream);
}

}  // namespace diecast
