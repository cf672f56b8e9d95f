// diecast-bench selftest --device: what this driver does when code is loaded, unloaded and
// captured, in plain sentences; fails where one does not hold that diecast relies on.
#include <diecast/base/text.h>
#include <diecast/tool/console.h>
#include <diecast/tool/devices.h>

#include <nlohmann/json.hpp>

#include "bench/commands.h"
#include "bench/selftest_device.h"

namespace diecast::tool {
namespace {

Result<void> wants_device(bool wanted) {
  if (wanted) return {};
  return Error{
      ErrorCode::invalid_argument, "selftest was not told what to test",
      "`diecast-bench selftest --device` tests the GPU's driver; tests/run.sh runs the tests"};
}

Result<int> selftest(bool json) {
  DIECAST_TRY(const auto runtime, Runtime::create());
  DIECAST_TRY(const auto device, runtime->default_device());
  DIECAST_TRY(const SelftestDriver driver, SelftestDriver::open(*device));
  DIECAST_TRY(const auto facts, device_facts(*runtime, driver, device));
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"", "measured", "found"});
  bool all_hold = true;
  for (const DeviceFact& fact : facts) {
    all_hold = all_hold && fact.holds;
    out.push_back({{"what", fact.what},
                   {"found", fact.sentence},
                   {"relied_on", fact.relied_on},
                   {"holds", fact.holds}});
    table.add({!fact.relied_on ? "" : fact.holds ? "holds" : "FAILS", fact.what, fact.sentence});
  }
  if (json) {
    print_json(out);
    return all_hold ? 0 : 1;
  }
  print(cat(describe(*device), ", driver of CUDA ", driver.driver().version_text()));
  table.print();
  return all_hold ? 0 : 1;
}

}  // namespace

Command add_selftest(CLI::App& app) {
  struct Options {
    bool device = false, json = false;
  };
  auto* command =
      app.add_subcommand("selftest", "Whether this machine's driver does what diecast relies on");
  auto options = std::make_shared<Options>();
  command->add_flag("--device", options->device,
                    "What loading, unloading and capturing do on the GPU");
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return selftest(options->json); },
          [options] { return wants_device(options->device); }};
}

}  // namespace diecast::tool
