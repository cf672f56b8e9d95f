// Matching, as the engines do it; see engine_rules.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/verify/engine_rules.h>
#include <fnmatch.h>

#include <algorithm>

namespace diecast {
namespace {

bool matches(const std::string& glob, const std::string& name) {
  if (glob.find_first_of("*?[") == glob.npos) return glob == name;
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

std::string_view last_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool lists(std::span<const std::string> list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

Ignored ignored_by_vllm(std::span<const std::string> list, const std::string& module) {
  const Ignored parts =
      parts_ignored(module, [&](const std::string& part) { return lists(list, part); });
  if (parts != Ignored::no) return parts;
  // Older exporters did not list these.
  constexpr std::string_view kTowers[] = {"vision_tower", "vision_model", "vit_large_projector"};
  const auto is_in = [&](std::string_view tower) { return module.find(tower) != module.npos; };
  if (std::ranges::any_of(kTowers, is_in)) return Ignored::yes;
  const bool any = std::ranges::any_of(list, [&](const std::string& entry) {
    // An entry is also taken for a part of a name, and one expert for all of its bank.
    const bool bank = module.ends_with("experts") && entry.find(module) != entry.npos;
    return module.find(entry) != module.npos || bank || matches(entry, module);
  });
  return any ? Ignored::yes : Ignored::no;
}

// Whether the components of an entry are some of the module's, one after another.
bool is_path_in(std::string_view entry, std::string_view module) {
  while (entry.ends_with('.')) entry.remove_suffix(1);
  for (std::size_t at = module.find(entry); at != module.npos; at = module.find(entry, at + 1)) {
    const std::size_t end = at + entry.size();
    if ((at == 0 || module[at - 1] == '.') && (end == module.size() || module[end] == '.'))
      return true;
  }
  return false;
}

// Entries that end in a projection of compressed attention count for that of every layer.
bool excluded_by_sglang(const std::string& entry, const std::string& module) {
  constexpr std::string_view kMla[] = {"q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj"};
  constexpr std::string_view kInner = "language_model.";
  if (matches(entry, module)) return true;
  if (module.starts_with(kInner) && matches(entry, module.substr(kInner.size()))) return true;
  if (entry.find('.') == entry.npos)
    for (const std::string_view part : split(module, '.'))
      if (matches(entry, std::string(part))) return true;
  const std::string_view last = last_of(entry);
  return std::ranges::find(kMla, last) != std::end(kMla) &&
         last_of(module).find(last) != std::string_view::npos;
}

Ignored ignored_by_sglang(std::span<const std::string> list, const std::string& module) {
  const bool bank = module.ends_with(".experts");
  const Ignored skipped = bank ? Ignored::no : skipped_by_sglang(list, module);
  if (skipped != Ignored::no) return skipped;
  const bool any = std::ranges::any_of(
      list, [&](const std::string& entry) { return excluded_by_sglang(entry, module); });
  return any ? Ignored::yes : Ignored::no;
}

// What engines make of several and look for in a config.
bool is_packed(std::string_view role) {
  constexpr std::string_view kPacked[] = {"qkv_proj", "gate_up_proj", "in_proj_qkvz", "in_proj_ba"};
  return std::ranges::find(kPacked, role) != std::end(kPacked);
}

constexpr Unread kUnread[] = {
    {Engine::sglang,
     {WeightFormat::mxfp8, EngineConfig::modelopt},
     true,
     "looks for their scales by another name where a config says several formats",
     "quantize all to --format mxfp8 for it, or to nvfp4"},
    {Engine::vllm,
     {WeightFormat::mxfp8, EngineConfig::sglang},
     false,
     "reads MXFP8 by the names that ModelOpt or compressed-tensors give it",
     "quantize with --config modelopt for it"},
    {Engine::sglang,
     {WeightFormat::mxfp8, EngineConfig::compressed_tensors},
     false,
     "has no MXFP8 of compressed-tensors",
     "quantize with --config sglang for it"},
    {Engine::sglang,
     {WeightFormat::mxfp4, EngineConfig::compressed_tensors},
     false,
     "has no MXFP4 of compressed-tensors",
     "quantize to --format nvfp4 for it"}};

}  // namespace

Ignored parts_ignored(std::string_view module,
                      const std::function<bool(const std::string&)>& is_listed) {
  const std::string_view last = last_of(module);
  const std::string_view parent = module.substr(0, module.size() - last.size());
  if (!is_packed(last)) return Ignored::no;
  for (const ProjectionFamily& family : kProjectionFamilies) {
    if (family.fused != last || !family.beside.empty()) continue;
    const auto count = static_cast<std::size_t>(std::ranges::count_if(
        family.roles(), [&](std::string_view role) { return is_listed(cat(parent, role)); }));
    if (count == family.roles().size()) return Ignored::yes;
    if (count != 0) return Ignored::fails;
  }
  return Ignored::no;
}

std::string packed_module(std::string_view module) {
  const std::string_view last = last_of(module);
  for (const ProjectionFamily& family : kProjectionFamilies)
    if (is_packed(family.fused) && family.beside.empty() &&
        std::ranges::count(family.roles(), last) != 0)
      return cat(module.substr(0, module.size() - last.size()), family.fused);
  return {};
}

Ignored skipped_by_sglang(std::span<const std::string> list, const std::string& module) {
  const auto is_listed = [&](const std::string& name) {
    return std::ranges::any_of(list, [&](auto& entry) { return is_path_in(entry, name); });
  };
  const Ignored parts = parts_ignored(module, is_listed);
  if (parts != Ignored::no) return parts;
  const bool one_expert =
      module.ends_with(".experts") && std::ranges::any_of(list, [&](const std::string& entry) {
        return entry.find(module) != entry.npos;
      });
  return one_expert || is_listed(module) ? Ignored::yes : Ignored::no;
}

const Unread* unread(Engine engine, const StoredForm& form, bool mixed) {
  const auto found = std::ranges::find_if(kUnread, [&](const Unread& each) {
    return each.engine == engine && each.form == form && (mixed || !each.mixed_alone);
  });
  return found == std::end(kUnread) ? nullptr : found;
}

bool reads(Engine engine, Fp8Form form) {
  return engine == Engine::vllm || form == Fp8Form::tensor;
}

std::string_view engine_name(Engine engine) { return engine == Engine::vllm ? "vllm" : "sglang"; }

std::string_view engine_version(Engine engine) {
  return engine == Engine::vllm ? "0.32" : "0.5.23";
}

std::string engine_title(Engine engine) {
  return cat(engine == Engine::vllm ? "vLLM " : "SGLang ", engine_version(engine));
}

Ignored ignored_by(Engine engine, std::span<const std::string> list, const std::string& module) {
  return engine == Engine::vllm ? ignored_by_vllm(list, module) : ignored_by_sglang(list, module);
}

}  // namespace diecast
