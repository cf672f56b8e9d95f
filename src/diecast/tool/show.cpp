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

std::string values_of(const Parameter& parameter) {
  if (parameter.allowed.empty()) return parameter.allowed_text();
  std::vector<std::string> words;
  for (const Value& value : parameter.allowed) words.push_back(value.spelling());
  return join(words, ", ");
}

std::string list_text(const std::vector<Expression>& values) {
  std::vector<std::string> texts;
  for (const Expression& value : values) texts.push_back(value.text());
  return join(texts, ", ");
}

// What the table and the JSON say of an argument.
struct ArgumentRow {
  std::string kind, direction, type, shape, facts;
};

ArgumentRow tensor_row(const Argument& argument) {
  std::vector<std::string> facts;
  if (argument.stride) {
    const std::string where = argument.stride->text();
    facts.push_back(where == "1" ? "rows may be apart" : cat("rows may be apart where ", where));
  }
  if (argument.align) facts.push_back(cat("aligned to ", argument.align->text()));
  if (!argument.optional.empty())
    facts.push_back(cat("may be null: ", argument.optional, " says whether it is there"));
  if (argument.settled) facts.emplace_back("no kernel before writes it");
  return {"tensor", std::string(word(argument.direction)), argument.type,
          cat("[", list_text(argument.shape), "]"), join(facts, "; ")};
}

ArgumentRow size_row(const Size& size) {
  std::vector<std::string> facts;
  if (!size.fixed_by.empty()) facts.push_back(cat("fixed by ", size.fixed_by, " unless it is 0"));
  if (size.device) facts.emplace_back("a number, or in device memory");
  if (size.divisible) facts.push_back(cat("a multiple of ", size.divisible->text()));
  return {"size", "in", "i64", "", join(facts, "; ")};
}

ArgumentRow row_of(const Template& tmpl, const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::tensor:
      return tensor_row(argument);
    case Argument::Kind::size:
      return size_row(*tmpl.size(argument.name));
    case Argument::Kind::scalar:
      return {"scalar", "in", argument.type, "", ""};
    case Argument::Kind::structure:
      return {"struct", "in", cat("struct ", argument.type), "", cat(argument.bytes, " bytes")};
    case Argument::Kind::tensor_map:
      break;
  }
  return {"tensor_map", "in", "tensor_map", "", cat(argument.bytes, " bytes")};
}

std::string launch_text(const LaunchRule& launch) {
  std::string text = cat("grid(", list_text(launch.grid), ") block(", list_text(launch.block), ")");
  if (launch.resident) text += cat(" resident(", launch.resident->text(), ")");
  if (launch.shared) text += cat(" shared(", launch.shared->text(), ")");
  if (launch.cluster) text += cat(" cluster(", launch.cluster->text(), ")");
  if (launch.cooperative) text += " cooperative";
  if (launch.dependent) text += launch.late ? " dependent(late)" : " dependent";
  return text;
}

std::string_view exchange_name(Exchange exchange) {
  return exchange == Exchange::none ? "none" : exchange == Exchange::warp ? "warp" : "block";
}

std::string samples_text(const Samples& samples) {
  std::vector<std::string> values;
  for (const std::int64_t value : samples.values) values.push_back(cat(value));
  return cat(samples.name, " {", join(values, ", "), "}");
}

std::string_view sums_text(Parameter::Sums sums) {
  return sums == Parameter::Sums::same     ? ""
         : sums == Parameter::Sums::approx ? " approx"
                                           : " approx by sizes";
}

void print_text(const Template& tmpl) {
  print(tmpl.prose());
  print("");
  Table parameters({"kind", "parameter", "values", "default", "meaning"});
  for (const Parameter& p : tmpl.parameters()) {
    parameters.add({cat(word(p.kind), sums_text(p.sums)), p.name, values_of(p),
                    p.fallback ? p.fallback->spelling() : "must be given", p.comment});
  }
  parameters.print();
  print("");
  Table arguments({"argument", "direction", "type", "shape", "facts"});
  for (const Argument& a : tmpl.arguments()) {
    const ArgumentRow row = row_of(tmpl, a);
    arguments.add({a.name, row.direction, row.type, row.shape, row.facts});
  }
  arguments.print();
  print("");
  for (const Let& let : tmpl.lets())
    print(cat("let      ", let.name, " = ", let.value.text(),
              let.comment.empty() ? "" : cat("  (", let.comment, ")")));
  for (const Requirement& r : tmpl.requirements())
    print(cat("require  ", r.condition.text(), r.reason.empty() ? "" : cat("  (", r.reason, ")")));
  print(cat("launch   ", launch_text(tmpl.launch())));
  print(cat("exchange ", exchange_name(tmpl.exchange())));
  for (const Samples& samples : tmpl.samples()) print(cat("sample   ", samples_text(samples)));
  print(cat("targets  ", tmpl.targets_text()));
}

using Json = nlohmann::ordered_json;

Json as_json(const Parameter& p) {
  Json values = Json::array();
  for (const Value& value : p.allowed) values.push_back(value.spelling());
  Json out = {{"name", p.name},
              {"kind", word(p.kind)},
              {"values", values},
              {"meaning", p.comment},
              {"compiled", p.compiled()}};
  if (p.sums != Parameter::Sums::same) out["sums"] = trim(sums_text(p.sums));
  if (p.fallback) out["default"] = p.fallback->spelling();
  return out;
}

Json as_json(const Template& tmpl) {
  Json parameters = Json::array(), arguments = Json::array(), lets = Json::array(),
       requirements = Json::array(), samples = Json::object();
  for (const Parameter& p : tmpl.parameters()) parameters.push_back(as_json(p));
  for (const Argument& a : tmpl.arguments()) {
    const ArgumentRow row = row_of(tmpl, a);
    arguments.push_back({{"name", a.name},
                         {"kind", row.kind},
                         {"direction", row.direction},
                         {"type", row.type},
                         {"shape", row.shape},
                         {"facts", row.facts}});
  }
  for (const Let& let : tmpl.lets())
    lets.push_back({{"name", let.name}, {"value", let.value.text()}, {"meaning", let.comment}});
  for (const Requirement& r : tmpl.requirements())
    requirements.push_back({{"condition", r.condition.text()}, {"reason", r.reason}});
  for (const Samples& one : tmpl.samples()) samples[one.name] = one.values;
  return {{"template", tmpl.name()},
          {"prose", tmpl.prose()},
          {"parameters", parameters},
          {"arguments", arguments},
          {"lets", lets},
          {"requirements", requirements},
          {"launch", launch_text(tmpl.launch())},
          {"exchange", exchange_name(tmpl.exchange())},
          {"samples", samples},
          {"targets", tmpl.targets_text()}};
}

Result<int> show(const std::string& name, const Own& own, bool json) {
  DIECAST_TRY(const auto runtime, open_runtime());
  DIECAST_CHECK(add_own_to(*runtime, own));
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
    Own own;
    bool json = false;
  };
  auto* command = app.add_subcommand("show", "Show a template's parameters, arguments and targets");
  auto options = std::make_shared<Options>();
  command->add_option("template", options->name, "Its name; `diecast list` has them")->required();
  add_own(*command, options->own);
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return show(options->name, options->own, options->json); }};
}

}  // namespace diecast::tool
