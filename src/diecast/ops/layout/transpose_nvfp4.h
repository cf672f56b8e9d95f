// The transpose of packed codes, and of a whole matrix quantized in 16x16 blocks: the columnwise
// side made of the rowwise one, without the unquantized matrix.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/layout/arrange_scales.h>
#include <diecast/ops/one_kernel.h>
#include <diecast/ops/quantized_tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace diecast {

struct TransposeOptions {
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// E2M1 codes of [rows, cols], two a byte and low nibble first, to those of [cols, rows]. A row of n
// codes has align_up(n, pad) / 2 bytes, pad 2 or 16; what pads a row is not read, and written as
// zeros. Any rows and cols, any addresses; the buffers do not overlap. Errors: missing_buffer,
// shape_mismatch, value_not_allowed (pad), those of preparing.
Result<void> transpose_codes(Runtime& runtime, const void* codes, std::int64_t rows,
                             std::int64_t cols, int pad, void* transposed,
                             const TransposeOptions& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_transpose_codes(const void* codes, std::int64_t rows, std::int64_t cols, int pad,
                                   const void* transposed);

// Fills x.columnwise (codes, scales, amax) from x.rowwise, equal to the bit to quantizing
// columnwise. x: NVFP4 in 16x16 blocks with both sides present, for only such blocks are the
// transpose's too; any layout; codes from a multiple of 4 bytes on. Errors: not_supported,
// misaligned, and those of QuantizedTensor::check and of preparing.
Result<void> transpose_nvfp4(Runtime& runtime, const QuantizedTensor& x,
                             const TransposeOptions& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_transpose_nvfp4(const QuantizedTensor& x);

struct TransposeCodesRequest {
  static constexpr std::string_view kName = "transpose_codes";
  int pad = 16;
  bool aligned = true;  // rows of whole words of 8 codes, from a multiple of 4 bytes on

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("PAD", self.pad), as("ALIGNED", self.aligned);
  }
  // What transpose_codes() prepares for such arguments.
  static TransposeCodesRequest of(const void* codes, std::int64_t rows, std::int64_t cols, int pad,
                                  const void* transposed);
  KernelWanted kernel(const DeviceProperties& device) const;
};

class PreparedTransposeCodes : public OneKernel<PreparedTransposeCodes, TransposeCodesRequest> {
 public:
  // Errors: as transpose_codes(); misaligned when the matrices break the request.
  Result<void> run(const void* codes, std::int64_t rows, std::int64_t cols, void* transposed,
                   Stream stream) const;
};

struct TransposeNvfp4Request {
  static constexpr std::string_view kName = "transpose_nvfp4";
  ScaleLayout layout = ScaleLayout::linear;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("layout", self.layout);
  }
  TransposeCodesRequest codes() const { return {}; }
  ArrangeScalesRequest scales() const { return {.from = layout, .to = layout, .tiles = true}; }
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
};

class PreparedTransposeNvfp4 {
 public:
  using Request = TransposeNvfp4Request;
  static constexpr std::string_view kName = Request::kName;
  // Errors: value_not_allowed (a field that is no value of its enum), those of
  // Runtime::specialize_for and Runtime::preload.
  static Result<PreparedTransposeNvfp4> prepare(Runtime& runtime,
                                                const std::shared_ptr<Device>& device,
                                                const Request& request);

  // Errors: as transpose_nvfp4(); not_supported for scales in another layout than the request's.
  Result<void> run(const QuantizedTensor& x, Stream stream) const;

 private:
  Request request_;
  std::shared_ptr<Device> device_;
  PreparedTransposeCodes codes_;
  PreparedArrangeScales scales_;
};

}  // namespace diecast
