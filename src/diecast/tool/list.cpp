// diecast list: the templates, a line each.
#include <diecast/runtime/runtime.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>

#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

Result<int> list(bool json) {
  DIECAST_TRY(const auto runtime, Runtime::create());
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"template", "what it does"});
  for (const std::string& name : runtime->template_names()) {
    DIECAST_TRY(const auto found, runtime->find_template(name));
    std::string summary = found->prose().substr(0, found->prose().find('\n'));
    if (summary.starts_with(name + ": ")) summary.erase(0, name.size() + 2);
    table.add({name, summary});
    out.push_back({{"template", name}, {"summary", summary}});
  }
  if (json) {
    print(out.dump(2));
  } else {
    table.print();
  }
  return 0;
}

}  // namespace

Command add_list(CLI::App& app) {
  auto* command = app.add_subcommand("list", "The templates");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "For programs");
  return {command, [json] { return list(*json); }};
}

}  // namespace diecast::tool
