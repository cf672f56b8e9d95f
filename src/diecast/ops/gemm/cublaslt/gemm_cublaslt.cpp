// gemm_nvfp4 by cuBLASLt: product_factor and the product, or the sums and finish_product.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/gemm/cublaslt/gemm_cublaslt.h>
#include <diecast/ops/gemm/cublaslt/product.h>
#include <diecast/ops/gemm/gemm_operands.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace diecast {
namespace {

constexpr int kFirstFp4 = 100;                      // compute capability, times ten
constexpr std::int64_t kFactorBytes = 256;          // alpha, beta, and nothing up to what follows
constexpr std::int64_t kWorkspaceBytes = 32 << 20;  // what NVIDIA advises from Hopper on
constexpr float kOne = 1.0f, kZero = 0.0f;

Error not_taken(ErrorCode code, std::string_view what, std::string_view fix) {
  return path_not_taken("cublaslt", code, what, fix);
}

bool at_multiple(const void* address, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

Result<void> check_starts(const GemmOperand& x) {
  if (at_multiple(x.side().data, 16) && at_multiple(x.side().scale, 16)) return {};
  return not_taken(ErrorCode::misaligned,
                   cat("codes or scales of ", x.name, " do not start at a multiple of 16 bytes"),
                   "start them at one");
}

// The errors of check() but for those of the library.
Result<void> check_taken(const Device& device, const QuantizedTensor& a, const QuantizedTensor& b,
                         const Tensor& out, const GemmNvfp4Options& options) {
  if (!PreparedGemmCublaslt::runs_on(device)) {
    return Error{
        ErrorCode::not_supported,
        cat("gemm_nvfp4: path cublaslt: ", device.properties().name, " has no FP4 tensor cores"),
        "path = \"own\", which runs everywhere, or a GPU of compute capability 10.0 on"};
  }
  if (a.type.layout != ScaleLayout::s128x4) {
    return not_taken(ErrorCode::not_supported, cat("scales are ", word(a.type.layout)),
                     "quantize with layout s128x4, or arrange_scales");
  }
  const GemmOperand left = operand_a(a, options.layout), right = operand_b(b, options.layout);
  if (left.depth() == 0 || left.depth() % 32 != 0 || out.cols() % 8 != 0) {
    return not_taken(ErrorCode::shape_mismatch,
                     cat("K = ", left.depth(), ", N = ", out.cols(),
                         ": rows of codes and of out are no whole pieces of 16 bytes"),
                     "pad K to a multiple of 32 and N to one of 8");
  }
  DIECAST_CHECK(check_starts(left));
  DIECAST_CHECK(check_starts(right));
  if (!at_multiple(out.data, 16)) {
    return not_taken(ErrorCode::misaligned, "out does not start at a multiple of 16 bytes",
                     "start it at one");
  }
  const auto request = GemmCublasltRequest::of(a, b, out, options);
  const GemmScratch scratch{.needed = request.needed_bytes(out.rows(), out.cols()),
                            .advised = request.scratch_bytes(out.rows(), out.cols()),
                            .more = ", cuBLASLt's workspace among them",
                            .alignment = kFactorBytes};
  return scratch.check("cublaslt", options);
}

// What cuBLASLt is told of a product whose operands and scratch have been checked.
cublaslt::Product told(const GemmCublasltRequest& request, const GemmOperand& a,
                       const GemmOperand& b, const Tensor& out, const GemmNvfp4Options& options) {
  cublaslt::Product product;
  product.a = {a.side().data, a.side().scale};
  product.b = {b.side().data, b.side().scale};
  product.rows = out.rows(), product.cols = out.cols(), product.depth = a.depth();
  const std::int64_t taken = request.needed_bytes(out.rows(), out.cols());
  auto* const scratch = static_cast<std::uint8_t*>(options.scratch);
  product.alpha = &kOne, product.beta = &kZero;
  if (request.is_direct()) {
    product.out = out.data, product.out_type = out.dtype;
    product.alpha = scratch, product.beta = scratch + sizeof(float);
    product.factors_on_device = true;
  } else {
    product.out = request.is_in_place() ? out.data : scratch;
  }
  if (scratch != nullptr && options.scratch_bytes > taken) {
    product.workspace = scratch + taken;
    product.workspace_bytes = options.scratch_bytes - taken;
  }
  return product;
}

}  // namespace

GemmCublasltRequest GemmCublasltRequest::of(const QuantizedTensor& a, const QuantizedTensor& b,
                                            const Tensor& out, const GemmNvfp4Options& options) {
  return {GemmPathRequest::of(a, b, out, options)};
}

bool GemmCublasltRequest::is_direct() const {
  return !a_rows && !b_rows && !bias && !accumulate && out != DType::f16;
}

KernelWanted GemmCublasltRequest::kernel(const DeviceProperties&) const {
  if (is_direct()) return {"product_factor", {}};
  return kernel_of("finish_product", *this, {{"IN_PLACE", Value::boolean(is_in_place())}});
}

std::int64_t GemmCublasltRequest::needed_bytes(std::int64_t rows, std::int64_t cols) const {
  if (is_direct()) return kFactorBytes;
  if (is_in_place()) return 0;
  const std::int64_t sums = capped_product(capped_product(rows, cols), sizeof(float));
  return capped_product(ceil_div(sums, 256), 256);
}

std::int64_t GemmCublasltRequest::scratch_bytes(std::int64_t rows, std::int64_t cols) const {
  const std::int64_t needed = needed_bytes(rows, cols);
  return needed + std::min(kWorkspaceBytes, std::numeric_limits<std::int64_t>::max() - needed);
}

bool PreparedGemmCublaslt::runs_on(const Device& device) {
  return device.properties().cc >= kFirstFp4;
}

Result<void> PreparedGemmCublaslt::check(const Device& device, const QuantizedTensor& a,
                                         const QuantizedTensor& b, const Tensor& out,
                                         const GemmNvfp4Options& options) {
  DIECAST_CHECK(check_taken(device, a, b, out, options));
  const auto api = cublaslt::shared_api();
  if (api) return {};
  return api.error();
}

Result<PreparedGemmCublaslt> PreparedGemmCublaslt::prepare(Runtime& runtime,
                                                           const std::shared_ptr<Device>& device,
                                                           const Request& request) {
  DIECAST_CHECK(check_device(device));
  DIECAST_CHECK(check_values(request));
  PreparedGemmCublaslt prepared;
  prepared.request_ = request;
  prepared.device_ = device;
  DIECAST_TRY(prepared.api_, cublaslt::shared_api());
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, request.kernel(device->properties())));
  // Last, because it stays until the process ends: what fails before leaves none behind.
  DIECAST_CHECK(device->in_context([&] {
    return prepared.api_->done("cublasLtCreate",
                               prepared.api_->call.cublasLtCreate(&prepared.context_));
  }));
  return prepared;
}

