// Fake quantization to FP4 as ModelOpt does it: values stay what they are and become multiples of
// their block's scale. Bits: profile modelopt of templates/PROFILES.md, with IEEE division.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/amax/amax.h>
#include <diecast/ops/one_kernel.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace diecast {

// The two ways upstream divides 448 by the tensor's scale: its FP8 conversion in Python, and its
// CUDA extension (which it takes for amaxes of one dimension).
enum class Fp8Conversion : std::uint8_t { eager, extension };
constexpr auto words_of(Fp8Conversion) {
  return std::to_array<std::string_view>({"eager", "extension"});
}

struct Fp4ScaleOptions {
  const float* global_amax = nullptr;  // f32 [1] in device memory; null: the largest of amax,
  float* scratch = nullptr;            // found here: scratch_bytes() of device memory
  bool quantize_block_scales =
      true;  // round scales to E4M3 under global_amax, which else is unused
  Fp8Conversion fp8 = Fp8Conversion::eager;
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()

  static constexpr std::int64_t scratch_bytes() { return 4; }
};

// scales = the blocks' scales from their amaxes, both dense f32 of one shape, any shape. NaN stays
// NaN. Errors: dtype_mismatch, shape_mismatch, missing_buffer (scratch too), not_supported (rows
// that the device counts), and those of preparing.
Result<void> compute_fp4_scales(Runtime& runtime, const Tensor& amax, const Tensor& scales,
                                const Fp4ScaleOptions& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_compute_fp4_scales(const Tensor& amax, const Tensor& scales);

// x, dense with any leading dimensions, in blocks of BLOCK = numel(x) / numel(amax) elements one
// behind another; amax dense f32 of any shape. out: dense, of x's shape and any float type.
// Errors: shape_mismatch (numel(amax) * BLOCK is not numel(x), rows apart), value_not_allowed (a
// BLOCK other than 8, 16, 32, 64, 128), dtype_mismatch, missing_buffer, not_supported (rows that
// the device counts), and those of preparing.
Result<void> static_blockwise_fp4_fake_quant(Runtime& runtime, const Tensor& x, const Tensor& amax,
                                             const Tensor& out, const Fp4ScaleOptions& options = {},
                                             Stream stream = {});

// Its errors that no device decides.
Result<void> check_static_blockwise_fp4_fake_quant(const Tensor& x, const Tensor& amax,
                                                   const Tensor& out);

struct Fp4CastOptions {
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// Rounding to E2M1 alone: the above with every scale 1. Errors: as above.
Result<void> static_blockwise_fp4_cast(Runtime& runtime, const Tensor& x, const Tensor& out,
                                       const Fp4CastOptions& options = {}, Stream stream = {});

struct Fp4FakeQuantBlockOptions {
  int block_size = 16;               // 8, 16, 32, 64 or 128 neighbours of a row
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// Dynamic: each block's scale from its own amax and the tensor's, global_amax f32 [1] in device
// memory. x and out: [rows, cols] of one type, rows may be apart; any cols. A block whose scale
// would be below 1e-5 takes 1 instead, as upstream. Errors: as above.
Result<void> fp4_fake_quant_block(Runtime& runtime, const Tensor& x, const float* global_amax,
                                  const Tensor& out, const Fp4FakeQuantBlockOptions& options = {},
                                  Stream stream = {});

// Its errors that no device decides.
Result<void> check_fp4_fake_quant_block(const Tensor& x, const Tensor& out, std::int64_t block);

struct ComputeFp4ScalesRequest {
  static constexpr std::string_view kName = "compute_fp4_scales";
  bool quantize = true;
  Fp8Conversion fp8 = Fp8Conversion::eager;  // eager without `quantize`
  bool global_given = false;                 // true without `quantize`: there is none to find

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("QUANTIZE", self.quantize), as("FP8", self.fp8), as("global_given", self.global_given);
  }
  static ComputeFp4ScalesRequest of(const Fp4ScaleOptions& options);
  bool finds_amax() const { return quantize && !global_given; }
  KernelWanted kernel(const DeviceProperties&) const { return kernel_of(kName, *this); }
  // The op's own comes first, then those that find the largest amax.
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
};

// What finds the largest of all amaxes.
Result<PreparedAmax> prepare_largest_amax(Runtime& runtime, const std::shared_ptr<Device>& device);

// An op of scales under global_amax, which it finds first where the request says so.
template <class Op, class OfRequest>
class UnderLargestAmax : public OneKernel<Op, OfRequest> {
 public:
  // Errors: those of OneKernel::prepare.
  static Result<Op> prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                            const OfRequest& request) {
    DIECAST_TRY(Op op, (OneKernel<Op, OfRequest>::prepare(runtime, device, request)));
    if (request.finds_amax()) {
      DIECAST_TRY(op.amax_, prepare_largest_amax(runtime, device));
    }
    return op;
  }
  std::int64_t scratch_bytes(std::int64_t) const { return amax_ ? 4 : 0; }  // for any count

 protected:
  std::optional<PreparedAmax> amax_;
};

class PreparedComputeFp4Scales
    : public UnderLargestAmax<PreparedComputeFp4Scales, ComputeFp4ScalesRequest> {
 public:
  // global_amax: what is given, or the scratch that the largest is found in; null without
  // `quantize`.
  Result<void> run(const Tensor& amax, float* global_amax, const Tensor& scales,
                   Stream stream) const;
};

// Whether a block's scale is rounded to E4M3, is not, or is 1.
enum class Fp4Scale : std::uint8_t { quantized, unquantized, one };
constexpr auto words_of(Fp4Scale) {
  return std::to_array<std::string_view>({"quantized", "unquantized", "one"});
}

struct StaticFp4FakeQuantRequest {
  static constexpr std::string_view kName = "static_blockwise_fp4_fake_quant";
  DType in = DType::bf16, out = DType::bf16;
  bool aligned = true;  // x and out to come start at a multiple of 16 bytes
  Fp4Scale scale = Fp4Scale::quantized;
  int block = 16;                            // 16 where scales are 1
  Fp8Conversion fp8 = Fp8Conversion::eager;  // eager unless scales are quantized
  bool global_given = false;                 // true unless scales are quantized

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("IN", self.in), as("OUT", self.out), as("ALIGNED", self.aligned);
    as("SCALE", self.scale), as("BLOCK", self.block), as("FP8", self.fp8);
    as("global_given", self.global_given);
  }
  static StaticFp4FakeQuantRequest of(const Tensor& x, const Tensor& out, int block,
                                      const Fp4ScaleOptions& options);
  // Of rounding alone.
  static StaticFp4FakeQuantRequest of(const Tensor& x, const Tensor& out);
  bool finds_amax() const { return scale == Fp4Scale::quantized && !global_given; }
  KernelWanted kernel(const DeviceProperties&) const { return kernel_of(kName, *this); }
  // The op's own comes first, then those that find the largest amax.
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
};

