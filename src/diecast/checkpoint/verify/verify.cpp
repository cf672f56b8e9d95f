// Config against tensors; see verify.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/floats.h>
#include <diecast/checkpoint/select/config_json.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/ignore_list.h>
#include <diecast/checkpoint/select/keep_list.h>
#include <diecast/checkpoint/select/stored_forms.h>
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

// What a folder says of its quantization.
struct Said {
  bool any = false, weights_only = false;
  std::vector<std::string> ignore;
};

Result<Said> read_said(const ConfigJson& config) {
  Said out;
  out.any = true;
  const ConfigJson* inner = member(config, "quantization");
  const ConfigJson& at = inner != nullptr ? *inner : config;
  const std::string algorithm = text_at(at, "quant_algo"), method = text_at(config, "quant_method");
  out.weights_only = algorithm == "W4A16_NVFP4";
  if ((algorithm != "NVFP4" && !out.weights_only) || (inner == nullptr && method != "modelopt")) {
    return Error{ErrorCode::not_supported,
                 cat("the model's config says ", quote(method), " ", quote(algorithm),
                     ", and the rules of ModelOpt's NVFP4 alone are known"),
                 "give a folder that `diecast quantize` or ModelOpt wrote"};
  }
  for (const std::string_view key : {"ignore", "exclude_modules"}) add_texts(at, key, out.ignore);
  return out;
}

Result<Said> said_of(const Checkpoint& checkpoint, FileSystem& files) {
  for (const std::string_view name : {kModelConfig, kQuantConfig}) {
    const auto read = read_file(files, cat(checkpoint.folder(), "/", name), kConfigLimit);
    if (!read && read.error().code == ErrorCode::file_not_found) continue;
    if (!read) return read.error();
    const auto whole = parse_config(file_text(*read));
    if (!whole) continue;
    if (name == kQuantConfig) return read_said(*whole);
    if (const auto all = quantization_configs(*whole); !all.empty())
      return read_said(*all.front().config);
  }
  return Said{};
}

class Verification {
 public:
  Verification(const Checkpoint& checkpoint, Said said)
      : checkpoint_(checkpoint), header_(checkpoint.header()), said_(std::move(said)) {}

  Result<VerifyReport> run() {
    sort_out();
    const EngineModules modules = engine_modules(plan_);
    report_.quantized += quantized_.size();
    report_.others = modules.others.size();
    if (!said_.any && !quantized_.empty()) {
      add(kBoth, "config", cat(quote(*quantized_.begin()), " is quantized, and no config says so"),
          "add a quantization_config to config.json");
    }
    if (said_.any) check_lists(modules);
    for (const std::string& weight : quantized_) DIECAST_CHECK(check_weight(weight));
    DIECAST_CHECK(check_families());
    check_units();
    return std::move(report_);
  }

 private:
  // Faults of one kind are one line with a count.
  void add(std::vector<Engine> engines, const std::string& kind, std::string what,
           std::string fix) {
    const auto [at, is_new] = kinds_.try_emplace(kind, report_.faults.size());
    if (is_new)
      report_.faults.push_back({std::move(engines), std::move(what), std::move(fix)});
    else
      ++report_.faults[at->second].count;
  }

  // A plan that would have made this folder, as far as its modules go.
  void sort_out() {
    for (const TensorInfo& tensor : header_.tensors) {
      PlannedTensor planned;
      planned.name = tensor.name;
      planned.dtype = tensor.dtype;
      planned.shape = tensor.shape;
      const bool is_weight = tensor.name.ends_with(kWeightSuffix);
      if (is_weight && tensor.dtype == StoredDType::u8) {
        planned.action = Action::quantize;
        quantized_.insert(tensor.name);
      } else if (is_nvfp4(header_, tensor)) {
        planned.action = Action::quantize;
        check_experts(tensor);
      }
      plan_.tensors.push_back(std::move(planned));
    }
  }

  // All experts in one tensor, which engines split as they load.
  void check_experts(const TensorInfo& tensor) {
    ++report_.quantized;
    if (header_.find(tensor.name + "_bias") != nullptr)
      add(kBoth, "biases",
          cat(quote(tensor.name), " has experts with biases, of which engines read no NVFP4"),
          "serve the model in MXFP4");
  }

  void check_lists(const EngineModules& modules) {
    constexpr std::string_view kFix = "quantize the model again, or correct the config's list";
    for (const Engine engine : kEngines) {
      const auto tell = [&](const std::string& module, bool quantized) {
        const Ignored found = ignored_by(engine, said_.ignore, module);
        const std::string_view title = engine_title(engine);
        if (found == Ignored::fails)
          add({engine}, cat(title, " fails"),
              cat(title, " stops at ", quote(module), ": the list names it in part"),
              std::string(kFix));
        else if ((found == Ignored::yes) == quantized)
          add({engine}, cat(title, quantized),
              cat(quote(module), quantized ? " is quantized, and " : " is not quantized, and ",
                  title, quantized ? " is told to ignore it" : " looks for its scales"),
              std::string(kFix));
      };
      for (const std::string& module : modules.quantized) tell(module, true);
      for (const std::string& module : modules.others)
        if (is_linear(module)) tell(module, false);
    }
  }