Result<void> PreparedGemmCublaslt::check_request(const Request& asked) const {
  if (asked == request_) return {};
  return not_as_prepared("gemm_nvfp4: path cublaslt", "the product", request_, asked);
}

Result<void> PreparedGemmCublaslt::plan(const QuantizedTensor& a, const QuantizedTensor& b,
                                        const Tensor& out, const GemmNvfp4Options& options,
                                        cublaslt::Product& product,
                                        cublaslt::Described& described) const {
  product =
      told(request_, operand_a(a, options.layout), operand_b(b, options.layout), out, options);
  DIECAST_CHECK(described.make(product));
  return device_->in_context([&] { return described.choose(context_); });
}

Result<void> PreparedGemmCublaslt::run(const QuantizedTensor& a, const QuantizedTensor& b,
                                       const Tensor& out, const GemmNvfp4Options& options,
                                       Stream stream) const {
  DIECAST_CHECK(check_prepared(device_.get(), kName));
  DIECAST_CHECK(check_gemm(a, b, out, options));
  DIECAST_CHECK(check_taken(*device_, a, b, out, options));
  DIECAST_CHECK(check_request(Request::of(a, b, out, options)));
  return multiply(a, b, out, options, stream);
}

Result<void> PreparedGemmCublaslt::multiply(const QuantizedTensor& a, const QuantizedTensor& b,
                                            const Tensor& out, const GemmNvfp4Options& options,
                                            Stream stream) const {
  if (out.rows() == 0 || out.cols() == 0) return {};
  cublaslt::Product product;
  cublaslt::Described described(api_);
  DIECAST_CHECK(plan(a, b, out, options, product, described));
  const float* const a_amax = operand_a(a, options.layout).side().amax;
  const float* const b_amax = operand_b(b, options.layout).side().amax;
  if (request_.is_direct()) {
    DIECAST_CHECK(launch_op(kName, *kernel_,
                            args::ProductFactor{.a_amax = a_amax,
                                                .b_amax = b_amax,
                                                .factors = product.alpha,
                                                .count = 1,
                                                .alpha = options.alpha,
                                                .unit = gemm_unit(a, b)},
                            stream));
  }
  const auto multiply = [&] { return described.multiply(context_, stream.handle); };
  DIECAST_CHECK(device_->in_context(std::ref(multiply)));  // a copy would take memory
  if (request_.is_direct()) return {};
  return launch_op(kName, *kernel_,
                   args::FinishProduct{.sums = request_.is_in_place() ? nullptr : product.out,
                                       .a_amax = a_amax,
                                       .b_amax = b_amax,
                                       .bias = {request_.bias_type, bias_data(options)},
                                       .out = {out.dtype, out.data},
                                       .rows = rows_argument(out),
                                       .cols = out.cols(),
                                       .alpha = options.alpha,
                                       .unit = gemm_unit(a, b)},
                   stream);
}