class PreparedStaticFp4FakeQuant
    : public UnderLargestAmax<PreparedStaticFp4FakeQuant, StaticFp4FakeQuantRequest> {
 public:
  // global_amax as above. Rounding alone ignores amax and it. Errors: as the convenience call;
  // shape_mismatch (an amax that is not of one entry for every `block` elements of x).
  Result<void> run(const Tensor& x, const Tensor& amax, float* global_amax, const Tensor& out,
                   Stream stream) const;
};

struct Fp4FakeQuantBlockRequest {
  static constexpr std::string_view kName = "fp4_fake_quant_block";
  DType in = DType::bf16;
  int block = 16;
  std::int64_t cols = 0;              // not 0: the kernel is made for this row length
  RowsClass rows = RowsClass::dense;  // of x and out to come; dense: and whole blocks

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("IN", self.in), as("BLOCK", self.block), as("COLS", self.cols), as("ROWS", self.rows);
  }
  static Fp4FakeQuantBlockRequest of(const Tensor& x, const Tensor& out, int block);
  KernelWanted kernel(const DeviceProperties&) const { return kernel_of(kName, *this); }
};

class PreparedFp4FakeQuantBlock
    : public OneKernel<PreparedFp4FakeQuantBlock, Fp4FakeQuantBlockRequest> {
 public:
  Result<void> run(const Tensor& x, const float* global_amax, const Tensor& out,
                   Stream stream) const;
};

}  // namespace diecast
