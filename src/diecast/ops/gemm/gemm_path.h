// What the paths of gemm_nvfp4 that are given scratch have in common: what becomes of a product's
// sums, and what is refused.
#pragma once

#include <diecast/ops/gemm/gemm_nvfp4.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace diecast {

// The fields of their requests.
struct GemmPathRequest {
  DType out = DType::bf16;
  bool a_rows = false, b_rows = false;  // row-scaled
  bool bias = false;
  DType bias_type = DType::f32;  // f32 without a bias
  bool accumulate = false;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("OUT", self.out), as("A_ROW_SCALE", self.a_rows), as("B_ROW_SCALE", self.b_rows);
    as("BIAS", self.bias), as("BIAS_TYPE", self.bias_type), as("ACCUMULATE", self.accumulate);
  }
  static GemmPathRequest of(const QuantizedTensor& a, const QuantizedTensor& b, const Tensor& out,
                            const GemmNvfp4Options& options);
};

// What a path does not take, and that path own would.
Error path_not_taken(std::string_view path, ErrorCode code, std::string_view what,
                     std::string_view fix);

struct GemmScratch {
  std::int64_t needed, advised;  // bytes
  std::string_view more = "";    // what is said of those advised
  std::int64_t alignment;

  // Words are made only for an error: a run allocates nothing. Errors: missing_buffer, misaligned.
  Result<void> check(std::string_view path, const GemmNvfp4Options& options) const;
};

}  // namespace diecast
