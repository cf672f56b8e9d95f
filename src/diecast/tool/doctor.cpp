// diecast doctor: what this machine has, what works on it, and how to mend what does not.
#include <diecast/base/text.h>
#include <diecast/launch/cuda_device.h>
#include <diecast/launch/host_device.h>
#include <diecast/ops/gemm/cublaslt/api.h>
#include <diecast/ops/gemm/cublaslt/gemm_cublaslt.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/tuning/record.h>
#include <diecast/tool/cache_roots.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/devices.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

constexpr const char *kKeeping = "keeping", *kSettings = "settings", *kTuning = "tuning";

// One thing that works or does not: the part, what was found, and the fix if it is missing.
struct Finding {
  std::string part;
  bool works = false;
  std::string found, fix;
};

Finding of_error(std::string part, const Error& error) {
  return {std::move(part), false, error.what, error.fix};
}

// `takers`: the GPUs that could multiply by it.
Finding cublaslt_finding(const std::vector<std::string>& takers) {
  const auto api = cublaslt::shared_api();
  if (!api) {
    Finding out = of_error("cuBLASLt", api.error());
    out.fix += "; only gemm_nvfp4's path cublaslt uses it, on GPUs with FP4 tensor cores";
    return out;
  }
  return {"cuBLASLt", true,
          cat((*api)->description(), ", for gemm_nvfp4 on ",
              takers.empty() ? "GPUs with FP4 tensor cores; this machine has none"
                             : join(takers, ", ")),
          ""};
}

void add_gpus(std::vector<Finding>& findings, std::vector<std::string>& with_fp4,
              std::vector<std::shared_ptr<Device>>& devices) {
  const auto count = cuda_device_count();
  if (!count) return findings.push_back(of_error("CUDA driver", count.error()));
  for (int i = 0; i < *count; ++i) {
    auto device = open_cuda_device(i);
    if (!device) {
      findings.push_back(of_error(cat("GPU ", i), device.error()));
      continue;
    }
    devices.push_back(*device);
    if (PreparedGemmCublaslt::runs_on(**device)) with_fp4.push_back(cat("GPU ", i));
    const DeviceProperties& p = (*device)->properties();
    if (i == 0) {
      findings.push_back(
          {"CUDA driver", true,
           cat("supports CUDA ", p.driver_version / 1000, ".", p.driver_version % 1000 / 10), ""});
    }
    std::vector<std::string> targets;
    for (const Target& target : (*device)->targets()) targets.push_back(target.name());
    findings.push_back({cat("GPU ", i), true,
                        cat(p.name, ", ", human_bytes(static_cast<std::uint64_t>(p.memory_bytes)),
                            ", ", p.sm_count, " multiprocessors, runs ", join(targets, ", ")),
                        ""});
  }
  if (*count == 0)
    findings.push_back({"GPU", false, "none", "everything but running on a GPU works without"});
}

