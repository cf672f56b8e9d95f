// Config against tensors; see verify.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/floats.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/ignore_list.h>
#include <diecast/checkpoint/select/keep_list.h>
#include <diecast/checkpoint/verify/float_modules.h>
#include <diecast/checkpoint/verify/found_weights.h>
#include <diecast/checkpoint/verify/gaps.h>
#include <diecast/checkpoint/verify/said_config.h>
#include <diecast/checkpoint/verify/unread_files.h>
#include <diecast/checkpoint/verify/verify.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace diecast {
namespace {

const std::vector<Engine> kBoth = {Engine::vllm, Engine::sglang};
constexpr std::string_view kAgain = "quantize the model again",
                           kComplete = "fetch what the model lacks and quantize all of it again";

class Verification {
 public:
  Verification(const Checkpoint& checkpoint, const ModelConfig& config,
               std::optional<SaidConfig> said)
      : checkpoint_(checkpoint),
        header_(checkpoint.header()),
        config_(config),
        said_(std::move(said)),
        found_(find_weights(header_)),
        judged_(said_ && said_->fp8 ? std::vector{Engine::vllm} : kBoth) {}

  Result<VerifyReport> run() {
    DIECAST_TRY(model_, LanguageModel::find(found_.named, config_, false));
    const EngineModules modules = engine_modules(found_.plan);
    report_.quantized = found_.weights.size();
    report_.others = modules.others.size();
    for (const std::string& scales : found_.lone_scales)
      add(judged_, "lone", cat(quote(scales), " is a scale of no quantized weight"), kAgain);
    for (const Gap& gap : gaps_of(found_.named, model_, config_))
      report_.faults.push_back({judged_, gap.what, std::string(kComplete), gap.count});
    check_units();
    if (!said_) {
      if (!found_.weights.empty())
        add(judged_, "config",
            cat(quote(found_.weights[0].name), " is quantized, and no config says so"),
            "quantize the model again, without --row-scale, or add a quantization_config");
      return std::move(report_);
    }
    check_engines();
    check_lists(modules);
    for (const FoundWeight& weight : found_.weights) {
      if (const auto form = said_->form_of(weight.module()))
        DIECAST_CHECK(check_weight(weight, *form));
      if (const auto fp8 = said_->fp8_of(weight.module())) check_fp8(weight, *fp8);
    }
    DIECAST_CHECK(check_families());
    return std::move(report_);
  }

 private:
  // Faults of one kind are one line with a count.
  void add(std::vector<Engine> engines, const std::string& kind, std::string what,
           std::string_view fix) {
    const auto [at, is_new] = kinds_.try_emplace(kind, report_.faults.size());
    if (is_new)
      report_.faults.push_back({std::move(engines), std::move(what), std::string(fix)});
    else
      ++report_.faults[at->second].count;
  }

  void check_engines() {
    for (const ConfigFault& fault : said_->faults)
      add(fault.engines, fault.what, fault.what, "correct the config of the quantization");
    for (const StoredForm& form : said_->forms())
      for (const Engine engine : kEngines)
        if (const Unread* why = unread(engine, form, said_->mixed))
          add({engine}, cat("unread ", engine_name(engine)),
              cat("the weights are ", word(form.format), " of ", word(form.config), ", and ",
                  engine_title(engine), " ", why->why),
              why->fix);
    const std::set<Fp8Layout> layouts = said_->fp8_layouts();
    const auto is_theirs = [](const Fp8Layout& each) { return each.names != Fp8Names::modelopt; };
    if (std::ranges::any_of(layouts, is_theirs)) set_unknown(Engine::sglang);
    for (const Fp8Layout& layout : layouts)
      for (const Engine engine : kEngines)
        if (!is_theirs(layout) && !reads(engine, layout.form))
          add({engine}, cat("unread ", engine_name(engine)),
              cat("the weights are ", word(layout.form), " in part, which ", engine_title(engine),
                  " does not read beside another format"),
              "quantize without --keep-fp8 for it");
  }

  void check_lists(const EngineModules& modules) {
    for (const Engine engine : judged_) {
      for (const std::string& module : modules.quantized) check_listed(engine, module, true);
      for (const std::string& module : modules.others)
        if (is_linear(module)) check_listed(engine, module, false);
    }
  }

