// Calls from Python against the same calls from C++: what tests/bench/python/timing.py prints.
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "bench/bench.h"

namespace diecast::tool {
namespace {

Error not_measured(const ProcessResult& child) {
  const auto lines = split(trim(child.errors), '\n');
  return {ErrorCode::not_supported,
          cat("calls from Python cannot be measured here: ", lines.empty() ? "" : lines.back()),
          "build with -DDIECAST_BUILD_PYTHON=ON, and have a python3 with torch on a machine with a "
          "GPU"};
}

}  // namespace

std::string python_path() {
  const char* const given = std::getenv("PYTHONPATH");
  const std::string own = DIECAST_BUILD_DIR "/python:" DIECAST_BUILD_DIR "/tests/python";
  return given == nullptr ? own : cat(own, ":", given);
}

Result<Figures> bench_python(Runtime&) {
  ProcessRequest request;
  request.arguments = {"python3", DIECAST_SOURCE_DIR "/tests/bench/python/timing.py"};
  request.environment = environment_with({"PYTHONPATH=" + python_path()});
  request.time_limit = std::chrono::minutes(5);
  DIECAST_TRY(const ProcessResult child, run_process(request));
  if (child.exit_code != 0) return not_measured(child);
  Figures figures;
  for (const std::string_view line : split(trim(child.output), '\n')) {
    const auto read = nlohmann::json::parse(line, nullptr, false);
    if (!read.is_object()) continue;
    figures.push_back({.what = read.value("what", ""),
                       .value = read.value("value", 0.0),
                       .unit = read.value("unit", ""),
                       .bound = read.value("bound", 0.0),
                       .detail = read.value("detail", "")});
  }
  return figures;
}

}  // namespace diecast::tool
