// diecast list: the templates, a line each.
#include <diecast/runtime/runtime.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

// The prose's first clause: up to a `.`, `:` or `;` at a word's end, without the template's name.
std::string summary_of(const Template& tmpl) {
  std::string prose = tmpl.prose();
  if (prose.starts_with(tmpl.name() + ": ")) prose.erase(0, tmpl.name().size() + 2);
  std::replace(prose.begin(), prose.end(), '\n', ' ');
  prose += ' ';
  std::size_t end = prose.find_first_of(".:;");
  while (end != std::string::npos && prose[end + 1] != ' ')
    end = prose.find_first_of(".:;", end + 1);
  return prose.substr(0, end);
}

Result<int> list(bool json) {
  DIECAST_TRY(const auto runtime, open_runtime());
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"template", "what it does"});
  for (const std::string& name : runtime->template_names()) {
    DIECAST_TRY(const auto found, runtime->find_template(name));
    const std::string summary = summary_of(*found);
    table.add({name, summary});
    out.push_back({{"template", name}, {"summary", summary}});
  }
  if (json) {
    print_json(out);
  } else {
    table.print();
  }
  return 0;
}

}  // namespace

Command add_list(CLI::App& app) {
  auto* command = app.add_subcommand("list", "List the templates");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "For programs");
  return {command, [json] { return list(*json); }};
}

}  // namespace diecast::tool
