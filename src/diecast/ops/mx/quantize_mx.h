// Quantizing a matrix to MXFP8 or MXFP4: FP8 bytes or E2M1 codes, and one E8M0 scale for every 32
// neighbours of a row or a column, or for a tile of 32x32.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/one_kernel.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>

namespace diecast {

// How a block's scale becomes a power of two; templates/PROFILES.md has the formulas.
enum class MxMode : std::uint8_t { rceil, floor, ceil, even };
constexpr auto words_of(MxMode) {
  return std::to_array<std::string_view>({"rceil", "floor", "ceil", "even"});
}

struct QuantizeMxOptions {
  MxMode mode = MxMode::rceil;       // others than rceil: profile torchao
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// x: bf16, f16 or f32, of any size, rows may be apart; a block that ends behind the matrix is
// padded with zeros. out: of x's shape; its type and which of its directions are present say what
// is written (profile modelopt: MXFP4 of bf16 along rows), both directions in one launch. Padding
// of a tiled layout is written as zeros. Errors: dtype_mismatch, missing_buffer, misaligned,
// shape_mismatch, not_supported, constraint_violated (what the profile does not define), and those
// of preparing.
Result<void> quantize_mx(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                         const QuantizeMxOptions& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_quantize_mx(const Tensor& x, const QuantizedTensor& out);

struct QuantizeMxRequest {
  static constexpr std::string_view kName = "quantize_mx";
  DType in = DType::bf16;
  MxMode mode = MxMode::rceil;
  QuantizedType out{.format = Format::mxfp8_e4m3};
  Sides sides = Sides::rowwise;
  // Promised of every x to come: `any` also where cols % 32 != 0; of one kernel along rows, % 16.
  RowsClass rows = RowsClass::apart;
  bool scales_apart = false;  // along rows alone: rowwise.scale_stride is given
  std::int64_t cols = 0;      // not 0: the kernel is made for this row length

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("IN", self.in), as("MODE", self.mode), as("SIDES", self.sides), as("ROWS", self.rows);
    as("SCALES_APART", self.scales_apart), as("COLS", self.cols);
    fields_of(self.out, as);
  }
  // What x and out ask for, by themselves or as members of a group.
  static QuantizeMxRequest of(const Tensor& x, const QuantizedTensor& out, MxMode mode,
                              bool grouped = false);
  bool along_rows() const { return sides == Sides::rowwise && !out.square; }
  KernelWanted kernel(const DeviceProperties& device) const;
};

class PreparedQuantizeMx : public OneKernel<PreparedQuantizeMx, QuantizeMxRequest> {
 public:
  // Errors: as quantize_mx(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, const QuantizedTensor& out, Stream stream) const;
};

}  // namespace diecast
