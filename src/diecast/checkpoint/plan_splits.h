// The way back of experts that were one tensor: what the metadata say of it, and whether all of its
// parts are there. Internal to plan_dequantize().
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/select/fused_experts.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast {

class Splits {
 public:
  // Of one file, which has at most `weights` quantized weights: no more parts are made. Errors:
  // file_corrupt.
  Result<void> read(const Metadata& metadata, std::uint32_t file, std::size_t weights);

  // Where the values of a weight go that is dequantized to `type`; false: it was none of these.
  // Errors: file_corrupt (it is not what the metadata say).
  Result<bool> put_back(PlannedTensor& tensor, DType type);

  // Adds the tensors to those of each file. Errors: file_corrupt (parts are missing).
  Result<void> add_to(std::vector<std::vector<TensorInfo>>& outputs) const;

 private:
  struct Split {
    SplitTensor tensor;
    std::size_t parts = 0, found = 0;
    std::optional<DType> type;
  };
  std::vector<Split> splits_;
  std::map<std::string, std::pair<std::size_t, ExpertPart>, std::less<>> parts_;  // of which
};

}  // namespace diecast