Finding compiler_finding(Runtime& runtime, const char* part, const char* target) {
  const auto compiler = runtime.compiler(Target::parse(target).value());
  if (!compiler) return of_error(part, compiler.error());
  std::string found = (*compiler)->description();
  if (std::string_view(target) != "host") {
    std::vector<std::string> lacking;
    for (const char* name :
         {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a", "sm_121a"}) {
      if (!(*compiler)->accepts(Target::parse(name).value())) lacking.push_back(name);
    }
    found +=
        lacking.empty() ? ", builds sm_80 to sm_121a" : cat(", cannot build ", join(lacking, ", "));
  }
  return {part, true, found, ""};
}

// A file of tuning records, and how many of them a device of this machine chooses from.
Finding tuning_finding(Runtime& runtime, const std::string& path,
                       const std::vector<std::shared_ptr<Device>>& devices) {
  const auto file = read_tuning_file(path);
  if (!file) return of_error(kTuning, file.error());
  const auto is_of_here = [&](const TuningRecord& record) {
    const auto tmpl = runtime.find_template(record.kernel.substr(0, record.kernel.find(' ')));
    return tmpl && check_tuning_record(record, *tmpl) &&
           std::ranges::any_of(devices, [&](const std::shared_ptr<Device>& device) {
             return record.device == device_fingerprint(device->properties());
           });
  };
  const auto usable = std::ranges::count_if(file->records, is_of_here);
  std::string found =
      cat(path, ": ", file->records.size(), " records, ", usable, " for devices of this machine");
  for (const std::string& wrong : file->wrong) found += cat("\n", wrong);
  if (usable > 0) return {kTuning, true, std::move(found), ""};
  return {kTuning, false, std::move(found), "measure on this machine: `diecast tune`"};
}

// The roots in use, each that is left out, and whether what is built here is kept.
void add_cache(Runtime& runtime, std::vector<Finding>& findings) {
  const auto roots = roots_of(runtime);
  findings.push_back(roots ? Finding{"cache", true, (*roots)->description(), ""}
                           : of_error("cache", roots.error()));
  if (!roots) return;
  for (const auto& [setting, error] : runtime.refused_roots())
    findings.push_back(of_error(root_name(setting), error));
  const auto writable = writable_of(runtime);
  if (!writable) return findings.push_back(of_error(kKeeping, writable.error()));
  const auto tried = (*writable)->check_writing();
  findings.push_back(tried ? Finding{kKeeping, true, cat("in ", (*writable)->root()), ""}
                           : of_error(kKeeping, tried.error()));
}

// What the runtime has noticed beside roots, which are findings of their own.
void add_notices(Runtime& runtime, std::vector<Finding>& findings) {
  for (const RuntimeEvent& notice : runtime.notices())
    if (notice.kind != RuntimeEvent::Kind::degraded)
      findings.push_back({"notice", false, event_text(notice), ""});
}

std::vector<Finding> examine(Runtime& runtime) {
  std::vector<Finding> findings;
  std::vector<std::string> with_fp4;
  std::vector<std::shared_ptr<Device>> devices;
  add_gpus(findings, with_fp4, devices);
  findings.push_back(compiler_finding(runtime, "NVRTC", "sm_90a"));
  findings.push_back(cublaslt_finding(with_fp4));
  findings.push_back(compiler_finding(runtime, "host compiler", "host"));
  auto host = open_host_device();
  findings.push_back(host ? Finding{"host device", true, describe(**host), ""}
                          : of_error("host device", host.error()));
  if (host) devices.push_back(*host);
  const std::string tuning = RuntimeOptions::from_environment().tuning;
  if (!tuning.empty())
    for (const std::string_view path : split(tuning, ','))
      findings.push_back(tuning_finding(runtime, std::string(trim(path)), devices));
  add_notices(runtime, findings);
  add_cache(runtime, findings);
  return findings;
}

// What a user can do with what was found.
std::vector<std::string> abilities(const std::vector<Finding>& findings) {
  const auto works = [&](std::string_view part) {
    for (const Finding& f : findings) {
      if (f.part.starts_with(part) && f.works) return true;
    }
    return false;
  };
  const auto line = [](std::string_view what, bool yes) {
    return cat(yes ? "yes  " : "no   ", what);
  };
  return {line("build kernels for GPUs (warm, compile)", works("NVRTC")),
          line("run on a GPU", works("GPU") && (works("NVRTC") || works("cache"))),
          line("run on this processor", works("host compiler") && works("host device")),
          line("keep what was built", works(kKeeping))};
}

// A setting that makes no sense is a finding, and the rest is examined without a cache.
Result<std::vector<Finding>> examine_machine() {
  const auto runtime = Runtime::create();
  if (runtime) return examine(**runtime);
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.wrong.reset();
  options.log.clear();
  options.cache = "off";
  const auto without = Runtime::create(std::move(options));
  if (!without) return runtime.error();
  std::vector<Finding> findings = examine(**without);
  findings.back() = of_error(kSettings, runtime.error());
  return findings;
}

Result<int> doctor(bool json) {
  DIECAST_TRY(const auto findings, examine_machine());
  const int code = findings.back().part == kSettings ? 1 : 0;
  if (json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const Finding& f : findings) {
      out.push_back({{"part", f.part}, {"works", f.works}, {"found", f.found}, {"fix", f.fix}});
    }
    print_json(out);
    return code;
  }
  for (const Finding& f : findings) {
    std::string found = f.found;
    for (std::size_t at = found.find('\n'); at != std::string::npos;
         at = found.find('\n', at + 20)) {
      found.replace(at, 1, "\n" + std::string(19, ' '));
    }
    print(cat(f.works ? "ok   " : "--   ", f.part,
              std::string(f.part.size() < 14 ? 14 - f.part.size() : 1, ' '), found));
    if (!f.works && !f.fix.empty()) print(cat(std::string(19, ' '), "fix: ", f.fix));
  }
  print("");
  for (const std::string& ability : abilities(findings)) print(ability);
  return code;
}

}  // namespace

Command add_doctor(CLI::App& app) {
  auto* command =
      app.add_subcommand("doctor", "What works on this machine, and how to mend the rest");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "For programs");
  return {command, [json] { return doctor(*json); }};
}

}  // namespace diecast::tool
