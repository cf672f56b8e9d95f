// diecast variants TEMPLATE [NAME=VALUE ...]: the specializations its space gives for a target.
#include <diecast/base/text.h>
#include <diecast/runtime/runtime.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

struct VariantsArguments {
  std::string name;
  std::vector<std::string> fixed;
  Own own;
  std::string target = "sm_90a";
  bool json = false;
};

Result<int> variants(const VariantsArguments& options) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_CHECK(add_own_to(*runtime, options.own));
  DIECAST_TRY(const auto found, runtime->find_template(options.name));
  if (options.target.find_first_of(", ") != std::string::npos)
    return Error{ErrorCode::unknown_target, cat(quote(options.target, 40), " is not one target"),
                 "ask for one at a time: each has a space of its own"};
  DIECAST_TRY(const Target target, Target::parse(options.target));
  Bindings fixed;
  for (const std::string& word : options.fixed) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      return Error{ErrorCode::parse_error, cat(quote(word), " is not NAME=VALUE"),
                   "write, for example, COLS=4096"};
    }
    const std::string name = word.substr(0, equals);
    if (fixed.find(name))
      return Error{ErrorCode::parse_error, cat(name, " is set twice"),
                   cat("write one ", name, "=")};
    fixed.set(name, std::string_view(word).substr(equals + 1));
  }
  if (!found->supports(target)) {
    return Error{ErrorCode::target_not_supported,
                 cat(options.name, " does not exist for ", target.name()),
                 cat("name one of its targets with --target: ", found->targets_text())};
  }
  DIECAST_TRY(const auto space, found->space(target, fixed));
  if (space.empty()) {
    return Error{ErrorCode::constraint_violated,
                 cat(options.name, " has no variant", options.fixed.empty() ? "" : " with ",
                     join(options.fixed, " "), " for ", target.name()),
                 cat("`diecast show ", options.name,
                     "` lists what it requires; of integers without "
                     "a set only the values of its `sample` line are tried")};
  }
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Bindings& bindings : space) {
    DIECAST_TRY(const auto specialization, Specialization::make(found, bindings, target));
    if (options.json) {
      out.push_back(specialization.spelling());
    } else {
      print(specialization.spelling());
    }
  }
  if (options.json) print_json(out);
  return 0;
}

}  // namespace

Command add_variants(CLI::App& app) {
  auto* command = app.add_subcommand("variants", "List every specialization of a template");
  auto options = std::make_shared<VariantsArguments>();
  command->add_option("template", options->name, "Its name; `diecast list` has them")->required();
  command->add_option("fixed", options->fixed, "Parameters to hold: NAME=VALUE");
  command->add_option("--target", options->target, "The target that they are for")
      ->capture_default_str();
  add_own(*command, options->own);
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return variants(*options); }};
}

}  // namespace diecast::tool