  // Engines build these without looking at a list.
  bool is_linear(const std::string& module) const {
    const std::string_view kind = kept_kind(module + ".weight");
    const TensorInfo* weight = header_.find(module + std::string(kWeightSuffix));
    const bool matrix = weight == nullptr || weight->shape.size() == 2;
    return matrix && kind != "an embedding" && kind != "a router" && kind != "a table" &&
           kind != "a norm" && kind != "a convolution";
  }

  const TensorInfo* part(const std::string& weight, std::string_view name) const {
    return header_.find(part_name(weight, name));
  }

  Result<void> check_weight(const std::string& name) {
    const TensorInfo& weight = *header_.find(name);
    const TensorInfo *scale = part(name, kScalePart), *scale_2 = part(name, kScale2Part),
                     *input = part(name, kInputScalePart);
    const std::string again = "quantize the model again";
    if (scale == nullptr || scale_2 == nullptr) {
      add(kBoth, "parts", cat(quote(name), " has no weight_scale or no weight_scale_2"), again);
      return {};
    }
    std::vector<std::uint64_t> want = weight.shape;
    if (want.size() == 2 && want[1] % 8 == 0) want[1] /= 8;
    if (weight.shape.size() != 2 || weight.shape[1] % 8 != 0 || scale->shape != want ||
        scale->dtype != StoredDType::f8_e4m3)
      add(kBoth, "shape",
          cat(quote(name), " ", shape_text(weight.shape), " and its scales ",
              stored_dtype_name(scale->dtype), " ", shape_text(scale->shape),
              " are no matrix in linear blocks of 16"),
          again);
    if (input == nullptr && !said_.weights_only)
      add(kBoth, "input",
          cat(quote(name), " has no input_scale: engines then use what is in memory"),
          "quantize the model again, or say W4A16_NVFP4 in the config");
    for (const TensorInfo* one : {scale_2, input}) {
      if (one == nullptr) continue;
      if (one->dtype != StoredDType::f32 || one->elements() != 1) {
        add(kBoth, "scalar", cat(quote(one->name), " is not one F32 value"), again);
        continue;
      }
      DIECAST_TRY(const float value, value_of(*one));
      if (!(value > 0) || !std::isfinite(value))
        add(kBoth, "value", cat(quote(one->name), " is not a positive number"), again);
    }
    if (vision_part(name) || name.ends_with("kv_b_proj.weight") || name.starts_with("mtp."))
      add(kBoth, "hard-coded",
          cat(quote(name), " is quantized, and engines read it as floating point"), "leave it out");
    return {};
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
    for (const std::string& name : quantized_) {
      const Membership of = membership(header_, name);
      if (of.family == nullptr) continue;
      std::vector<float> values;
      for (const std::string_view each : {kScale2Part, kInputScalePart}) {
        const TensorInfo* found = part(name, each);
        if (found == nullptr || found->dtype != StoredDType::f32 || found->elements() != 1)
          continue;
        DIECAST_TRY(const float value, value_of(*found));
        values.push_back(value);
      }
      const auto [at, is_new] = seen.try_emplace({of.module, of.family}, values);
      if (!is_new && at->second != values)
        add(kBoth, "shared",
            cat(quote(name), " has other global scales than what engines fuse it with"),
            "quantize the model again: they share one amax");
    }
    return {};
  }

  void check_units() {
    std::map<std::string, std::pair<bool, bool>> units;  // something quantized, something not
    for (const TensorInfo& tensor : header_.tensors) {
      if (!tensor.name.ends_with(kWeightSuffix) || tensor.shape.size() != 2) continue;
      const Membership of = membership(header_, tensor.name);
      const bool several = of.family != nullptr || !expert_bank(tensor.name).empty();
      if (!several) continue;
      auto& unit = units[unit_of(header_, tensor.name)];
      (quantized_.contains(tensor.name) ? unit.first : unit.second) = true;
    }
    for (const auto& [name, has] : units)
      if (has.first && has.second)
        add(kBoth, "unit",
            cat("of ", quote(name), " and what engines fuse it with only a part is quantized"),
            "quantize all of it or nothing");
  }

  const Checkpoint& checkpoint_;
  const CheckpointHeader& header_;
  const Said said_;
  Plan plan_;
  std::set<std::string> quantized_;  // weights
  std::map<std::string, std::size_t> kinds_;
  VerifyReport report_;
};

}  // namespace

bool VerifyReport::loads(Engine engine) const {
  return std::ranges::none_of(faults, [&](const VerifyFault& fault) {
    return std::ranges::find(fault.engines, engine) != fault.engines.end();
  });
}

Result<VerifyReport> verify_checkpoint(const Checkpoint& checkpoint, FileSystem& files) {
  DIECAST_TRY(Said said, said_of(checkpoint, files));
  return Verification(checkpoint, std::move(said)).run();
}

}  // namespace diecast
