// Quantizing a matrix to MXFP8 or MXFP4: FP8 bytes or E2M1 codes, and one E8M0 scale for every 32
// neighbours of a row or a column, or for a tile of 32x32.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>

namespace diecast {

// How a block's scale becomes a power of two; templates/PROFILES.md has the formulas.
enum class MxMode : std::uint8_t { rceil, floor, ceil, even };
std::string_view mx_mode_name(MxMode mode);

struct QuantizeMxOptions {
  MxMode mode = MxMode::rceil;       // others than rceil: profile torchao
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// x: bf16, f16 or f32, of any size, rows may be apart; a block that ends behind the matrix is
// padded with zeros. out: of x's shape; its format, block rows, scale layout, profile and which of
// its directions are present say what is written (profile modelopt: MXFP4 of bf16 along rows), both
// directions in one launch. Padding of a tiled layout is written as zeros. Errors: dtype_mismatch,
// missing_buffer, misaligned, shape_mismatch, not_supported, constraint_violated (what the profile
// does not define), and those of preparing.
Result<void> quantize_mx(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                         const QuantizeMxOptions& options = {}, Stream stream = {});

class PreparedQuantizeMx {
 public:
  static constexpr std::string_view kName = "quantize_mx";
  struct Request {
    DType in = DType::bf16;
    Format format = Format::mxfp8_e4m3;
    MxMode mode = MxMode::rceil;
    Profile profile = Profile::te;
    ScaleLayout layout = ScaleLayout::linear;
    bool rowwise = true;
    bool columnwise = false;
    bool square_blocks = false;  // 32x32
    // rows_class() of every x to come is not any, and cols % 32 == 0; along rows alone % 16.
    bool whole_blocks = true;
    bool scales_apart = false;  // rowwise.scale_stride is given; tiles need not know
    std::int64_t cols = 0;      // not 0: the kernel is made for this row length
    std::uint64_t word() const;
    bool operator==(const Request&) const = default;
    RequestWord<63> fields(OpKind kind) const;  // of everything but scales_apart
    Bindings bindings(bool grouped) const;
    // quantize_mx_tiles rather than quantize_mx.
    bool needs_tiles() const { return columnwise || square_blocks; }
    // What out and x ask for, by themselves or as members of a group.
    static Request of(const Tensor& x, const QuantizedTensor& out, MxMode mode, bool grouped);
  };
  static Result<PreparedQuantizeMx> prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                                            const Request& request);

  std::int64_t scratch_bytes(std::int64_t, std::int64_t) const { return 0; }  // for [rows, cols]
  // Errors: as quantize_mx(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, const QuantizedTensor& out, Stream stream) const;

 private:
  Request request_;
  std::shared_ptr<Kernel> kernel_;
};

}  // namespace diecast
