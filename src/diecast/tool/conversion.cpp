// Carrying out plans; see conversion.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/checkpoint/plan_json.h>
#include <diecast/tool/console.h>
#include <diecast/tool/conversion.h>
#include <diecast/tool/devices.h>
#include <diecast/tool/open_runtime.h>
#include <diecast/tool/plan_table.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace diecast::tool {
namespace {

// The plan, and what came of it.
nlohmann::ordered_json report_json(const Plan& plan, const ConvertReport& report, Runtime& runtime,
                                   Device& device, double seconds, std::size_t jobs) {
  nlohmann::ordered_json out = plan_json(plan, report.side_files);
  out.update({{"device", describe(device)},
              {"copied", report.copied},
              {"quantized", report.quantized},
              {"dequantized", report.dequantized},
              {"input_bytes", report.input_bytes},
              {"output_bytes", report.output_bytes},
              {"cast_blocks", report.cast_blocks},
              {"exact_blocks", report.exact_blocks},
              {"seconds", seconds},
              {"jobs", jobs},
              {"compiled", runtime.counters().compiled},
              {"nonfinite", nlohmann::ordered_json::array()}});
  for (const NonfiniteTensor& tensor : report.nonfinite) {
    out["nonfinite"].push_back({{"tensor", tensor.name},
                                {"nan", tensor.nan},
                                {"infinite", tensor.infinite},
                                {"nan_blocks", tensor.nan_blocks}});
  }
  return out;
}

}  // namespace

Result<int> run_conversion(const Checkpoint& input, const Plan& plan,
                           const ConversionRequest& request) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_TRY(const auto device, open_device(*runtime, request.target));
  ConvertOptions options;
  options.overwrite = request.overwrite;
  options.jobs = request.jobs != 0 ? request.jobs : default_jobs(*device);
  // Not before the output is known to be writable: an error below a long plan is not read.
  bool told = request.json;
  const auto tell = [&](const SideFiles& side_files) {
    if (std::exchange(told, true)) return;
    print_plan(plan, side_files, request.whole_plan);
    print(cat("on ", describe(*device), ", ", counted(options.jobs, "job")));
  };
  const auto start = std::chrono::steady_clock::now();
  Progress progress(request.verb, request.json, Progress::Of::bytes);
  options.progress = [&](const ConvertProgress& now) {
    tell(now.side_files);
    progress.update(now.done, now.total, now.name);
  };
  DIECAST_TRY(
      const ConvertReport report,
      convert(input, plan, request.output, device_kernels(runtime, device, plan.scheme), options));
  progress.clear();
  tell(report.side_files);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (request.json) {
    print_json(report_json(plan, report, *runtime, *device, seconds, options.jobs));
    return 0;
  }
  for (const NonfiniteTensor& tensor : report.nonfinite) {
    print(tensor.nan_blocks == 0
              ? cat("note: ", quote(tensor.name), " has ", tensor.nan, " NaN and ", tensor.infinite,
                    " infinite values")
              : cat("note: ", quote(tensor.name), " is finite, and ", tensor.nan_blocks,
                    " of its blocks are NaN now: the profile divides zeros by zero"));
  }
  if (report.cast_blocks > 0)
    print(cat(report.exact_blocks, " of ", report.cast_blocks,
              " blocks were MXFP4 and are cast without rounding"));
  const auto counters = runtime->counters();
  print(cat(counted(report.quantized + report.dequantized, "tensor"), " ", request.verb, "d, ",
            report.copied, " copied; ", human_bytes(report.input_bytes), " became ",
            human_bytes(report.output_bytes), " in ", fixed(seconds, 2), " s; ",
            counted(counters.compiled, "kernel"), " compiled, ", counters.disk_hits,
            " from the cache"));
  return 0;
}

void add_layout(CLI::App& command, LayoutArguments& arguments) {
  command
      .add_option("--scale-layout", arguments.scales,
                  "How block scales lie in another tool's NVFP4 that does not say it. Default: "
                  "linear")
      ->check(CLI::IsMember({"linear", "128x4", "8x4"}));
  command
      .add_option("--nibbles", arguments.nibbles,
                  "Which of its two values a byte of such codes has in the low bits. Default: the "
                  "first")
      ->check(CLI::IsMember({"low-first", "high-first"}));
}

std::optional<Nvfp4Layout> layout_of(const LayoutArguments& arguments) {
  if (arguments.scales.empty() && arguments.nibbles.empty()) return std::nullopt;
  Nvfp4Layout out;
  if (arguments.scales == "128x4") out.scales = ScaleLayout::s128x4;
  if (arguments.scales == "8x4") out.scales = ScaleLayout::s8x4;
  out.high_first = arguments.nibbles == "high-first";
  return out;
}

}  // namespace diecast::tool
