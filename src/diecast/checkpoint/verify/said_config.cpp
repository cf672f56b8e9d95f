// Five dialects of one statement; see said_config.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/model_config.h>
#include <diecast/checkpoint/verify/said_config.h>

#include <algorithm>

namespace diecast {
namespace {

Error not_known(const std::string& method, const std::string& algorithm) {
  return {ErrorCode::not_supported,
          cat("the model's config says ", quote(method, 40), " ", quote(algorithm, 40),
              ", of which no rules are known"),
          "give a folder in NVFP4, MXFP8, MXFP4 or FP8 that `diecast quantize`, ModelOpt or "
          "compressed-tensors wrote"};
}

std::optional<WeightFormat> format_of(const std::string& algorithm) {
  if (algorithm == "NVFP4") return WeightFormat::nvfp4;
  if (algorithm == "W4A16_NVFP4") return WeightFormat::nvfp4_w4a16;
  if (algorithm == "MXFP8") return WeightFormat::mxfp8;
  return std::nullopt;
}

std::optional<LayerForm> layer_of(const std::string& algorithm) {
  if (const auto format = format_of(algorithm)) return LayerForm{*format, {}};
  if (const auto fp8 = parse_word<Fp8Form>(algorithm))
    return LayerForm{{}, Fp8Layout{*fp8, Fp8Names::modelopt, false}};
  return std::nullopt;
}

// SGLang looks for them with "model." before them, too.
std::vector<std::string> without_model(std::vector<std::string> modules) {
  constexpr std::string_view kModel = "model.";
  for (std::string& module : modules)
    if (module.starts_with(kModel)) module.erase(0, kModel.size());
  return modules;
}

// `at`: the config itself, or what hf_quant_config.json has as "quantization".
Result<SaidConfig> said_by_modelopt(const ConfigJson& at) {
  SaidConfig out;
  const std::string algorithm = text_at(at, "quant_algo");
  add_texts(at, "ignore", out.ignore);
  add_texts(at, "exclude_modules", out.ignore);
  out.mixed = algorithm == "MIXED_PRECISION";
  if (!out.mixed) {
    const std::optional<WeightFormat> format = format_of(algorithm);
    if (!format) return not_known("modelopt", algorithm);
    out.form.format = *format;
    if (out.form.format == WeightFormat::mxfp8) out.skipped = without_model(out.ignore);
    return out;
  }
  const ConfigJson* const layers = member(at, "quantized_layers");
  if (layers == nullptr || !layers->is_object()) return not_known("modelopt", algorithm);
  for (const auto& [module, what] : layers->items()) {
    const std::optional<LayerForm> form = layer_of(text_at(what, "quant_algo"));
    if (!form) return not_known("modelopt", text_at(what, "quant_algo"));
    out.layers.emplace(module, *form);
    if (!form->fp8 && !is_mx(form->format)) out.form.format = form->format;
  }
  return out;
}

// As ModelOpt writes them to a file of its own, which engines read more strictly.
void add_missing_keys(const ConfigJson& at, SaidConfig& out) {
  if (out.mixed) return;
  for (const std::string_view key : {"group_size", "kv_cache_quant_algo", "exclude_modules"}) {
    const bool is_size = key == "group_size";
    if (member(at, key) != nullptr || (is_size && is_mx(out.form.format))) continue;
    out.faults.push_back({{Engine::vllm}, cat("the config has no ", quote(key))});
    if (is_size) out.faults.back().engines.push_back(Engine::sglang);
  }
}

Result<void> add_patterns(const ConfigJson& config, std::string_view key, SaidConfig& out) {
  std::vector<std::string> list;
  add_texts(config, key, list);
  for (const std::string& entry : list) DIECAST_CHECK(out.patterns.add(entry));
  return {};
}

Result<SaidConfig> said_by_compressed_tensors(const ConfigJson& config) {
  SaidConfig out;
  out.form.config = EngineConfig::compressed_tensors;
  DIECAST_CHECK(add_patterns(config, "ignore", out));
  DIECAST_TRY(out.groups, config_groups(config));
  out.mixed = out.groups.size() > 1;
  if (const std::vector<StoredForm> forms = out.forms(); !forms.empty()) out.form = forms[0];
  return out;
}

constexpr std::string_view kBank = ".experts";

}  // namespace

bool SaidConfig::is_listed(const std::string& module) const {
  if (!module.ends_with(kBank)) return patterns.match(module);
  constexpr std::string_view kParts[] = {"gate_proj", "up_proj", "down_proj", "w1", "w2", "w3"};
  return std::ranges::any_of(kParts, [&](std::string_view part) {  // it asks for its first expert
    return patterns.match(cat(module, ".0.", part));
  });
}

// As vLLM looks for them: the module, what it is made of, or what stands in it.
std::set<std::optional<LayerForm>> SaidConfig::layers_of(const std::string& module) const {
  if (!groups.empty()) return forms_by_groups(groups, module);
  if (const auto found = layers.find(module); found != layers.end()) return {found->second};
  std::set<std::optional<LayerForm>> out;
  const std::size_t parent = module.rfind('.') + 1;
  for (const ProjectionFamily& family : kProjectionFamilies) {
    if (family.fused.empty() || family.fused != std::string_view(module).substr(parent)) continue;
    for (const std::string_view role : family.roles())
      if (const auto part = layers.find(cat(module.substr(0, parent), role)); part != layers.end())
        out.insert(part->second);
  }
  if (!out.empty()) return out;
  const auto inside = layers.lower_bound(module + ".");
  if (inside != layers.end() && inside->first.starts_with(module + ".")) return {inside->second};
  return {std::nullopt};
}

bool SaidConfig::taken_for_its_own(Engine engine) const {
  return engine == Engine::sglang && !mixed && !fp8 &&
         form == StoredForm{WeightFormat::mxfp8, EngineConfig::modelopt};
}

Ignored SaidConfig::ignored(Engine engine, const std::string& module) const {
  if (fp8) return fp8->ignored(module);
  if (form.config == EngineConfig::gpt_oss)  // of which nothing but the experts is quantized
    return module.ends_with(kBank) ? Ignored::no : Ignored::yes;
  Ignored listed = Ignored::no;
  if (form.config == EngineConfig::sglang || taken_for_its_own(engine)) {
    listed = skipped_by_sglang(skipped, module);
  } else if (form.config == EngineConfig::modelopt) {
    listed = ignored_by(engine, ignore, module);
  } else {
    if (is_listed(module)) return Ignored::yes;
    listed = parts_ignored(module, [&](const std::string& part) { return is_listed(part); });
  }
  if (!by_module() || listed != Ignored::no) return listed;
  const auto formats = layers_of(module);
  if (formats.size() > 1) return Ignored::fails;
  return *formats.begin() ? Ignored::no : Ignored::yes;
}

std::optional<StoredForm> SaidConfig::form_of(const std::string& module) const {
  if (fp8 || ignored(Engine::vllm, module) != Ignored::no) return std::nullopt;
  if (!by_module()) return form;
  const LayerForm layer = **layers_of(module).begin();
  return layer.fp8 ? std::nullopt : std::optional(StoredForm{layer.format, form.config});
}

std::optional<Fp8Layout> SaidConfig::fp8_of(const std::string& module) const {
  if ((!fp8 && !by_module()) || ignored(Engine::vllm, module) != Ignored::no) return std::nullopt;
  return fp8 ? fp8->layout : (*layers_of(module).begin())->fp8;
}

std::set<LayerForm> SaidConfig::all_layers() const {
  std::set<LayerForm> out;
  for (const auto& [module, layer] : layers) out.insert(layer);
  for (const ConfigGroup& group : groups) out.insert(group.form);
  return out;
}

std::set<Fp8Layout> SaidConfig::fp8_layouts() const {
  std::set<Fp8Layout> out;
  if (fp8) out.insert(fp8->layout);
  for (const LayerForm& layer : all_layers())
    if (layer.fp8) out.insert(*layer.fp8);
  return out;
}

std::vector<StoredForm> SaidConfig::forms() const {
  if (fp8) return {};
  if (!by_module()) return {form};
  std::set<WeightFormat> formats;
  for (const LayerForm& layer : all_layers())
    if (!layer.fp8) formats.insert(layer.format);
  std::vector<StoredForm> out;
  for (const WeightFormat format : formats) out.push_back({format, form.config});
  return out;
}

Result<SaidConfig> said_config(const ConfigJson& config) {
  if (const ConfigJson* inner = member(config, "quantization")) {
    DIECAST_TRY(SaidConfig said, said_by_modelopt(*inner));
    add_missing_keys(*inner, said);
    return said;
  }
  const std::string method = text_at(config, "quant_method");
  if (method == "modelopt" || method == "modelopt_mixed") return said_by_modelopt(config);
  if (method == "compressed-tensors") return said_by_compressed_tensors(config);
  SaidConfig out;
  if (method == "fp8") {
    DIECAST_TRY(out.fp8, fp8_config(config));
    out.faults = out.fp8->faults;
    return out;
  }
  out.form = {WeightFormat::mxfp4, EngineConfig::gpt_oss};
  if (method == "mxfp4") return out;
  if (method != "mxfp8") return not_known(method, text_at(config, "quant_algo"));
  out.form = {WeightFormat::mxfp8, EngineConfig::sglang};
  add_texts(config, "ignored_layers", out.ignore);
  std::vector<std::string> list = out.ignore;
  add_texts(config, "modules_to_not_convert", list);
  out.skipped = without_model(list);
  return out;
}

Result<std::optional<SaidConfig>> said_by_model_config(std::string_view text) {
  const std::optional<ConfigJson> whole = parse_config(text);
  if (!whole) return std::optional<SaidConfig>();
  const auto all = quantization_configs(*whole);
  if (all.empty()) return std::optional<SaidConfig>();
  DIECAST_TRY(SaidConfig said, said_config(*all.front().config));
  const std::string type = text_at(*whole, "model_type");
  if (said.fp8 && has_own_fp8_rules(type)) return not_known("fp8", type);
  return std::optional(std::move(said));
}

namespace {

// A config of SGLang's method beside ModelOpt's names, as MiniMax publishes MXFP8.
void take_names(const CheckpointHeader& header, SaidConfig& said) {
  const auto is_its_own = [](const TensorInfo& tensor) {
    return tensor.name.ends_with(".weight_scale_inv");
  };
  if (said.form.config == EngineConfig::sglang && std::ranges::none_of(header.tensors, is_its_own))
    said.form.config = EngineConfig::modelopt;
}

}  // namespace

Result<std::optional<SaidConfig>> said_by_folder(const Checkpoint& checkpoint, FileSystem& files) {
  for (const std::string_view name : {kModelConfig, kQuantConfig}) {
    const auto read = read_file(files, cat(checkpoint.folder(), "/", name), kConfigLimit);
    if (!read && read.error().code == ErrorCode::file_not_found) continue;
    if (!read) return read.error();
    if (name == kModelConfig) {
      DIECAST_TRY(auto said, said_by_model_config(file_text(*read)));
      if (said) take_names(checkpoint.header(), *said);
      if (said) return said;
    } else if (const auto whole = parse_config(file_text(*read))) {
      DIECAST_TRY(SaidConfig said, said_config(*whole));
      return std::optional(std::move(said));
    }
  }
  return std::optional<SaidConfig>();
}

}  // namespace diecast
