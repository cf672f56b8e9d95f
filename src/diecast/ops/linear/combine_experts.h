// The last step of a layer of experts: what a token's experts made of it, times the router's
// weights, added in the order of slots. The same bits on every device. templates/PROFILES.md has
// the order.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/linear/expert_map.h>
#include <diecast/ops/one_kernel.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace diecast {

// What a router chose: k slots for each of M tokens. They lie in device memory, and the launch
// reads them. A slot whose id is not 0 to experts - 1 is skipped, and nothing is read through it.
// With a map, ids number the experts of all ranks and `experts` counts those here. A slot for which
// the map has no expert is skipped too.
struct TopKExperts {
  const void* ids = nullptr;       // [M, k], dense
  const float* weights = nullptr;  // [M, k], dense
  std::int64_t experts = 0;
  DType type = DType::i32;  // of ids, or i64
  ExpertMap map{};
  std::uint32_t* unexpected = nullptr;  // [1]: the launch adds how many ids are unexpected
};

struct CombineExpertsOptions {
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
};

// x: bf16, f16 or f32 [M * k, N], row t * k + j what the expert of token t's slot j made, as
// linear_experts gives it. out: bf16, f16 or f32 [M, N], the sums; 0 for a token without experts.
// Both dense. Errors: dtype_mismatch, shape_mismatch, missing_buffer, misaligned, not_supported
// (rows apart or counted on the device), value_not_allowed (experts, or those of the map, below 0),
// those of preparing.
Result<void> combine_experts(Runtime& runtime, const Tensor& x, const TopKExperts& topk,
                             const Tensor& out, const CombineExpertsOptions& options = {},
                             Stream stream = {});

// Its errors that no device decides.
Result<void> check_combine_experts(const Tensor& x, const TopKExperts& topk, const Tensor& out);

struct CombineExpertsRequest {
  static constexpr std::string_view kName = "combine_experts";
  DType in = DType::bf16, out = DType::bf16;
  bool aligned = true;  // rows are whole eights, from multiples of 16 bytes on; false: any
  DType id = DType::i32;
  bool expert_map = false, unexpected = false;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("IN", self.in), as("OUT", self.out), as("ALIGNED", self.aligned);
    as("ID", self.id), as("HAS_EXPERT_MAP", self.expert_map);
    as("HAS_UNEXPECTED", self.unexpected);
  }
  // What these operands ask for.
  static CombineExpertsRequest of(const Tensor& x, const TopKExperts& topk, const Tensor& out);
  KernelWanted kernel(const DeviceProperties&) const { return kernel_of(kName, *this); }
};

class PreparedCombineExperts : public OneKernel<PreparedCombineExperts, CombineExpertsRequest> {
 public:
  // Errors: as combine_experts(); not_supported for what the request does not say.
  Result<void> run(const Tensor& x, const TopKExperts& topk, const Tensor& out,
                   Stream stream) const;

 private:
  friend Result<void> combine_experts(Runtime&, const Tensor&, const TopKExperts&, const Tensor&,
                                      const CombineExpertsOptions&, Stream);
  // run() of operands that are checked.
  Result<void> combine(const Tensor& x, const TopKExperts& topk, const Tensor& out,
                       Stream stream) const;
};

}  // namespace diecast
