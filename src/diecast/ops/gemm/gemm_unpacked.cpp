// gemm_nvfp4 by wgmma: unpack_product, then gemm_nvfp4_wgmma.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/gemm/gemm_operands.h>
#include <diecast/ops/gemm/gemm_unpacked.h>

namespace diecast {
namespace {

constexpr int kHopper = 90;                       // compute capability, times ten
constexpr std::int64_t kSide = 128, kDepth = 64;  // of a tile of numbers
constexpr std::int64_t kAlignment = 128;

// Unpacking takes as long as is gained where a matrix has about so many rows.
bool gains(const Tensor& out) {
  constexpr double kRows = 192;
  const auto rows = static_cast<double>(out.rows()), cols = static_cast<double>(out.cols());
  return rows * cols >= kRows * (rows + cols);
}

}  // namespace

GemmUnpackedRequest GemmUnpackedRequest::of(const QuantizedTensor& a, const QuantizedTensor& b,
                                            const Tensor& out, const GemmNvfp4Options& options) {
  return {GemmPathRequest::of(a, b, out, options), a.type.layout};
}

std::vector<KernelWanted> GemmUnpackedRequest::kernels(const DeviceProperties&) const {
  return {kernel_of("unpack_product", *this), kernel_of("gemm_nvfp4_wgmma", *this)};
}

std::int64_t GemmUnpackedRequest::scratch_bytes(std::int64_t rows, std::int64_t cols,
                                                std::int64_t depth) {
  const std::int64_t tiles = ceil_div(rows, kSide) + ceil_div(cols, kSide);
  return capped_product(capped_product(tiles, ceil_div(depth, kDepth)), kSide * kDepth * 2);
}

bool PreparedGemmUnpacked::runs_on(const Device& device) {
  return device.properties().cc == kHopper;
}

Result<void> PreparedGemmUnpacked::check(const Device& device, const QuantizedTensor& a,
                                         const QuantizedTensor&, const Tensor& out,
                                         const GemmNvfp4Options& options) {
  if (!runs_on(device)) {
    return Error{ErrorCode::not_supported,
                 cat("gemm_nvfp4: path unpacked: ", device.properties().name,
                     " is no GPU of compute capability 9.0"),
                 "path = \"own\", which runs everywhere"};
  }
  const std::int64_t depth = operand_a(a, options.layout).depth();
  if (depth == 0)
    return path_not_taken("unpacked", ErrorCode::shape_mismatch, "K is 0", "pass numbers");
  const std::int64_t bytes = Request::scratch_bytes(out.rows(), out.cols(), depth);
  return GemmScratch{.needed = bytes, .advised = bytes, .alignment = kAlignment}.check("unpacked",
                                                                                       options);
}

Result<PreparedGemmUnpacked> PreparedGemmUnpacked::prepare(Runtime& runtime,
                                                           const std::shared_ptr<Device>& device,
                                                           const Request& request) {
  DIECAST_CHECK(check_device(device));
  DIECAST_CHECK(check_values(request));
  DIECAST_TRY(const auto kernels,
              preload_all_for(runtime, device, request.kernels(device->properties())));
  PreparedGemmUnpacked prepared;
  prepared.request_ = request;
  prepared.unpack_ = kernels[0], prepared.product_ = kernels[1];
  return prepared;
}

Result<void> PreparedGemmUnpacked::run(const QuantizedTensor& a, const QuantizedTensor& b,
                                       const Tensor& out, const GemmNvfp4Options& options,
                                       Stream stream) const {
  DIECAST_CHECK(check_prepared(product_.get(), kName));
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_CHECK(check(product_->device(), a, b, out, options));
  const Request asked = Request::of(a, b, out, options);
  if (asked != request_)
    return not_as_prepared("gemm_nvfp4: path unpacked", "the product", request_, asked);
  return multiply(a, b, out, options, stream);
}

Result<void> PreparedGemmUnpacked::multiply(const QuantizedTensor& a, const QuantizedTensor& b,
                                            const Tensor& out, const GemmNvfp4Options& options,
                                            Stream stream) const {
  if (out.rows() == 0 || out.cols() == 0) return {};
  const GemmOperand left = operand_a(a, options.layout), right = operand_b(b, options.layout);
  DIECAST_CHECK(launch_op(kName, *unpack_,
                          args::UnpackProduct{.a_codes = left.side().data,
                                              .a_scales = scales_argument(left),
                                              .b_codes = right.side().data,
                                              .b_scales = scales_argument(right),
                                              .numbers = options.scratch,
                                              .rows = out.rows(),
                                              .cols = out.cols(),
                                              .depth = left.depth()},
                          stream));
  return launch_op(kName, *product_,
                   args::GemmNvfp4Wgmma{.numbers = options.scratch,
                                        .a_amax = left.side().amax,
                                        .b_amax = right.side().amax,
                                        .bias = {request_.bias_type, bias_data(options)},
                                        .out = {out.dtype, out.data},
                                        .rows = out.rows(),
                                        .cols = out.cols(),
                                        .depth = left.depth(),
                                        .alpha = options.alpha,
                                        .unit = gemm_unit(a, b)},
                   stream);
}

Result<bool> is_gemm_unpacked(const Device& device, const QuantizedTensor& a,
                              const QuantizedTensor& b, const Tensor& out,
                              const GemmNvfp4Options& options) {
  if (options.path != "unpacked" && (options.path != "auto" || !gains(out))) return false;
  const auto taken = PreparedGemmUnpacked::check(device, a, b, out, options);
  if (!taken && options.path != "auto") return taken.error();
  return taken.ok();
}

}  // namespace diecast
