// Quantizing a matrix to NVFP4: E2M1 codes, one E4M3 scale for every 16 neighbours of a row, and a
// global scale made of one amax in all or, row-scaled, one a row.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/amax.h>
#include <diecast/ops/plain_nvfp4.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace diecast {

// What out.rowwise.amax holds: the amax that a global scale is made of, or the scale itself.
enum class GlobalScale : std::uint8_t {
  amax,
  encode,  // S; profiles te, pr546, te_ref and, unless row-scaled, FlashInfer's
  decode,  // 1 / S: a checkpoint's scale_2
  none  // block scales alone: nothing is read; profiles te (S = 1) and torchao. Out has an amax all
        // the same, which stays as it was: dequantize by GlobalForm::decode with a 1 there
};
std::string_view global_scale_name(GlobalScale global);

// Profile te: every block under two scales, and the one with the smaller sum of |error| (mae) or
// error^2 (mse) stays. The bound is the output's e4m3_bound.
enum class FourOverSix : std::uint8_t { off, mae, mse };
std::string_view four_over_six_name(FourOverSix rule);

// The signs of Transformer Engine's random Hadamard transform.
inline constexpr std::uint16_t kHadamardSigns = 0xD7E8;

struct QuantizeNvfp4Options {
  bool amax_given = false;  // out.rowwise.amax holds the amaxes; else they are found and written
  // Null: Runtime::default_device(). Open a device once: as long as it lives, the runtime keeps the
  // ops that it has prepared for a device, and the device with them.
  std::shared_ptr<Device> device{};
  GlobalScale global = GlobalScale::amax;  // encode, decode: given
  FourOverSix four_over_six = FourOverSix::off;
  bool rht = false;  // x is transformed in blocks of 16 of a row first; amaxes are of the result
  std::uint16_t sign_mask = kHadamardSigns;  // rht: bit i flips the sign of element i of a block
  // Profile modelopt: f32 [rows, ceil_div(cols, 16)] in device memory, the amax of each block, from
  // calibration; the tensor's amax is then given too.
  const float* block_amax = nullptr;
  // Not null: codes are rounded stochastically, by the random numbers of {seed, offset} in device
  // memory. The caller adds 1 to the offset from call to call; a captured graph reads both at each
  // replay.
  const std::int64_t* rng_state = nullptr;
};

// x: bf16, f16, f32, or e4m3 (no transform), [rows, cols] with any cols, rows may be apart; a row's
// last block is padded with zeros. out: NVFP4, rowwise, 1x16 blocks, of x's shape; its amax is
// written where amaxes are found. Profile, scale layout (and stride), E4M3 bound and row scaling
// are out's; padding of tiled scales is written with zeros. Bits, and what each profile
// defines: templates/PROFILES.md. Errors: dtype_mismatch, missing_buffer, misaligned,
// shape_mismatch, not_supported, constraint_violated (an option that the profile has not), and
// those of preparing.
Result<void> quantize_nvfp4(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                            const QuantizeNvfp4Options& options = {}, Stream stream = {});

class PreparedQuantizeNvfp4 {
 public:
  static constexpr std::string_view kName = "quantize_nvfp4";
  struct Request {
    DType in = DType::bf16;
    bool row_scaled = false;
    bool amax_given = false;
    RowsClass rows = RowsClass::dense;  // promised of every x to come: see rows_class()
    Profile profile = Profile::te;
    // Not 0: the kernels are made for this row length. Rows that find their own amax then stay in
    // registers and gain a fifth of the bandwidth. quantize_nvfp4() does so by itself.
    std::int64_t cols = 0;
    GlobalScale global = GlobalScale::amax;
    ScaleLayout layout = ScaleLayout::linear;
    bool scales_apart = false;  // rows of linear scales have a stride
    FourOverSix four_over_six = FourOverSix::off;
    int e4m3_bound = 448;
    bool rht = false;
    std::uint16_t sign_mask = 0;  // 0 without rht
    bool block_amax = false;
    bool stochastic = false;
    // The convenience call's key. Of cols, lengths beyond kLongestKept count as not known.
    static constexpr std::int64_t kLongestKept = (1 << 17) - 1;
    std::uint64_t word() const;
    // What quantize_nvfp4() prepares for such arguments on a GPU. Of x it looks at the type, the
    // row length and how the rows lie, not at their number.
    static Request of(const Tensor& x, const QuantizedTensor& out,
                      const QuantizeNvfp4Options& options = {});
  };
  static Result<PreparedQuantizeNvfp4> prepare(Runtime& runtime,
                                               const std::shared_ptr<Device>& device,
                                               const Request& request);

  std::int64_t scratch_bytes(std::int64_t, std::int64_t) const { return 0; }  // for [rows, cols]
  // The kernel that writes the codes of so many elements; `device_rows`: the device counts the
  // rows. Only of an op that is prepared.
  const Kernel& kernel(std::int64_t elements, bool device_rows = false) const {
    if (device_rows) return elements < counted_.below ? *counted_.kernel : *quantize_;
    for (const Few& few : few_)
      if (elements < few.below) return *few.kernel;
    return *quantize_;
  }
  // block_amax, rng_state: as in the options, where the request says so. Errors: as
  // quantize_nvfp4(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, const QuantizedTensor& out, Stream stream,
                   const float* block_amax = nullptr,
                   const std::int64_t* rng_state = nullptr) const;

 private:
  Result<void> check(const Tensor& x, const QuantizedTensor& out, const float* block_amax) const;

  Request request_;
  PlainNvfp4 plain_;                  // what most launches bring
  bool finds_rows_ = false;           // rows find their own amax
  std::optional<PreparedAmax> amax_;  // when the amax is computed first
  std::int64_t finds_amax_ = 0;       // from so many elements on: below, the kernel finds it
  std::shared_ptr<Kernel> quantize_;
  // For less than so many elements, from the fewest on, have more threads for each; counted_ where
  // the device counts the rows.
  struct Few {
    std::int64_t below = 0;
    std::shared_ptr<Kernel> kernel;
  };
  std::vector<Few> few_;
  Few counted_;
};

// The argument rng of a kernel. Errors: missing_buffer, not_supported (a state that a request does
// not want).
Result<KernelArgument> rng_argument(std::string_view op, bool wanted, const std::int64_t* state);

}  // namespace diecast
