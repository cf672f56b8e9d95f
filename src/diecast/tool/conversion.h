// What `quantize` and `dequantize` share: carrying out a plan on a device.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/side_files.h>

#include <string>

namespace diecast::tool {

struct ConversionRequest {
  std::string verb;  // "quantize"
  std::string output;
  std::string target;  // auto, host, cuda
  bool json = false;
  bool whole_plan = false;  // a line a tensor
  bool overwrite = false;
  std::size_t jobs = 0;  // 0: default_jobs()
};

// Opens the device, prints the plan, converts, prints what was done and where, and names every
// tensor that has NaN or infinities.
Result<int> run_conversion(const Checkpoint& input, const Plan& plan,
                           const ConversionRequest& request);

}  // namespace diecast::tool