namespace {

// The prepared product, or null where `path` leaves it to our own kernels.
Result<const PreparedGemmCublaslt*> prepared_unless_own(
    Runtime& runtime, const std::shared_ptr<Device>& device, const QuantizedTensor& a,
    const QuantizedTensor& b, const Tensor& out, const GemmNvfp4Options& options, Stream stream) {
  const PreparedGemmCublaslt* none = nullptr;
  if (options.path != "cublaslt" && options.path != "auto") return none;
  const auto taken = PreparedGemmCublaslt::check(*device, a, b, out, options);
  if (!taken && options.path == "auto") return none;
  DIECAST_CHECK(taken);
  return prepared_once<PreparedGemmCublaslt>(runtime, device,
                                             GemmCublasltRequest::of(a, b, out, options), stream);
}

// Whether cuBLASLt had an algorithm; that it has none is an error unless `path` is auto.
Result<bool> had_algorithm(const Result<void>& done, const GemmNvfp4Options& options) {
  if (done) return true;
  if (options.path == "auto" && done.error().code == ErrorCode::not_supported) return false;
  return done.error();
}

}  // namespace

Result<bool> gemm_by_cublaslt(Runtime& runtime, const std::shared_ptr<Device>& device,
                              const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                              const GemmNvfp4Options& options, Stream stream) {
  DIECAST_TRY(const auto* prepared,
              prepared_unless_own(runtime, device, a, b, out, options, stream));
  if (prepared == nullptr) return false;
  return had_algorithm(prepared->multiply(a, b, out, options, stream), options);
}

Result<bool> is_gemm_by_cublaslt(Runtime& runtime, const std::shared_ptr<Device>& device,
                                 const QuantizedTensor& a, const QuantizedTensor& b,
                                 const Tensor& out, const GemmNvfp4Options& options) {
  DIECAST_TRY(const auto* prepared, prepared_unless_own(runtime, device, a, b, out, options, {}));
  if (prepared == nullptr) return false;
  if (out.rows() == 0 || out.cols() == 0) return true;
  cublaslt::Product product;
  cublaslt::Described described(prepared->api_);
  return had_algorithm(prepared->plan(a, b, out, options, product, described), options);
}

}  // namespace diecast
