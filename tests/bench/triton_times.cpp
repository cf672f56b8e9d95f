// Running tests/bench/triton/beside.py and reading what it prints; see triton_times.h.
#include "bench/triton_times.h"

#include <diecast/base/process.h>
#include <diecast/base/text.h>

#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

Error not_measured(const std::string& python, std::string_view errors) {
  const auto lines = split(trim(errors), '\n');
  return {ErrorCode::not_supported,
          cat(python, " cannot measure Triton: ", lines.empty() ? "" : lines.back()),
          "build with -DDIECAST_BUILD_PYTHON=ON, and name a Python with torch and triton: "
          "--python FILE"};
}

}  // namespace

Result<std::vector<TritonTime>> parse_triton_times(std::string_view printed) {
  std::vector<TritonTime> out;
  for (const std::string_view line : split(printed, '\n')) {
    if (trim(line).empty()) continue;
    const auto read = nlohmann::json::parse(line, nullptr, false);
    TritonTime one;
    try {
      one = {read.at("kernel").get<std::string>(),
             {read.at("rows").get<std::int64_t>(), read.at("cols").get<std::int64_t>()},
             read.at("us").get<double>(),
             read.at("agrees").get<bool>()};
    } catch (const nlohmann::json::exception&) {
      return Error{ErrorCode::parse_error, cat("beside.py printed ", quote(line)),
                   "run the beside.py of this source tree"};
    }
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::vector<TritonTime>> triton_times(const std::string& python,
                                             const std::vector<std::string>& kernels,
                                             const std::vector<std::string>& shapes) {
  ProcessRequest request;
  request.arguments = {python, DIECAST_SOURCE_DIR "/tests/bench/triton/beside.py", "--json"};
  for (const std::string& shape : shapes)
    request.arguments.insert(request.arguments.end(), {"--shape", shape});
  request.arguments.insert(request.arguments.end(), kernels.begin(), kernels.end());
  request.environment = environment_with({"PYTHONPATH=" + python_path()});
  request.time_limit = std::chrono::minutes(10);
  const auto child = run_process(request);
  if (!child) return not_measured(python, child.error().what);
  if (child->exit_code != 0) return not_measured(python, child->errors);
  return parse_triton_times(child->output);
}

}  // namespace diecast::tool
