// Printing and carrying out plans; see conversion.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/tool/console.h>
#include <diecast/tool/conversion.h>
#include <diecast/tool/devices.h>
#include <diecast/tool/open_runtime.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace diecast::tool {
namespace {

// The plan, and what came of it.
nlohmann::ordered_json report_json(const Plan& plan, const ConvertReport& report, Runtime& runtime,
                                   Device& device, double seconds) {
  nlohmann::ordered_json out = plan_json(plan, report.side_files);
  out.update({{"device", describe(device)},
              {"copied", report.copied},
              {"quantized", report.quantized},
              {"dequantized", report.dequantized},
              {"input_bytes", report.input_bytes},
              {"output_bytes", report.output_bytes},
              {"seconds", seconds},
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

std::vector<std::string> notes_of(const Plan& plan, const SideFiles& side_files) {
  std::vector<std::string> out = plan.notes;
  out.insert(out.end(), side_files.notes().begin(), side_files.notes().end());
  return out;
}

std::vector<std::string> names_of(const SideFiles& side_files) {
  std::vector<std::string> out;
  for (const SideFile& file : side_files.list()) out.push_back(file.name);
  return out;
}

// Tensors that have the amax of another, with that one: the first of their group.
std::map<std::size_t, std::size_t> shared_amaxes(const Plan& plan) {
  std::map<std::size_t, std::size_t> out;
  for (const std::vector<std::size_t>& group : plan.groups) {
    for (std::size_t i = 1; i < group.size(); ++i) out[group[i]] = group[0];
  }
  return out;
}

}  // namespace

void print_plan(const Plan& plan, const SideFiles& side_files) {
  const auto shared = shared_amaxes(plan);
  Table table({"tensor", "type", "shape", "what becomes of it"});
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& t = plan.tensors[i];
    std::string what(action_name(t.action));
    if (t.action == Action::dequantize) what += cat(" to ", dtype_name(t.to));
    if (!t.reason.empty()) what += cat(": ", t.reason);
    if (const auto first = shared.find(i); first != shared.end())
      what += cat(", one amax with ", quote(plan.tensors[first->second].name));
    const std::string name = quote(t.name);
    table.add({name.substr(1, name.size() - 2), std::string(stored_dtype_name(t.dtype)),
               shape_text(t.shape), what});
  }
  table.print();
  if (!plan.scope.empty()) print(cat("quantized are weights of ", plan.scope));
  auto names = names_of(side_files);
  for (std::string& name : names) name = quote(name);
  if (!names.empty()) print(cat("beside the weights: ", join(names, ", ")));
  for (const std::string& note : notes_of(plan, side_files)) print(cat("note: ", note));
}

nlohmann::ordered_json plan_json(const Plan& plan, const SideFiles& side_files) {
  nlohmann::ordered_json out = {{"tensors", nlohmann::ordered_json::array()},
                                {"notes", notes_of(plan, side_files)},
                                {"side_files", names_of(side_files)}};
  if (!plan.scope.empty()) out["scope"] = plan.scope;
  const auto shared = shared_amaxes(plan);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& t = plan.tensors[i];
    nlohmann::ordered_json entry = {{"name", t.name},
                                    {"dtype", stored_dtype_name(t.dtype)},
                                    {"shape", t.shape},
                                    {"action", action_name(t.action)},
                                    {"reason", t.reason}};
    if (const auto first = shared.find(i); first != shared.end())
      entry["amax_with"] = plan.tensors[first->second].name;
    out["tensors"].push_back(std::move(entry));
  }
  return out;
}

Result<int> run_conversion(const Checkpoint& input, const Plan& plan,
                           const ConversionRequest& request) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_TRY(const auto device, open_device(*runtime, request.target));
  // Not before the output is known to be writable: an error below a long plan is not read.
  bool told = request.json;
  const auto tell = [&](const SideFiles& side_files) {
    if (std::exchange(told, true)) return;
    print_plan(plan, side_files);
    print(cat("on ", describe(*device)));
  };
  const auto start = std::chrono::steady_clock::now();
  Progress progress(request.verb, request.json);
  ConvertOptions options;
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
    print_json(report_json(plan, report, *runtime, *device, seconds));
    return 0;
  }
  for (const NonfiniteTensor& tensor : report.nonfinite) {
    print(tensor.nan_blocks == 0
              ? cat("note: ", quote(tensor.name), " has ", tensor.nan, " NaN and ", tensor.infinite,
                    " infinite values")
              : cat("note: ", quote(tensor.name), " is finite, and ", tensor.nan_blocks,
                    " of its blocks are NaN now: the profile divides zeros by zero"));
  }
  const auto counters = runtime->counters();
  print(cat(counted(report.quantized + report.dequantized, "tensor"), " ", request.verb, "d, ",
            report.copied, " copied; ", human_bytes(report.input_bytes), " became ",
            human_bytes(report.output_bytes), " in ", fixed(seconds, 2), " s; ",
            counted(counters.compiled, "kernel"), " compiled, ", counters.disk_hits,
            " from the cache"));
  return 0;
}

}  // namespace diecast::tool
