// Templates of the C interface: adding, listing, describing.
#include <diecast/base/text.h>
#include <diecast/c/objects.h>
#include <diecast/c/status.h>

#include <nlohmann/json.hpp>

namespace diecast::c {
namespace {

using Json = nlohmann::ordered_json;

Json as_json(const Parameter& parameter) {
  Json values = Json::array();
  for (const Value& value : parameter.allowed) values.push_back(value.spelling());
  Json out = {{"name", parameter.name},
              {"kind", word(parameter.kind)},
              {"values", values},
              {"meaning", parameter.comment},
              {"compiled", parameter.compiled()}};
  if (parameter.fallback) out["default"] = parameter.fallback->spelling();
  return out;
}

Json as_json(const Argument& argument) {
  Json shape = Json::array();
  for (const Expression& size : argument.shape) shape.push_back(size.text());
  return {{"name", argument.name},
          {"kind", word(argument.kind)},
          {"direction", word(argument.direction)},
          {"type", argument.type},
          {"optional", argument.optional},
          {"shape", shape},
          {"meaning", argument.comment}};
}

Json as_json(const Template& tmpl) {
  Json parameters = Json::array(), sizes = Json::array(), arguments = Json::array();
  for (const Parameter& one : tmpl.parameters()) parameters.push_back(as_json(one));
  for (const Size& one : tmpl.sizes())
    sizes.push_back({{"name", one.name}, {"fixed_by", one.fixed_by}, {"meaning", one.comment}});
  for (const Argument& one : tmpl.arguments()) arguments.push_back(as_json(one));
  return {{"name", tmpl.name()}, {"prose", tmpl.prose()},  {"parameters", parameters},
          {"sizes", sizes},      {"arguments", arguments}, {"targets", tmpl.targets_text()}};
}

// Every point of the space that agrees with the spelling, for its target or the host.
Result<std::string> variants(Runtime& runtime, std::string_view spelling) {
  DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
  DIECAST_TRY(const auto tmpl, runtime.find_template(parsed.name));
  DIECAST_TRY(const Target target,
              Target::parse(parsed.targets.empty() ? "host" : parsed.targets[0]));
  DIECAST_TRY(const Bindings fixed, bindings_of(parsed));
  DIECAST_TRY(const auto space, tmpl->space(target, fixed));
  std::string out;
  for (const Bindings& point : space) {
    DIECAST_TRY(const auto made, Specialization::make(tmpl, point, target));
    out += cat(made.spelling(), "\n");
  }
  return out;
}

}  // namespace
}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" {

std::int32_t diecast_template_add(diecast_handle runtime, const char* path) {
  return with_runtime(runtime, "diecast_template_add", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(path, "diecast_template_add", "path"));
    DIECAST_CHECK(with.add(path));
    return {};
  });
}

std::int32_t diecast_template_add_text(diecast_handle runtime, const char* name, const char* text) {
  return with_runtime(runtime, "diecast_template_add_text", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(name, "diecast_template_add_text", "name"));
    DIECAST_CHECK(check_given(text, "diecast_template_add_text", "text"));
    DIECAST_CHECK(with.add_text(name, text));
    return {};
  });
}

std::int32_t diecast_header_add(diecast_handle runtime, const char* name, const char* path) {
  return with_runtime(runtime, "diecast_header_add", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(name, "diecast_header_add", "name"));
    DIECAST_CHECK(check_given(path, "diecast_header_add", "path"));
    return with.add_header(name, path);
  });
}

std::int32_t diecast_template_names(diecast_handle runtime, diecast_text* names) {
  return with_runtime(runtime, "diecast_template_names", [&](Runtime& with) -> Result<void> {
    std::string text;
    for (const std::string& name : with.template_names()) text += name + "\n";
    return write_text(names, text, "diecast_template_names");
  });
}

std::int32_t diecast_template_describe(diecast_handle runtime, const char* name,
                                       diecast_text* json) {
  return with_runtime(runtime, "diecast_template_describe", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(name, "diecast_template_describe", "name"));
    DIECAST_TRY(const auto found, with.find_template(name));
    const std::string text = as_json(*found).dump(-1, ' ', false, Json::error_handler_t::replace);
    return write_text(json, text, "diecast_template_describe");
  });
}

std::int32_t diecast_template_variants(diecast_handle runtime, const char* spelling,
                                       diecast_text* spellings) {
  return with_runtime(runtime, "diecast_template_variants", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(spelling, "diecast_template_variants", "spelling"));
    DIECAST_TRY(const std::string text, variants(with, spelling));
    return write_text(spellings, text, "diecast_template_variants");
  });
}

}  // extern "C"
