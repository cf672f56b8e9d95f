// diecast verify FOLDER: would engines load it?
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/report_json.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/verdict.h>

#include <algorithm>

namespace diecast::tool {
namespace {

struct VerifyArguments {
  std::string input;
  std::vector<std::string> engines = {"vllm", "sglang"};  // that decide the exit code
  bool json = false;
};

std::vector<std::string> titles(const std::vector<Engine>& engines) {
  std::vector<std::string> out;
  for (const Engine engine : engines) out.emplace_back(engine_title(engine));
  return out;
}

Result<int> verify(const VerifyArguments& options) {
  DIECAST_TRY(const VerifyReport report, verify_folder(options.input));
  options.json ? print_json(report_json(report)) : print_verdict(report);
  const bool good = std::ranges::all_of(kEngines, [&](Engine engine) {
    const bool asked = std::ranges::count(options.engines, engine_name(engine)) != 0;
    return !asked || (report.loads(engine) && report.is_known(engine));
  });
  return good ? 0 : 1;
}

}  // namespace

void print_verdict(const VerifyReport& report) {
  for (const VerifyFault& fault : report.faults) {
    print(cat(join(titles(fault.engines), ", "), ": ", fault.what,
              fault.count == 1 ? "" : cat(" (and ", fault.count - 1, " more)"),
              "\n  fix: ", fault.fix));
  }
  for (const std::string& note : report.notes) print(cat("note: ", note));
  print(cat(counted(report.quantized, "quantized weight"), ", ", report.others, " others"));
  for (const Engine engine : kEngines)
    print(cat(engine_title(engine), !report.loads(engine)     ? ": no"
                                    : report.is_known(engine) ? ": no rule is broken"
                                                              : ": not known"));
}

Command add_verify(CLI::App& app) {
  auto* command =
      app.add_subcommand("verify", "Would engines load this folder of quantized weights?");
  auto options = std::make_shared<VerifyArguments>();
  command->add_option("input", options->input, "A model's folder, or the index in it")->required();
  command->add_option("--for", options->engines, "The engines that decide the exit code")
      ->delimiter(',')
      ->check(CLI::IsMember({"vllm", "sglang"}))
      ->default_str("vllm,sglang");
  command->add_flag("--json", options->json, "For programs");
  command->footer(
      "It holds the config and the tensors against the rules of the engines' loaders: which form "
      "of\n"
      "weights an engine reads, which modules it ignores, parts, shapes, types, scales that fused\n"
      "modules share, what a model lacks. It knows the forms that `diecast quantize` writes, also\n"
      "where another tool wrote them. It does not know which architectures an engine has. The "
      "exit\n"
      "code is 1 if a rule is broken, and if an engine's rules for a form are not known.");
  return {command, [options] { return verify(*options); }};
}

}  // namespace diecast::tool
