// From names to wildcards; see ignore_list.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/ignore_list.h>
#include <diecast/checkpoint/select/language_model.h>

#include <algorithm>

namespace diecast {
namespace {

// The ends of "a.b.c" that begin at a component, the shortest first: "c", "b.c", "a.b.c".
std::vector<std::string_view> ends_of(std::string_view name) {
  std::vector<std::string_view> out;
  for (std::size_t at = name.size(); at != name.npos && at > 0;) {
    const std::size_t dot = name.rfind('.', at - 1);
    out.push_back(dot == name.npos ? name : name.substr(dot + 1));
    at = dot;
  }
  return out;
}

// Whether a name goes on behind a path.
template <class Names>
bool goes_on(const Names& names, std::string_view path) {
  const std::string inside = cat(path, ".");
  const auto first = names.lower_bound(inside);
  return first != names.end() && first->starts_with(inside);
}

// Whether one of the modules is the path or stands in it.
bool hold(const std::set<std::string>& modules, const std::string& path) {
  return modules.contains(path) || goes_on(modules, path);
}

// Modules' names, and their ends that begin at a component: a name has as many as components, where
// all that is in it would be the square of that.
class ModuleNames {
 public:
  explicit ModuleNames(const std::set<std::string>& names) : names_(names) {
    for (const std::string_view name : names)
      for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
        ends_.insert(name.substr(dot + 1));
  }
  bool end_in(std::string_view end) const {
    return ends_.contains(end) || names_.contains(std::string(end));
  }
  // Whether one has it between components: ".self_attn.q_proj.".
  bool have_inside(std::string_view path) const { return goes_on(ends_, path); }

 private:
  const std::set<std::string>& names_;
  std::set<std::string_view, std::less<>> ends_;  // of what is behind their dots
};

class IgnoreList {
 public:
  explicit IgnoreList(const EngineModules& modules)
      : modules_(modules), quantized_(modules.quantized) {}

  std::set<std::string> entries() const {
    std::set<std::string> out;
    if (!hold(modules_.quantized, "lm_head")) out.insert("lm_head");
    if (!hold(modules_.quantized, "mtp")) out.insert("mtp.*");
    for (const std::string& name : modules_.others) out.insert(entry_of(name));
    return out;
  }

 private:
  // The shortest path to `name` on which nothing is quantized.
  std::string free_path(const std::string& name) const {
    for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
      const std::string path = name.substr(0, dot);
      if (!hold(modules_.quantized, path)) return path;
    }
    return name;
  }

  std::string entry_of(const std::string& name) const {
    const std::string path = free_path(name);
    const std::string weight = path + std::string(kWeightSuffix);
    const auto layer = layer_part(weight);  // none: the path is a layer, or outside
    if (path != name) {
      if (layer && !quantized_.have_inside(inside(*layer))) return cat("*.", inside(*layer), ".*");
      return path + ".*";
    }
    if (!layer) return name;
    for (const std::string_view end : ends_of(inside(*layer)))
      if (!quantized_.end_in(end)) return cat("*.", end);
    return name;
  }

  // Without the ".weight" that made it a part of a layer.
  static std::string_view inside(const LayerPart& layer) {
    return layer.inside.substr(0, layer.inside.size() - kWeightSuffix.size());
  }

  const EngineModules& modules_;
  const ModuleNames quantized_;
};

// Adds what engines make of several modules.
void add_fused(std::set<std::string>& modules) {
  std::set<std::string> fused;
  for (const std::string& module : modules) {
    if (const std::string_view bank = expert_bank(module); !bank.empty()) {
      fused.emplace(bank);
      continue;
    }
    const std::string_view parent = std::string_view(module).substr(0, module.rfind('.') + 1);
    const std::string_view role = std::string_view(module).substr(parent.size());
    for (const ProjectionFamily& family : kProjectionFamilies) {
      if (std::ranges::count(family.roles(), role) == 0) continue;
      if (!family.beside.empty() && !modules.contains(cat(parent, family.beside))) continue;
      const bool complete = std::ranges::count_if(family.roles(), [&](std::string_view each) {
                              return modules.contains(cat(parent, each));
                            }) > 1;
      if (complete && !family.fused.empty()) fused.insert(cat(parent, family.fused));
    }
  }
  modules.merge(fused);
}

}  // namespace

EngineModules engine_modules(const Plan& plan) {
  EngineModules out;
  for (const PlannedTensor& tensor : plan.tensors) {
    const std::size_t dot = tensor.name.rfind('.');
    if (tensor.shape.size() < 2 || dot == tensor.name.npos) continue;
    const std::string module = tensor.name.substr(0, dot);
    if (tensor.action == Action::quantize || tensor.fp8)
      out.quantized.insert(module);
    else if (tensor.name.ends_with(kWeightSuffix) || float_dtype(tensor.dtype))
      out.others.insert(module);
  }
  add_fused(out.quantized);
  add_fused(out.others);
  // A table beside weights, or in a module that has some.
  std::erase_if(out.others, [&](const std::string& module) { return hold(out.quantized, module); });
  return out;
}

namespace {

std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::string_view("\\.+*?()[]{}^$|").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// The shortest end of a path in which nothing is quantized, wherever it stands.
std::string_view free_end(std::string_view path, const std::set<std::string>& quantized,
                          const ModuleNames& names) {
  for (const std::string_view end : ends_of(path))
    if (!hold(quantized, std::string(end)) && !names.end_in(end) && !names.have_inside(end))
      return end;
  return path;
}

}  // namespace

std::vector<std::string> ignore_patterns(const EngineModules& modules) {
  const ModuleNames quantized(modules.quantized);
  std::vector<std::string> out;
  for (const std::string& entry : ignore_list(modules)) {
    const std::string_view text = entry;
    const bool anywhere = text.starts_with("*."), inside = text.ends_with(".*");
    if (!anywhere && !inside) {
      out.push_back(entry == "lm_head" ? "re:.*lm_head" : entry);
      continue;
    }
    std::string_view path = text.substr(anywhere ? 2 : 0);
    if (inside) path.remove_suffix(2);
    if (!anywhere) path = free_end(path, modules.quantized, quantized);
    const bool bank = path.ends_with("experts");  // engines ask for the experts in it
    out.push_back(cat("re:(.*\\.)?", escaped(path), inside ? "\\..*" : bank ? "(\\..*)?$" : "$"));
  }
  return out;
}

std::vector<std::string> ignore_list(const EngineModules& modules) {
  const std::set<std::string> entries = IgnoreList(modules).entries();
  return {entries.begin(), entries.end()};
}

}  // namespace diecast