  void check_listed(Engine engine, const std::string& module, bool quantized) {
    const std::string_view fix = said_->taken_for_its_own(engine)
                                     ? "quantize with --config sglang for it"
                                     : "quantize the model again, or correct the config's list";
    const Ignored found = said_->ignored(engine, module);
    const std::string title = engine_title(engine);
    if (found == Ignored::fails)
      add({engine}, cat(title, " fails"),
          cat(title, " stops at ", quote(module), ": the list names it in part"), fix);
    else if ((found == Ignored::yes) == quantized)
      add({engine}, cat(title, quantized),
          cat(quote(module), quantized ? " is quantized, and " : " is not quantized, and ", title,
              quantized ? " is told to ignore it" : " looks for its scales"),
          fix);
  }

  // Engines build these without looking at a list.
  bool is_linear(const std::string& module) const {
    const std::string_view kind = kept_kind(module + ".weight");
    const TensorInfo* weight = header_.find(module + std::string(kWeightSuffix));
    const bool matrix = weight == nullptr || weight->shape.size() == 2;
    if (said_->fp8 && built_without_fp8(module)) return false;
    return matrix && kind != "an embedding" && kind != "a router" && kind != "a table" &&
           kind != "a norm" && kind != "a convolution";
  }

  Result<void> check_weight(const FoundWeight& weight, const StoredForm& form) {
    for (PartFault& fault : part_faults(header_, weight, form))
      add(kBoth, fault.kind, std::move(fault.what), kAgain);
    const bool fused = !weight.name.ends_with(kWeightSuffix) && !is_mx(form.format);
    if (fused && header_.find(weight.name + "_bias") != nullptr)
      add(kBoth, "biases",
          cat(quote(weight.name), " has experts with biases, of which engines read no NVFP4"),
          "serve the model in MXFP4");
    else if (fused && !config_.model_type.starts_with("llama4"))
      add(kBoth, "fused",
          cat(quote(weight.name), " has all experts, and engines read such NVFP4 of Llama-4 alone"),
          "quantize the model again without --experts fused");
    for (const TensorInfo* one : scalars_of(weight.name, form)) {
      DIECAST_TRY(const float value, value_of(*one));
      if (!(value > 0) || !std::isfinite(value))
        add(kBoth, "value", cat(quote(one->name), " is not a positive number"), kAgain);
    }
    const std::vector<Engine> engines =
        built_of_floats(weight.name, form, model_.drafts(weight.name));
    if (!engines.empty())
      add(engines, cat("floats ", engines.size()),
          cat(quote(weight.name),
              " is quantized, and read as floating point whatever the config says"),
          "quantize the model again, with this weight left out");
    return {};
  }

  void check_fp8(const FoundWeight& weight, const Fp8Layout& layout) {
    if (layout.names == Fp8Names::fp8 && !weight.name.ends_with(kWeightSuffix))
      return set_unknown(Engine::vllm);  // experts in one tensor: each model has its own loader
    for (PartFault& fault : part_faults(header_, weight, layout))
      add(judged_, fault.kind, std::move(fault.what), kAgain);
    if (layout.names == Fp8Names::fp8 && is_head(weight.module()))
      add(judged_, "head",
          cat(quote(weight.name), " is FP8, and engines read heads as floating point"),
          "leave it out");
    if (!in_whole_blocks(found_, weight, layout))
      add(judged_, "rows",
          cat("the rows of ", quote(weight.name), " are no whole blocks of ", layout.block_rows,
              ", and the next matrix's scales stand behind its own"),
          "`diecast quantize` it to NVFP4, which has no such rule");
  }

  void set_unknown(Engine engine) {
    if (report_.is_known(engine)) report_.unknown.push_back(engine);
  }

  // The global scales of a weight, as far as they are there.
  std::vector<const TensorInfo*> scalars_of(const std::string& name, const StoredForm& form) const {
    std::vector<const TensorInfo*> out;
    if (is_mx(form.format)) return out;
    for (const std::string& each : {scale_2_name(name, form), input_scale_name(name, form)}) {
      const TensorInfo* const found = header_.find(each);
      if (found != nullptr && found->dtype == StoredDType::f32 && found->elements() == 1)
        out.push_back(found);
    }
    return out;
  }

  Result<float> value_of(const TensorInfo& tensor) {
    Bytes bytes(tensor.bytes());
    DIECAST_CHECK(checkpoint_.read(tensor, 0, bytes));
    std::vector<float> values;
    widen(bytes, DType::f32, values);
    return values[0];
  }

