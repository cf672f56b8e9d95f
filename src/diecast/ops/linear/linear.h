// A linear layer with packed weights of NVFP4 or MXFP4: out [M, N] = x [M, K] times the transpose
// of the weight, and what follows it. A row's bits depend on that row, the weights and the GPU's
// architecture alone, not on how many rows come with it (but for LinearOptions::fast).
// templates/PROFILES.md has the order.
#pragma once

#include <diecast/base/enum_words.h>
#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/linear/linear_kernels.h>
#include <diecast/ops/linear/packed_linear.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace diecast {

// silu_and_mul: silu(gate) * up. swiglu_oai: of gpt-oss, (up + 1) * gate * sigmoid(1.702 * gate),
// up within -7 to 7, gate at most 7. relu2: the square of what is above 0.
enum class Activation : std::uint8_t { none, silu_and_mul, swiglu_oai, relu2 };
constexpr auto words_of(Activation) {
  return std::to_array<std::string_view>({"none", "silu_and_mul", "swiglu_oai", "relu2"});
}
// Whether it is of gate and up, and out has half as many columns as the weight has rows.
constexpr bool is_gated(Activation activation) {
  return activation == Activation::silu_and_mul || activation == Activation::swiglu_oai;
}
// The columns of out: of gate and up together half of the weight's rows.
inline std::int64_t linear_columns(const PackedLinear& weight, Activation activation) {
  return is_gated(activation) ? weight.rows() / 2 : weight.rows();
}

// What the factor of a weight is: one global scale, or those of parts that are packed together: of
// gate and up two, else one for each row of the weight, as of q, k and v. The bits are those of
// each part alone.
enum class Factors : std::uint8_t { one, parts };
constexpr auto words_of(Factors) { return std::to_array<std::string_view>({"one", "parts"}); }

struct LinearOptions {
  Activation activation = Activation::none;
  std::optional<Tensor> bias{};      // [N], one a row of the weight, of x's type: all of gate first
  std::optional<Tensor> residual{};  // [M, N] of out's type, dense: added last. It may be out
  // Parts of the sum: 1, 2, 4 or 8, of one weight always the same; 0: linear_split(). One part is
  // best for many rows, several for few rows of a small weight.
  int split = 0;
  Factors factors = Factors::one;
  // On Hopper many rows may be summed in one part where that is sooner. A row's bits then depend on
  // how many rows come with it and on the number of multiprocessors.
  bool fast = false;
  // The launch before this one on the stream does not write the weight, so that a kernel for few
  // rows may fetch it before that one has ended. Never behind pack_linear; a launch later it holds.
  bool settled = false;
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// How many parts the sum over the columns of a weight [rows, cols] is made of: of those alone, so
// that a weight's sums have one order.
int linear_split(std::int64_t rows, std::int64_t cols);

// x: bf16 or f16 [M, K], every row from a multiple of 16 bytes on. weight: one weight, packed in
// the order of rows that the activation wants. factor: f32 in device memory, the global scale (1
// where there is none), or those that options.factors says. out: bf16, f16 or f32, dense. out =
// activation(sums * factor + bias) + residual, each step rounded to f32, last to out. x.device_rows
// counts the rows of x, residual and out: further ones are not written, and what they hold changes
// nothing; some of x may be read. The kernel is chosen for all rows that x may have. Errors: those
// of PackedLinear::check; dtype_mismatch, shape_mismatch, missing_buffer, misaligned, not_supported
// (several weights, rows of out or residual apart, or counted on the device where x's are not),
// invalid_argument (a weight that is not gated as the activation wants), those of preparing.
Result<void> linear(Runtime& runtime, const Tensor& x, const PackedLinear& weight,
                    const float* factor, const Tensor& out, const LinearOptions& options = {},
                    Stream stream = {});

// Its errors that no device decides.
Result<void> check_linear(const Tensor& x, const PackedLinear& weight, const float* factor,
                          const Tensor& out, const LinearOptions& options);

struct LinearRequest {
  static constexpr std::string_view kName = "linear";
  DType in = DType::bf16, out = DType::bf16;
  Format format = Format::nvfp4;
  Activation activation = Activation::none;
  std::int32_t split = 1;
  Factors factors = Factors::one;
  bool bias = false, residual = false;
  bool fast = false;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("IN", self.in), as("OUT", self.out), as("FORMAT", self.format);
    as("ACTIVATION", self.activation), as("SPLIT", self.split);
    as("FACTORS", self.factors);
    as("HAS_BIAS", self.bias), as("HAS_RESIDUAL", self.residual);
    as("fast", self.fast);
  }
  // What these operands ask for.
  static LinearRequest of(const Tensor& x, const PackedLinear& weight, const Tensor& out,
                          const LinearOptions& options);
  // The kernels, by the most rows that they serve; a launch takes the soonest (linear_tiles.h). All
  // give the same bits, unless `fast`.
  std::vector<LinearKernel> table(const DeviceProperties& device) const;
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
};

class PreparedLinear {
 public:
  using Request = LinearRequest;
  static constexpr std::string_view kName = Request::kName;
  // Compiles and loads the kernels of every number of rows. Errors: value_not_allowed, those of
  // Runtime::specialize_for and Runtime::preload.
  static Result<PreparedLinear> prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                                        const Request& request);

  const Request& request() const { return request_; }
  // Errors: as linear(); not_supported for what the request does not say.
  Result<void> run(const Tensor& x, const PackedLinear& weight, const float* factor,
                   const Tensor& out, const LinearOptions& options, Stream stream) const;

 private:
  friend Result<void> linear(Runtime&, const Tensor&, const PackedLinear&, const float*,
                             const Tensor&, const LinearOptions&, Stream);
  // run() of operands that are checked.
  Result<void> multiply(const Tensor& x, const PackedLinear& weight, const float* factor,
                        const Tensor& out, const LinearOptions& options, Stream stream) const;

  Request request_;
  LinearKernels kernels_;
};

}  // namespace diecast
