// The report of verify as JSON; see report_json.h.
#include <diecast/checkpoint/verify/report_json.h>

namespace diecast {

nlohmann::ordered_json report_json(const VerifyReport& report) {
  nlohmann::ordered_json out = {{"quantized", report.quantized},
                                {"others", report.others},
                                {"engines", nlohmann::ordered_json::object()},
                                {"notes", report.notes},
                                {"faults", nlohmann::ordered_json::array()}};
  for (const Engine engine : kEngines) {
    const bool loads = report.loads(engine), open = loads && !report.is_known(engine);
    out["engines"][engine_name(engine)] = {
        {"version", engine_version(engine)},
        {"loads", open ? nlohmann::ordered_json() : nlohmann::ordered_json(loads)}};
  }
  for (const VerifyFault& fault : report.faults) {
    std::vector<std::string> engines;
    for (const Engine engine : fault.engines) engines.emplace_back(engine_name(engine));
    out["faults"].push_back(
        {{"engines", engines}, {"what", fault.what}, {"fix", fault.fix}, {"count", fault.count}});
  }
  return out;
}

}  // namespace diecast