  // Members of a fused matrix share their scales: an engine takes one of them for all.
  Result<void> check_families() {
    std::map<std::pair<std::string_view, const ProjectionFamily*>, std::vector<float>> seen;
    for (const FoundWeight& weight : found_.weights) {
      const Membership of = membership(found_.named, weight.name);
      const auto form = said_->form_of(weight.module());
      if (of.family == nullptr || !form) continue;
      std::vector<float> values;
      for (const TensorInfo* one : scalars_of(weight.name, *form)) {
        DIECAST_TRY(const float value, value_of(*one));
        values.push_back(value);
      }
      const auto [at, is_new] = seen.try_emplace({of.module, of.family}, values);
      if (!is_new && at->second != values)
        add(kBoth, "shared",
            cat(quote(weight.name), " has other global scales than what engines fuse it with"),
            "quantize the model again: they share one amax");
    }
    return {};
  }

  // What engines make one module of has one form.
  void check_units() {
    std::set<std::string_view> quantized;
    for (const FoundWeight& weight : found_.weights) quantized.insert(weight.name);
    std::map<std::string, std::set<std::optional<LayerForm>>> units;
    for (const TensorInfo& tensor : found_.named.tensors) {
      if (!tensor.name.ends_with(kWeightSuffix) || tensor.shape.size() != 2) continue;
      const Membership of = membership(found_.named, tensor.name);
      const bool several = of.family != nullptr || !expert_bank(tensor.name).empty();
      if (!several) continue;
      std::optional<LayerForm> format;
      const bool is_quantized = quantized.contains(tensor.name);
      if (!is_quantized && !kept_kind(tensor.name).empty()) continue;  // no part of what is fused
      if (is_quantized) format = said_ && said_->mixed ? mixed_form(tensor.name) : LayerForm();
      units[unit_of(found_.named, tensor.name)].insert(format);
    }
    for (const auto& [name, formats] : units)
      if (formats.size() > 1)
        add(judged_, "unit",
            cat("of ", quote(name), " and what engines fuse it with only a part is quantized",
                formats.contains(std::nullopt) ? "" : " to one format"),
            "quantize all of it to one format, or nothing");
  }

  std::optional<LayerForm> mixed_form(std::string_view weight) const {
    const std::string module(weight.substr(0, weight.size() - kWeightSuffix.size()));
    const auto form = said_->form_of(module);
    const auto fp8 = said_->fp8_of(module);
    if (!form && !fp8) return std::nullopt;
    return LayerForm{form ? form->format : WeightFormat::nvfp4, fp8};
  }

  const Checkpoint& checkpoint_;
  const CheckpointHeader& header_;
  const ModelConfig& config_;
  const std::optional<SaidConfig> said_;
  const FoundWeights found_;
  const std::vector<Engine> judged_;  // whose rules are known
  LanguageModel model_;
  std::map<std::string, std::size_t> kinds_;
  VerifyReport report_;
};

}  // namespace

bool VerifyReport::is_known(Engine engine) const {
  return std::ranges::find(unknown, engine) == unknown.end();
}

bool VerifyReport::loads(Engine engine) const {
  return std::ranges::none_of(faults, [&](const VerifyFault& fault) {
    return std::ranges::find(fault.engines, engine) != fault.engines.end();
  });
}

Result<VerifyReport> verify_checkpoint(const Checkpoint& checkpoint, FileSystem& files) {
  DIECAST_TRY(std::optional<SaidConfig> said, said_by_folder(checkpoint, files));
  DIECAST_TRY(const ModelConfig model, read_model_config(checkpoint, files));
  DIECAST_TRY(VerifyReport report, Verification(checkpoint, model, std::move(said)).run());
  DIECAST_TRY(report.notes, unread_files(checkpoint, files));
  return report;
}

Result<VerifyReport> verify_folder(const std::string& path, FileSystem& files) {
  DIECAST_TRY(const Checkpoint checkpoint, Checkpoint::open(path, false, files));
  if (checkpoint.in_folder()) return verify_checkpoint(checkpoint, files);
  return Error{ErrorCode::invalid_argument,
               cat(quote(path, 1000), " is a file, and engines load folders"),
               "give its folder, with the config.json in it"};
}

}  // namespace diecast
