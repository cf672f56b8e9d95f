// NVFP4 codes and scales back to a matrix of bf16, f16 or f32, in one of two stated forms.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/argument.h>
#include <diecast/launch/device.h>
#include <diecast/ops/one_kernel.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>

namespace diecast {

// What the side's amax holds, and so how an element is made; each product is one f32 rounding.
enum class GlobalForm : std::uint8_t {
  amax,   // the amax the quantizer had:       e2m1 * ((scale * amax) * fl(1 / (6 * e4m3_bound)))
  decode  // the decode scale of a checkpoint: (e2m1 * scale) * scale_2
};
constexpr auto words_of(GlobalForm) { return std::to_array<std::string_view>({"amax", "decode"}); }

struct DequantizeNvfp4Options {
  GlobalForm form = GlobalForm::amax;
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
  bool columnwise = false;           // x's columnwise side is read, as it is where x has no other
};

// x: NVFP4, 1x16 or 16x16 blocks along rows or columns, any scale layout, per tensor or row-scaled.
// out: bf16, f16 or f32 of x's shape, rows may be apart. A scale byte 0x7F gives NaN. With
// out.device_rows x's columnwise buffers are as for that many rows. Errors: dtype_mismatch,
// missing_buffer, misaligned, shape_mismatch, not_supported, value_not_allowed (no form), and those
// of preparing.
Result<void> dequantize_nvfp4(Runtime& runtime, const QuantizedTensor& x, const Tensor& out,
                              const DequantizeNvfp4Options& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_dequantize_nvfp4(const QuantizedTensor& x, const Tensor& out, bool columnwise);

struct Fp4DequantizeOptions {
  int block_size = 16;               // 8, 16, 32, 64 or 128 neighbours share a scale
  int tile_size = 128;               // speed only: 64 to 1024 elements that threads take together
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// ModelOpt's form: packed u8 [..., N/2], the even column in the low nibble; scale e4m3
// [..., ceil_div(N, block_size)]; global_scale f32 [1] in device memory; out [..., N] of bf16, f16
// or f32. Of any size; rows of packed, scale and out may be apart; no byte outside of them is read.
// out = (e2m1 * scale) * global_scale.
// Errors: value_not_allowed (sizes), dtype_mismatch, missing_buffer, misaligned, shape_mismatch,
// and those of preparing.
Result<void> fp4_dequantize(Runtime& runtime, const Tensor& packed, const Tensor& scale,
                            const float* global_scale, const Tensor& out,
                            const Fp4DequantizeOptions& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_fp4_dequantize(const Tensor& packed, const Tensor& scale,
                                  const float* global_scale, const Tensor& out,
                                  const Fp4DequantizeOptions& options);

struct DequantizeNvfp4Request {
  static constexpr std::string_view kName = "dequantize_nvfp4";
  DType out = DType::bf16;
  GlobalForm form = GlobalForm::amax;
  ScaleLayout layout = ScaleLayout::linear;
  bool row_scaled = false;
  bool columnwise = false;         // x.columnwise is read; rows and block have no meaning then
  bool scales_apart = false;       // rows of linear scales may be apart
  std::uint16_t e4m3_bound = 448;  // 448 with form = decode: a decode scale has no bound left in it
  int block = 16;
  int threads = 0;  // 0: as tuned
  // Promised of every out to come: see rows_class(). `any` unless rows are whole blocks and the
  // codes dense.
  RowsClass rows = RowsClass::dense;
  std::int64_t cols = 0;  // not 0: the kernel is made for this row length

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("OUT", self.out), as("GLOBAL", self.form), as("LAYOUT", self.layout);
    as("ROW_SCALE", self.row_scaled), as("columnwise", self.columnwise);
    as("SCALES_APART", self.scales_apart), as("BOUND", self.e4m3_bound), as("BLOCK", self.block);
    as("threads", self.threads), as("ROWS", self.rows), as("COLS", self.cols);
  }
  // What x and out ask for.
  static DequantizeNvfp4Request of(const QuantizedTensor& x, const Tensor& out,
                                   const DequantizeNvfp4Options& options);
  // What ModelOpt's parts ask for; see fp4_dequantize.
  static DequantizeNvfp4Request of(const Tensor& packed, const Tensor& scale, const Tensor& out,
                                   const Fp4DequantizeOptions& options);
  KernelWanted kernel(const DeviceProperties& device) const;
};

class PreparedDequantizeNvfp4 : public OneKernel<PreparedDequantizeNvfp4, DequantizeNvfp4Request> {
 public:
  // Errors: as dequantize_nvfp4(); misaligned when out breaks the request.
  Result<void> run(const QuantizedTensor& x, const Tensor& out, Stream stream) const;
  // The parts by themselves, in blocks of the request's size and its scale layout; columnwise: of
  // the transpose, in blocks of 16. Errors: dtype_mismatch, shape_mismatch, misaligned,
  // missing_buffer.
  Result<void> run(const Tensor& packed, const Tensor& scale, const float* factor,
                   const Tensor& out, Stream stream) const;

 private:
  friend Result<void> fp4_dequantize(Runtime&, const Tensor&, const Tensor&, const float*,
                                     const Tensor&, const Fp4DequantizeOptions&, Stream);
  // run() of parts that are checked.
  Result<void> read(const args::TensorOf<DType::u8>& codes,
                    const args::TensorOf<DType::e4m3>& scales, const float* factor,
                    const Tensor& out, Stream stream) const;
};

}  // namespace diecast
