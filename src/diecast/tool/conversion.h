// What `quantize` and `dequantize` share: carrying out a plan on a device.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/side_files.h>

#include <CLI/CLI.hpp>
#include <optional>
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

// --scale-layout and --nibbles: how NVFP4 lies that does not say it.
struct LayoutArguments {
  std::string scales, nibbles;
};
void add_layout(CLI::App& command, LayoutArguments& arguments);
std::optional<Nvfp4Layout> layout_of(const LayoutArguments& arguments);  // none: neither is given

}  // namespace diecast::tool
