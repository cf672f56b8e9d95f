// What `quantize` and `dequantize` share: printing a plan, and carrying it out on a device.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/side_files.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace diecast::tool {

// With what goes along beside the weights.
void print_plan(const Plan& plan, const SideFiles& side_files);
nlohmann::ordered_json plan_json(const Plan& plan, const SideFiles& side_files);

struct ConversionRequest {
  std::string verb;  // "quantize"
  std::string output;
  std::string target;  // auto, host, cuda
  bool json = false;
};

// Opens the device, prints the plan, converts, prints what was done and where, and names every
// tensor that has NaN or infinities.
Result<int> run_conversion(const Checkpoint& input, const Plan& plan,
                           const ConversionRequest& request);

}  // namespace diecast::tool
