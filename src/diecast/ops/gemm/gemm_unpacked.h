// gemm_nvfp4 by Hopper's wgmma: a pass that unpacks both operands into scratch, and the product of
// what it wrote. The same bits as gemm_nvfp4's own kernel. What its path "unpacked" prepares and
// runs.
#pragma once

#include <diecast/ops/gemm/gemm_path.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace diecast {

struct GemmUnpackedRequest : GemmPathRequest {
  static constexpr std::string_view kName = "gemm_nvfp4_unpacked";
  ScaleLayout layout = ScaleLayout::linear;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    GemmPathRequest::fields(self, as), as("LAYOUT", self.layout);
  }
  static GemmUnpackedRequest of(const QuantizedTensor& a, const QuantizedTensor& b,
                                const Tensor& out, const GemmNvfp4Options& options);
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
  // Bytes for an [M, N] product over K, two for each number of the operands, M and N rounded up to
  // 128 and K to 64; at most 2^63 - 1.
  static std::int64_t scratch_bytes(std::int64_t rows, std::int64_t cols, std::int64_t depth);
};

class PreparedGemmUnpacked {
 public:
  using Request = GemmUnpackedRequest;
  static constexpr std::string_view kName = Request::kName;

  static bool runs_on(const Device& device);  // a GPU of compute capability 9.0
  // What this path does not take, before anything is prepared. Errors: not_supported (another GPU),
  // shape_mismatch (K is 0), missing_buffer, misaligned (scratch).
  static Result<void> check(const Device& device, const QuantizedTensor& a,
                            const QuantizedTensor& b, const Tensor& out,
                            const GemmNvfp4Options& options);
  // Errors: those of preparing.
  static Result<PreparedGemmUnpacked> prepare(Runtime& runtime,
                                              const std::shared_ptr<Device>& device,
                                              const Request& request);

  const Request& request() const { return request_; }
  // options.path is not looked at. Errors: as gemm_nvfp4() and check(); misaligned (codes).
  Result<void> run(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                   const GemmNvfp4Options& options, Stream stream) const;

 private:
  friend Result<void> gemm_nvfp4(Runtime&, const QuantizedTensor&, const QuantizedTensor&,
                                 const Tensor&, const GemmNvfp4Options&, Stream);
  // run() of operands that are checked.
  Result<void> multiply(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                        const GemmNvfp4Options& options, Stream stream) const;

  Request request_;
  std::shared_ptr<Kernel> unpack_, product_;
};

// Whether gemm_nvfp4's path is this one, for operands that path "cublaslt" does not take: it was
// named, or it is auto and the product is large enough to gain by it. Errors: those of check(), of
// a path that was named.
Result<bool> is_gemm_unpacked(const Device& device, const QuantizedTensor& a,
                              const QuantizedTensor& b, const Tensor& out,
                              const GemmNvfp4Options& options);

}  // namespace diecast
