// diecast check FILE...: replays reference vectors of other implementations through our kernels.
#include <diecast/base/text.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/checkpoint/vectors.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/devices.h>
#include <diecast/tool/open_runtime.h>

#include <map>
#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

constexpr auto kPassed = CaseResult::State::passed;
constexpr auto kFailed = CaseResult::State::failed;
constexpr auto kSkipped = CaseResult::State::skipped;

void print_report(const std::string& path, const VectorReport& report) {
  print(cat(path, ": ", report.count(kPassed), " passed, ", report.count(kFailed), " failed, ",
            report.count(kSkipped), " skipped"));
  std::map<std::string, std::vector<std::string>> skipped;  // by reason
  for (const CaseResult& one : report.cases) {
    if (one.state == kSkipped) skipped[one.reason].push_back(quote(one.name));
    if (one.state != kFailed) continue;
    print(cat("  ", quote(one.name), ": ", one.differing, " elements differ"));
    for (const VectorDifference& d : one.differences) {
      print(
          cat("    ", quote(d.tensor), "[", d.index, "]: expected ", d.expected, ", got ", d.got));
    }
  }
  for (const auto& [reason, names] : skipped) {
    print(cat("  skipped, ", reason, ": ", join(names, " ")));
  }
}

// The counts, and every case that failed or was skipped.
nlohmann::ordered_json as_json(const std::string& path, const VectorReport& report) {
  nlohmann::ordered_json failures = nlohmann::ordered_json::array(), skips = failures;
  for (const CaseResult& one : report.cases) {
    if (one.state == kSkipped) skips.push_back({{"case", one.name}, {"reason", one.reason}});
    if (one.state != kFailed) continue;
    nlohmann::ordered_json first = nlohmann::ordered_json::array();
    for (const VectorDifference& d : one.differences) {
      first.push_back(
          {{"tensor", d.tensor}, {"index", d.index}, {"expected", d.expected}, {"got", d.got}});
    }
    failures.push_back({{"case", one.name}, {"differing", one.differing}, {"first", first}});
  }
  return {{"file", path},
          {"title", report.title},
          {"passed", report.count(kPassed)},
          {"failed", report.count(kFailed)},
          {"skipped", report.count(kSkipped)},
          {"failures", failures},
          {"skips", skips}};
}

Result<int> check(const std::vector<std::string>& paths, const std::string& target, bool json) {
  std::vector<SafetensorsReader> files;  // all of them before the first is replayed
  for (const std::string& path : paths) {
    DIECAST_TRY(auto file, SafetensorsReader::open(path));
    files.push_back(std::move(file));
  }
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_TRY(const auto device, open_device(*runtime, target));
  if (!json) print(cat("on ", describe(*device)));
  const VectorKernels kernels = device_vector_kernels(runtime, device);
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Progress progress("check", json);
  std::size_t passed = 0, failed = 0, skipped = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string& path = paths[i];
    DIECAST_TRY(const VectorReport report,
                check_vectors(files[i], kernels, [&](std::size_t done, std::size_t total) {
                  progress.update(done, total, path);
                }));
    progress.clear();
    passed += report.count(kPassed);
    failed += report.count(kFailed);
    skipped += report.count(kSkipped);
    if (!json) print_report(path, report);
    out.push_back(as_json(path, report));
  }
  if (json) {
    print_json(out);
  } else {
    print(cat(passed, " passed, ", failed, " failed, ", skipped, " skipped"));
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

Command add_check(CLI::App& app) {
  struct Options {
    std::vector<std::string> paths;
    std::string target = "auto";
    bool json = false;
  };
  auto* command = app.add_subcommand("check", "Replay reference vectors of other implementations");
  auto options = std::make_shared<Options>();
  command->add_option("file", options->paths, "Files of vectors (.safetensors)")->required();
  add_target(*command, options->target);
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return check(options->paths, options->target, options->json); }};
}

}  // namespace diecast::tool
