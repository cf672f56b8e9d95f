// What a call of quantize_nvfp4 may ask for, and what of it decides the kernels.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/amax/amax.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/request.h>
#include <diecast/ops/tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace diecast {

// What an output's amax holds: the amax that a global scale is made of, or the scale itself.
enum class GlobalScale : std::uint8_t {
  amax,
  encode,  // S; profiles te, pr546, te_ref and, unless row-scaled, FlashInfer's
  decode,  // 1 / S: a checkpoint's scale_2
  none  // block scales alone: nothing is read; profiles te (S = 1) and torchao. Out has an amax all
        // the same, which stays as it was: dequantize by GlobalForm::decode with a 1 there
};
constexpr auto words_of(GlobalScale) {
  return std::to_array<std::string_view>({"amax", "encode", "decode", "none"});
}

// Profile te: every block under two scales, and the one with the smaller sum of |error| (mae) or
// error^2 (mse) stays. The bound is the output's e4m3_bound.
enum class FourOverSix : std::uint8_t { off, mae, mse };
constexpr auto words_of(FourOverSix) {
  return std::to_array<std::string_view>({"off", "mae", "mse"});
}

// The directions whose blocks of 16 go through the random Hadamard transform first. (Transformer
// Engine transforms the columns' alone.)
enum class TransformedSides : std::uint8_t { none, rowwise, columnwise, both };
constexpr auto words_of(TransformedSides) {
  return std::to_array<std::string_view>({"none", "rowwise", "columnwise", "both"});
}

// The signs of Transformer Engine's random Hadamard transform.
inline constexpr std::uint16_t kHadamardSigns = 0xD7E8;

// The amax of each block of a matrix [R, C], and of its transpose: f32 [R, ceil_div(C, 16)] in
// device memory, of 16x16 blocks [ceil_div(R, 16), ceil_div(C, 16)]. The tensor's amaxes are then
// given too. Those of a group lie one member behind another, a member's in the place that they
// would take if all of its rows were real. Null: each block's own.
struct BlockAmaxes {
  const float* rowwise = nullptr;
  const float* columnwise = nullptr;
  bool given() const { return rowwise != nullptr || columnwise != nullptr; }
};

struct QuantizeNvfp4Options {
  // The output's amaxes are there; else they are found and written, each of what its direction
  // quantizes: the same number twice unless row-scaled or transformed.
  bool amax_given = false;
  // Null: Runtime::default_device(). Open a device once: as long as it lives, the runtime keeps the
  // ops that it has prepared for a device, and the device with them.
  std::shared_ptr<Device> device{};
  GlobalScale global = GlobalScale::amax;  // encode, decode: given
  FourOverSix four_over_six = FourOverSix::off;
  // x is transformed in blocks of 16 first; amaxes are of the result.
  TransformedSides rht = TransformedSides::none;
  std::uint16_t sign_mask = kHadamardSigns;  // rht: bit i flips the sign of element i of a block
  BlockAmaxes block_amax{};                  // profile modelopt: from calibration
  // Not null: codes are rounded stochastically, by the random numbers of {seed, offset} in device
  // memory. The caller adds 1 to the offset from call to call; a captured graph reads both at each
  // replay. Each member of a group draws the same numbers.
  const std::int64_t* rng_state = nullptr;
};

struct QuantizeNvfp4Request {
  static constexpr std::string_view kName = "quantize_nvfp4";
  // Rows longer than this get no kernels of their own: a length in a request is at most this.
  static constexpr std::int64_t kLongestOwnRow = (1 << 17) - 1;

  DType in = DType::bf16;
  RowsClass rows = RowsClass::dense;  // promised of every x to come: see rows_class()
  bool amax_given = false;
  std::int64_t cols = 0;  // not 0: the kernels are made for this row length
  GlobalScale global = GlobalScale::amax;
  bool scales_apart = false;  // along rows alone: rows of linear scales have a stride
  FourOverSix four_over_six = FourOverSix::off;
  TransformedSides rht = TransformedSides::none;
  bool block_amax = false;
  std::uint16_t sign_mask = 0;  // 0 without rht
  bool stochastic = false;
  Sides sides = Sides::rowwise;
  QuantizedType out{};

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("COLS", self.cols), as("IN", self.in), as("ROWS", self.rows);
    as("amax_given", self.amax_given), as("GLOBAL", self.global);
    as("SCALES_APART", self.scales_apart), as("FOUR_OVER_SIX", self.four_over_six);
    as("RHT", self.rht), as("BLOCK_AMAX", self.block_amax), as("SIGN_MASK", self.sign_mask);
    as("STOCHASTIC", self.stochastic), as("SIDES", self.sides);
    fields_of(self.out, as);
  }
  // What quantize_nvfp4() prepares for such arguments on a GPU. Of x it looks at the type, the row
  // length and how the rows lie, not at their number.
  static QuantizeNvfp4Request of(const Tensor& x, const QuantizedTensor& out,
                                 const QuantizeNvfp4Options& options = {});

  // 1x16 blocks of rows alone: kernels of their own. The others share quantize_nvfp4_tiles.
  bool along_rows() const { return sides == Sides::rowwise && !out.square; }
  // Whether amaxes are to be found, and whether those of rows are, by the kernel itself.
  bool finds_amax() const { return !amax_given && global == GlobalScale::amax && !block_amax; }
  bool finds_rows() const { return along_rows() && out.row_scaled && finds_amax(); }
  // Whether both directions have one and the same amax.
  bool shares_amax() const {
    return sides == Sides::both && !out.row_scaled && rht == TransformedSides::none;
  }
  AmaxTransform transform(bool of_columns) const;
  // The amax that a direction's global scale is made of.
  AmaxRequest amax(bool of_columns) const;
  // All kernels that preparing the op may take on a device of this target. The number of
  // multiprocessors is no matter: it bounds how many elements each of them serves.
  Result<std::vector<KernelWanted>> kernels(Runtime& runtime, const Target& target) const;
};

// The kernel of both directions and of square blocks, for a matrix or for a group's members.
KernelWanted nvfp4_tiles_kernel(const QuantizeNvfp4Request& request, bool grouped,
                                const DeviceProperties& device);

// Whether there is nothing to do: x has no elements, and `out` no amax to be found.
inline bool is_nothing(const Tensor& x, const QuantizedTensor& out) {
  const bool empty = x.rows() == 0 || x.cols() == 0;
  return empty && out.rowwise.amax == nullptr && out.columnwise.amax == nullptr;
}

// That `out` is NVFP4 and as the request says, and that its scales' rows are apart as it says.
// Errors: not_supported.
Result<void> check_nvfp4_output(const QuantizeNvfp4Request& request, const QuantizedTensor& out,
                                bool scales_apart, std::string_view op);
// That block amaxes are there for the directions that the request says, and for no other. Errors:
// missing_buffer, not_supported.
Result<void> check_block_amaxes(const QuantizeNvfp4Request& request, const BlockAmaxes& given,
                                std::string_view op);
// That the state of the random numbers is there where the request is stochastic, and only there.
// Errors: missing_buffer, not_supported.
Result<void> check_rng(const QuantizeNvfp4Request& request, const std::int64_t* state,
                       std::string_view op);

}  // namespace diecast
