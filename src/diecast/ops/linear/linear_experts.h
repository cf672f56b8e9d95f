// A linear layer of experts: each row of x is multiplied by the weight of its expert, in one
// launch. A row has, to the bit, what `linear` makes of it with that weight, this split and the
// same type (but for LinearExpertsOptions::fast).
#pragma once

#include <diecast/base/enum_words.h>
#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/linear/expert_map.h>
#include <diecast/ops/linear/linear.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace diecast {

// How rows of out belong to experts.
//   indexed     by the router's ids: [rows of out], and x may have a row for several of them
//   contiguous  the rows of an expert one behind another: i32 [experts + 1] offsets
//   masked      as many rows for each expert, of which the first count: i32 [experts] counts
enum class RoutingForm : std::uint8_t { indexed, contiguous, masked };
constexpr auto words_of(RoutingForm) {
  return std::to_array<std::string_view>({"indexed", "contiguous", "masked"});
}

// Lies in device memory, and the launch reads it. A row of out stays as it is if its id is not 0 to
// experts - 1, or if the map has no expert for it. Offsets and counts are bounded by the rows there
// are. Rows that they do not name are neither read nor written.
struct ExpertRouting {
  RoutingForm form = RoutingForm::indexed;
  const void* data = nullptr;
  DType type = DType::i32;              // of data; ids may be i64
  ExpertMap map{};                      // of ids
  std::uint32_t* unexpected = nullptr;  // [1]: the launch adds how many ids are unexpected
};

struct LinearExpertsOptions {
  Activation activation = Activation::none;
  std::optional<Tensor> bias{};  // [experts, N], as LinearOptions has one for each expert
  int split = 0;                 // as in LinearOptions; 0: linear_split() of one expert
  // On Hopper many rows an expert, that lie together, may be summed in one part. A row's bits then
  // depend on how many rows come with it.
  bool fast = false;
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// x: bf16 or f16 [M, K], every row from a multiple of 16 bytes on. weight: [experts, N, K] packed
// in the order of rows that the activation wants. factors: f32 in device memory, the global scales,
// [experts]; of gated activations [experts, 2], gate's and up's. out: dense, bf16, f16 or f32, of
// as many rows as x; indexed: [M * k, N], whose row r is of row r / k of x. Errors: those of
// PackedLinear::check; dtype_mismatch, shape_mismatch, missing_buffer, misaligned, not_supported
// (one weight alone, rows of out apart, rows counted on the device, a map or a count of unexpected
// ids where there are no ids), invalid_argument (a weight that is not gated as the activation
// wants), value_not_allowed, those of preparing.
Result<void> linear_experts(Runtime& runtime, const Tensor& x, const PackedLinear& weight,
                            const float* factors, const ExpertRouting& routing, const Tensor& out,
                            const LinearExpertsOptions& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_linear_experts(const Tensor& x, const PackedLinear& weight, const float* factors,
                                  const ExpertRouting& routing, const Tensor& out,
                                  const LinearExpertsOptions& options);

struct LinearExpertsRequest {
  static constexpr std::string_view kName = "linear_experts";
  DType in = DType::bf16, out = DType::bf16;
  Format format = Format::nvfp4;
  Activation activation = Activation::none;
  RoutingForm form = RoutingForm::indexed;
  std::int32_t split = 1;
  DType id = DType::i32;
  bool bias = false, expert_map = false, unexpected = false;
  bool fast = false;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("IN", self.in), as("OUT", self.out), as("FORMAT", self.format);
    as("ACTIVATION", self.activation), as("FORM", self.form), as("SPLIT", self.split);
    as("ID", self.id), as("HAS_BIAS", self.bias), as("HAS_EXPERT_MAP", self.expert_map);
    as("HAS_UNEXPECTED", self.unexpected), as("fast", self.fast);
  }
  // What these operands ask for.
  static LinearExpertsRequest of(const Tensor& x, const PackedLinear& weight,
                                 const ExpertRouting& routing, const Tensor& out,
                                 const LinearExpertsOptions& options);
  // Which kernel serves how many rows of an expert on average, fewest first.
  std::vector<LinearKernel> table(const DeviceProperties& device) const;
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
};

class PreparedLinearExperts {
 public:
  using Request = LinearExpertsRequest;
  static constexpr std::string_view kName = Request::kName;
  // Compiles and loads the kernels of every number of rows. Errors: value_not_allowed, those of
  // Runtime::specialize_for and Runtime::preload.
  static Result<PreparedLinearExperts> prepare(Runtime& runtime,
                                               const std::shared_ptr<Device>& device,
                                               const Request& request);

  const Request& request() const { return request_; }
  // Errors: as linear_experts(); not_supported for what the request does not say.
  Result<void> run(const Tensor& x, const PackedLinear& weight, const float* factors,
                   const ExpertRouting& routing, const Tensor& out,
                   const LinearExpertsOptions& options, Stream stream) const;

 private:
  friend Result<void> linear_experts(Runtime&, const Tensor&, const PackedLinear&, const float*,
                                     const ExpertRouting&, const Tensor&,
                                     const LinearExpertsOptions&, Stream);
  // run() of operands that are checked.
  Result<void> multiply(const Tensor& x, const PackedLinear& weight, const float* factors,
                        const ExpertRouting& routing, const Tensor& out,
                        const LinearExpertsOptions& options, Stream stream) const;

  Request request_;
  LinearKernels kernels_;
};

}  // namespace diecast
