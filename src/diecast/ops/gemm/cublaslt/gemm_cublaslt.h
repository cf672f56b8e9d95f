// gemm_nvfp4 by cuBLASLt, on GPUs with FP4 tensor cores: what its path "cublaslt" prepares and
// runs. Its arguments are tested through a fake library; no such GPU was at hand to run it on.
#pragma once

#include <diecast/ops/gemm/gemm_path.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace diecast {

namespace cublaslt {
struct Api;
struct Context;
struct Product;
class Described;
}  // namespace cublaslt

struct GemmCublasltRequest : GemmPathRequest {
  static constexpr std::string_view kName = "gemm_nvfp4 by cublaslt";

  static GemmCublasltRequest of(const QuantizedTensor& a, const QuantizedTensor& b,
                                const Tensor& out, const GemmNvfp4Options& options);
  // Whether cuBLASLt writes out itself. Else it makes f32 sums, and one pass over them the rest.
  bool is_direct() const;
  // Where those sums stand: out where they are what it holds until that pass, else scratch.
  bool is_in_place() const { return !is_direct() && out == DType::f32 && !accumulate; }
  // The kernel before a product that is direct, else the pass after it.
  KernelWanted kernel(const DeviceProperties& device) const;
  // Bytes that an [M, N] product cannot do without, and those with cuBLASLt's workspace; at most
  // 2^63 - 1.
  std::int64_t needed_bytes(std::int64_t rows, std::int64_t cols) const;
  std::int64_t scratch_bytes(std::int64_t rows, std::int64_t cols) const;
};

class PreparedGemmCublaslt {
 public:
  using Request = GemmCublasltRequest;
  static constexpr std::string_view kName = Request::kName;

  static bool runs_on(const Device& device);  // a GPU with FP4 tensor cores
  // What this path does not take, before anything is prepared. Errors: not_supported (a GPU without
  // FP4 tensor cores, cuBLASLt older than 12.8, scales that are not s128x4), file_not_found (no
  // cuBLASLt), shape_mismatch (K, N), misaligned (codes, scales, out, scratch), missing_buffer
  // (scratch).
  static Result<void> check(const Device& device, const QuantizedTensor& a,
                            const QuantizedTensor& b, const Tensor& out,
                            const GemmNvfp4Options& options);
  // Opens cuBLASLt. Errors: as check(); driver_error (it does not start), those of preparing.
  static Result<PreparedGemmCublaslt> prepare(Runtime& runtime,
                                              const std::shared_ptr<Device>& device,
                                              const Request& request);

  const Request& request() const { return request_; }
  std::int64_t scratch_bytes(std::int64_t rows, std::int64_t cols) const {  // for [M, N]
    return request_.scratch_bytes(rows, cols);
  }
  // options.path is not looked at. cuBLASLt may load a kernel in the first call of a shape, so make
  // that call before a capture. Errors: as gemm_nvfp4() and check();
  // not_supported (cuBLASLt has no algorithm: nothing was enqueued), driver_error.
  Result<void> run(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                   const GemmNvfp4Options& options, Stream stream) const;

 private:
  friend Result<bool> gemm_by_cublaslt(Runtime&, const std::shared_ptr<Device>&,
                                       const QuantizedTensor&, const QuantizedTensor&,
                                       const Tensor&, const GemmNvfp4Options&, Stream);
  friend Result<bool> is_gemm_by_cublaslt(Runtime&, const std::shared_ptr<Device>&,
                                          const QuantizedTensor&, const QuantizedTensor&,
                                          const Tensor&, const GemmNvfp4Options&);
  // run() of operands that are checked.
  Result<void> multiply(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                        const GemmNvfp4Options& options, Stream stream) const;
  // Its first half, which enqueues nothing: cuBLASLt's algorithm is chosen. `out` is not empty.
  Result<void> plan(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                    const GemmNvfp4Options& options, cublaslt::Product& product,
                    cublaslt::Described& described) const;
  Result<void> check_request(const Request& asked) const;

  Request request_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<const cublaslt::Api> api_;
  // Until the process ends: destroying it would wait for the device, whose context may be gone.
  cublaslt::Context* context_ = nullptr;
  std::shared_ptr<Kernel> kernel_;  // product_factor where out is direct, else finish_product
};

// gemm_nvfp4 where its path may be cuBLASLt's: false where it is not, and nothing was enqueued.
Result<bool> gemm_by_cublaslt(Runtime& runtime, const std::shared_ptr<Device>& device,
                              const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                              const GemmNvfp4Options& options, Stream stream);
// Whether it would be; nothing is enqueued.
Result<bool> is_gemm_by_cublaslt(Runtime& runtime, const std::shared_ptr<Device>& device,
                                 const QuantizedTensor& a, const QuantizedTensor& b,
                                 const Tensor& out, const GemmNvfp4Options& options);

}  // namespace diecast
