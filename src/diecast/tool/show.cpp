// diecast show TEMPLATE: what may vary, the arguments, the launch, the targets; all from its
// header.
#include <diecast/base/text.h>
#include <diecast/runtime/runtime.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>

#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

std::string_view kind_name(Parameter::Kind kind) {
  return kind == Parameter::Kind::shape    ? "shape"
         : kind == Parameter::Kind::option ? "option"
                                           : "tune";
}

std::string values_of(const Parameter& parameter) {
  if (parameter.type == ParameterType::boolean) return "0 or 1";
  if (parameter.allowed.empty()) return "any integer";
  std::vector<std::string> words;
  for (const Value& value : parameter.allowed) words.push_back(value.spelling());
  return join(words, ", ");
}

std::string shape_text(const Argument& argument) {
  std::vector<std::string> dims;
  for (const Expression& dim : argument.shape) dims.push_back(dim.text());
  return cat("[", join(dims, ", "), "]");
}

std::string facts_of(const Argument& argument) {
  std::string facts;
  if (argument.stride) {
    facts += argument.stride->text() == "1"
                 ? "rows may be apart"
                 : cat("rows may be apart where ", argument.stride->text());
  }
  if (argument.align)
    facts += cat(facts.empty() ? "" : "; ", "aligned to ", argument.align->text());
  return facts;
}

std::string size_facts(const Size& size) {
  std::string facts = size.device ? "a number, or in device memory" : "";
  if (size.divisible) {
    facts += cat(facts.empty() ? "" : "; ", "a multiple of ", size.divisible->text());
  }
  return facts;
}

std::string_view direction_name(Argument::Direction direction) {
  return direction == Argument::Direction::in    ? "in"
         : direction == Argument::Direction::out ? "out"
                                                 : "inout";
}

std::string targets_text(const Template& tmpl) {
  std::string text = tmpl.host() ? "host" : "";
  if (tmpl.minimum_cc() != 0)
    text += cat(text.empty() ? "" : ", ", "sm_", tmpl.minimum_cc(), " and up");
  return text;
}

void print_text(const Template& tmpl) {
  print(tmpl.prose());
  print("");
  Table parameters({"kind", "parameter", "values", "default", "meaning"});
  for (const Parameter& p : tmpl.parameters()) {
    parameters.add({std::string(kind_name(p.kind)), p.name, values_of(p),
                    p.fallback ? p.fallback->spelling() : "must be given", p.comment});
  }
  parameters.print();
  print("");
  Table arguments({"argument", "direction", "type", "shape", "facts"});
  for (const Argument& a : tmpl.arguments()) {
    const bool tensor = a.kind == Argument::Kind::tensor;
    const Size* size = a.kind == Argument::Kind::size ? tmpl.size(a.name) : nullptr;
    arguments.add({a.name, tensor ? std::string(direction_name(a.direction)) : "in",
                   size != nullptr ? "i64" : a.type, tensor ? shape_text(a) : "",
                   size != nullptr ? size_facts(*size) : facts_of(a)});
  }
  arguments.print();
  print("");
  for (const Requirement& r : tmpl.requirements()) {
    print(cat("require  ", r.condition.text(), r.reason.empty() ? "" : cat("  (", r.reason, ")")));
  }
  print(cat("targets  ", targets_text(tmpl)));
}

nlohmann::ordered_json as_json(const Template& tmpl) {
  nlohmann::ordered_json out = {{"template", tmpl.name()}, {"prose", tmpl.prose()}};
  for (const Parameter& p : tmpl.parameters()) {
    nlohmann::ordered_json values = nlohmann::ordered_json::array();
    for (const Value& value : p.allowed) values.push_back(value.spelling());
    nlohmann::ordered_json entry = {{"name", p.name},
                                    {"kind", kind_name(p.kind)},
                                    {"values", values},
                                    {"meaning", p.comment},
                                    {"compiled", p.compiled()}};
    if (p.fallback) entry["default"] = p.fallback->spelling();
    out["parameters"].push_back(entry);
  }
  for (const Argument& a : tmpl.arguments()) {
    nlohmann::ordered_json entry = {{"name", a.name}};
    if (a.kind == Argument::Kind::tensor) {
      entry["direction"] = direction_name(a.direction);
      entry["type"] = a.type;
      entry["shape"] = shape_text(a);
      entry["facts"] = facts_of(a);
    }
    out["arguments"].push_back(entry);
  }
  out["targets"] = targets_text(tmpl);
  return out;
}

Result<int> show(const std::string& name, const std::vector<std::string>& own, bool json) {
  DIECAST_TRY(const auto runtime, open_runtime());
  for (const std::string& path : own) DIECAST_CHECK(runtime->add(path));
  DIECAST_TRY(const auto found, runtime->find_template(name));
  if (json) {
    print_json(as_json(*found));
  } else {
    print_text(*found);
  }
  return 0;
}

}  // namespace

Command add_show(CLI::App& app) {
  struct Options {
    std::string name;
    std::vector<std::string> own;
    bool json = false;
  };
  auto* command = app.add_subcommand("show", "A template's parameters, arguments and targets");
  auto options = std::make_shared<Options>();
  command->add_option("template", options->name, "Its name")->required();
  command->add_option("--add", options->own, "A template file of your own")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return show(options->name, options->own, options->json); }};
}

}  // namespace diecast::tool
