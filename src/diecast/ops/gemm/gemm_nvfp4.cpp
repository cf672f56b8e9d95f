// gemm_nvfp4, of two matrices or of the members of two groups: one launch.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/gemm/cublaslt/gemm_cublaslt.h>
#include <diecast/ops/gemm/gemm_nvfp4.h>
#include <diecast/ops/gemm/gemm_operands.h>
#include <diecast/ops/gemm/gemm_unpacked.h>

namespace diecast {
GemmNvfp4Request GemmNvfp4Request::of(const QuantizedTensor& a, const QuantizedTensor& b,
                                      const Tensor& out, const GemmNvfp4Options& options,
                                      const DeviceProperties& device) {
  GemmNvfp4Request request{.out = out.dtype,
                           .layout = a.type.layout,
                           .a_rows = a.type.row_scaled,
                           .b_rows = b.type.row_scaled,
                           .bias = options.bias.has_value(),
                           .accumulate = options.accumulate,
                           .aligned = is_aligned(a, b, options.layout)};
  if (options.bias) request.bias_type = options.bias->dtype;
  // Large tiles where they are enough for every multiprocessor.
  const auto tiles = checked_product(ceil_div(out.rows(), 128), ceil_div(out.cols(), 128));
  if (tiles && *tiles < device.sm_count) request.tile = GemmTile::small;
  return request;
}

GemmNvfp4Request GemmNvfp4Request::of(const QuantizedGroup& a, const QuantizedGroup& b,
                                      const Tensor& out, const GemmNvfp4Options& options,
                                      const DeviceProperties& device) {
  GemmNvfp4Request request = of(a.whole, b.whole, out, options, device);
  request.grouped = true;
  request.aligned = is_aligned(a, b, options.layout);
  if (options.layout != "TN")
    request.columns = options.layout == "NN" ? GemmColumns::b : GemmColumns::both;
  return request;
}

KernelWanted GemmNvfp4Request::kernel(const DeviceProperties&) const {
  Bindings tunes;
  if (math != GemmMath::f16) tunes.set("MATH", word(math));
  if (tile == GemmTile::small || math == GemmMath::dp4a) tunes.set("M_TILE", 64).set("N_TILE", 64);
  return kernel_of(kName, *this, std::move(tunes));
}

Result<void> PreparedGemmNvfp4::check_request(Request asked) const {
  if (request_.aligned && !asked.aligned) {
    return Error{ErrorCode::misaligned,
                 cat(kName,
                     ": prepared for codes from multiples of 16 bytes on and K of pairs of "
                     "blocks, which these are not"),
                 "prepare with aligned = false"};
  }
  asked.aligned = request_.aligned, asked.tile = request_.tile, asked.math = request_.math;
  if (asked == request_) return {};
  return not_as_prepared(kName, "the product", request_, asked);
}

Result<void> PreparedGemmNvfp4::run(const QuantizedTensor& a, const QuantizedTensor& b,
                                    const Tensor& out, const GemmNvfp4Options& options,
                                    Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_CHECK(check_request(Request::of(a, b, out, options, kernel_->device().properties())));
  if (options.path == "cublaslt" || options.path == "unpacked") {
    const std::string_view other = options.path == "cublaslt" ? "Cublaslt" : "Unpacked";
    return Error{ErrorCode::not_supported,
                 cat(kName, ": prepared for path own, not ", options.path),
                 cat("prepare a PreparedGemm", other, ", or path = \"own\"")};
  }
  return multiply(a, b, out, options, stream);
}

Result<void> PreparedGemmNvfp4::multiply(const QuantizedTensor& a, const QuantizedTensor& b,
                                         const Tensor& out, const GemmNvfp4Options& options,
                                         Stream stream) const {
  if (out.rows() * out.cols() == 0) return {};
  const GemmOperand left = operand_a(a, options.layout), right = operand_b(b, options.layout);
  return launch(args::GemmNvfp4{.a_codes = left.side().data,
                                .a_scales = scales_argument(left),
                                .a_amax = left.side().amax,
                                .b_codes = right.side().data,
                                .b_scales = scales_argument(right),
                                .b_amax = right.side().amax,
                                .bias = {request_.bias_type, bias_data(options)},
                                .out = {out.dtype, out.data},
                                .rows = rows_argument(out),
                                .cols = out.cols(),
                                .depth = left.depth(),
                                .count = 0,
                                .member_rows = 0,
                                .alpha = options.alpha,
                                .unit = gemm_unit(a, b)},
                stream);
}

Result<void> PreparedGemmNvfp4::run(const QuantizedGroup& a, const QuantizedGroup& b,
                                    const Tensor& out, const GemmNvfp4Options& options,
                                    Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_CHECK(check_request(Request::of(a, b, out, options, kernel_->device().properties())));
  return multiply(a, b, out, options, stream);
}

Result<void> PreparedGemmNvfp4::multiply(const QuantizedGroup& a, const QuantizedGroup& b,
                                         const Tensor& out, const GemmNvfp4Options& options,
                                         Stream stream) const {
  if (a.count == 0) return {};
  const bool of_rows = request_.columns == GemmColumns::both;
  return launch(args::GemmNvfp4{.bias = {request_.bias_type, bias_data(options)},
                                .out = {out.dtype, out.data},
                                .a_members = a.members,
                                .b_members = b.members,
                                .rows = rows_argument(out),
                                .cols = out.cols(),
                                .depth = of_rows ? 0 : a.whole.cols(),
                                .count = a.count,
                                .member_rows = of_rows ? a.whole.cols() : 0,
                                .alpha = options.alpha,
                                .unit = gemm_unit(a.whole, b.whole)},
                stream);
}

Result<void> gemm_nvfp4(Runtime& runtime, const QuantizedTensor& a, const QuantizedTensor& b,
                        const Tensor& out, const GemmNvfp4Options& options, Stream stream) {
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  DIECAST_TRY(const bool made, gemm_by_cublaslt(runtime, device, a, b, out, options, stream));
  if (made) return {};
  DIECAST_TRY(const bool unpacked, is_gemm_unpacked(*device, a, b, out, options));
  if (unpacked) {
    const auto asked = GemmUnpackedRequest::of(a, b, out, options);
    DIECAST_TRY(const auto by_wgmma,
                prepared_once<PreparedGemmUnpacked>(runtime, device, asked, stream));
    return by_wgmma->multiply(a, b, out, options, stream);
  }
  const auto request = GemmNvfp4Request::of(a, b, out, options, device->properties());
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedGemmNvfp4>(runtime, device, request, stream));
  return prepared->multiply(a, b, out, options, stream);
}

Result<std::string_view> gemm_nvfp4_path(Runtime& runtime, const QuantizedTensor& a,
                                         const QuantizedTensor& b, const Tensor& out,
                                         const GemmNvfp4Options& options) {
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  DIECAST_TRY(const bool library, is_gemm_by_cublaslt(runtime, device, a, b, out, options));
  if (library) return std::string_view("cublaslt");
  DIECAST_TRY(const bool unpacked, is_gemm_unpacked(*device, a, b, out, options));
  return std::string_view(unpacked ? "unpacked" : "own");
}

Result<void> gemm_nvfp4_grouped(Runtime& runtime, const QuantizedGroup& a, const QuantizedGroup& b,
                                const Tensor& out, const GemmNvfp4Options& options, Stream stream) {
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = GemmNvfp4Request::of(a, b, out, options, device->properties());
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedGemmNvfp4>(runtime, device, request, stream));
  return prepared->multiply(a, b, out, options, stream);
}

}  // namespace diecast
