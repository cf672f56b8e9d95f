// One weight of NVFP4 by its parts. Internal to plan_dequantize().
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/plan.h>

#include <string>

namespace diecast {

// The weight `name` as it is read, if its parts are what plan_quantize() describes, or lie as
// `layout` says; `ours`: our metadata lists it. Errors: file_corrupt (parts that are missing or do
// not fit), not_supported (the shape of scales in tiles; a layout of what is no matrix with
// ModelOpt's names).
Result<PlannedTensor> read_back(const CheckpointHeader& header, const std::string& name, bool ours,
                                const Nvfp4Layout& layout);

}  // namespace diecast
