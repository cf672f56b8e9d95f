// diecast quantize IN OUT: a checkpoint's weights to NVFP4, planned from the header alone.
#include <diecast/checkpoint/input_scales.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/plan_json.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/conversion.h>
#include <diecast/tool/plan_table.h>
#include <diecast/tool/verdict.h>

#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

void add_scheme(CLI::App& command, Nvfp4Scheme& scheme) {
  command
      .add_option_function<std::string>(
          "--profile",
          [&scheme](const std::string& given) {
            for (const Profile profile : kCheckpointProfiles) {
              if (word(profile) == given) scheme.profile = profile;
            }
          },
          "Whose bits the output has (templates/PROFILES.md)")
      ->check(CLI::IsMember(checkpoint_profile_names()))
      ->default_str("te");
  command
      .add_option_function<std::string>(
          "--four-over-six",
          [&scheme](const std::string& given) {
            if (const auto rule = parse_word<FourOverSix>(given)) scheme.four_over_six = *rule;
          },
          "Try two scales for each block and keep the one with the smaller sum of |error| (mae) "
          "or error^2 (mse). Profile te alone has this")
      ->check(CLI::IsMember({"off", "mae", "mse"}))
      ->default_str("off");
  command
      .add_option("--e4m3-bound", scheme.e4m3_bound,
                  "The largest block scale that the global scale aims at. 256 leaves room for four "
                  "over six")
      ->check(CLI::IsMember({448, 256}))
      ->capture_default_str();
}

void add_globs(CLI::App& command, QuantizeOptions& plan) {
  const auto add = [&](const char* option, std::vector<std::string>& globs, const char* what) {
    command.add_option(option, globs, what)->allow_extra_args(false);
  };
  add("--include", plan.include,
      "Also quantize tensors whose name this glob matches, whatever they are");
  add("--keep", plan.keep, "Copy tensors whose name this glob matches, unless --include does too");
  add("--exclude", plan.exclude,
      "Copy tensors whose name this glob matches, even if --include does too");
  add("--mxfp8", plan.mxfp8, "Quantize what this glob matches to MXFP8, and the rest to NVFP4");
}

template <class Enum>
std::vector<std::string> words() {
  const auto all = words_of(Enum{});
  return {all.begin(), all.end()};
}

void add_choices(CLI::App& command, QuantizeOptions& plan) {
  command
      .add_option_function<std::string>(
          "--format",
          [&plan](const std::string& given) { plan.format = parse_word<WeightFormat>(given); },
          "What weights become. With nvfp4-w4a16 engines leave activations alone (Marlin, also on "
          "Ampere and Hopper). A gpt-oss that is MXFP4 already is cast only if this is given")
      ->check(CLI::IsMember(words<WeightFormat>()))
      ->default_str("nvfp4");
  command
      .add_option_function<std::string>(
          "--config",
          [&plan](const std::string& given) { plan.config = parse_word<EngineConfig>(given); },
          "Whose names and config the output has. Default: those that most engines read")
      ->check(CLI::IsMember(words<EngineConfig>()));
  command
      .add_option_function<std::string>(
          "--experts",
          [&plan](const std::string& given) { plan.experts = *parse_word<ExpertForm>(given); },
          "fused: experts that lie in one tensor, in columns, stay in one (Llama-4 for "
          "TensorRT-LLM)")
      ->check(CLI::IsMember(words<ExpertForm>()))
      ->default_str("split");
  command
      .add_option_function<std::string>(
          "--recipe",
          [&plan](const std::string& given) { plan.recipe = *parse_word<WeightRecipe>(given); },
          "experts: only these. mlp: MLPs too. mlp+o: the projections behind attention too")
      ->check(CLI::IsMember(words<WeightRecipe>()))
      ->default_str("default");
  command
      .add_option("--first-layers", plan.first_layers,
                  "How many layers at the beginning are copied")
      ->transform(not_negative());
  command.add_option("--last-layers", plan.last_layers, "How many layers at the end are copied")
      ->transform(not_negative());
  command
      .add_option("--input-scale", plan.input_scale,
                  "What engines scale activations by: amax / 2688 of a calibration")
      ->capture_default_str();
}

struct QuantizeArguments {
  std::string input, output, input_scales;
  QuantizeOptions plan;
  LayoutArguments layout;
  std::string target = "auto";
  bool dry_run = false;
  bool json = false;
  bool whole_plan = false;
  bool overwrite = false;
  std::size_t jobs = 0;
};

Result<void> wants_output(const QuantizeArguments& options) {
  if (options.dry_run || !options.output.empty()) return {};
  return Error{ErrorCode::invalid_argument, "no output was named",
               "diecast quantize IN OUT, or --dry-run for the plan alone"};
}

Result<int> quantize(QuantizeArguments& options) {
  if (!options.input_scales.empty()) {
    DIECAST_TRY(options.plan.input_scales, read_input_scales(options.input_scales));
  }
  options.plan.layout = layout_of(options.layout);
  DIECAST_TRY(const auto input, Checkpoint::open(options.input, options.plan.strict));
  DIECAST_TRY(const Plan plan, plan_quantize(input, options.plan));
  if (options.dry_run) {
    DIECAST_TRY(const SideFiles side_files, SideFiles::find(input, plan));
    options.json ? print_json(plan_json(plan, side_files))
                 : print_plan(plan, side_files, options.whole_plan);
    return 0;
  }
  DIECAST_TRY(const int code,
              run_conversion(input, plan,
                             {"quantize", options.output, options.target, options.json,
                              options.whole_plan, options.overwrite, options.jobs}));
  if (options.json || !input.in_folder()) return code;
  // What was written is there, whatever comes of this.
  if (const auto output = Checkpoint::open(options.output))
    if (const auto report = verify_checkpoint(*output)) print_verdict(*report);
  return code;
}

}  // namespace

Command add_quantize(CLI::App& app) {
  auto* command =
      app.add_subcommand("quantize", "Quantize a safetensors checkpoint's weights to NVFP4 or MX");
  auto options = std::make_shared<QuantizeArguments>();
  command
      ->add_option("input", options->input,
                   "A .safetensors file, the index of several, or their folder")
      ->required();
  command->add_option("output", options->output,
                      "The file to write, or the folder if the input is an index or a folder");
  command->add_flag("--row-scale", options->plan.row_scaled,
                    "A global scale for each row, not one for the tensor");
  add_scheme(*command, options->plan.scheme);
  add_target(*command, options->target);
  add_choices(*command, options->plan);
  command->add_option("--input-scales", options->input_scales,
                      "A .safetensors or .json file with those of single modules: M.input_amax, "
                      "M.input_scale (amax / 2688) or M.input_global_scale (2688 / amax)");
  add_globs(*command, options->plan);
  add_layout(*command, options->layout);
  command->add_flag("--dry-run", options->dry_run, "Print the plan and stop");
  command->add_flag(
      "--strict", options->plan.strict,
      "Make errors of notes: a last dimension that is no multiple of 16, matrices that are not "
      "called .weight, experts in one tensor, globs that match nothing, unknown fields of a "
      "header");
  command->add_flag("--force", options->plan.force,
                    "Go on although no engine loads the output: a model that is quantized "
                    "already, a part of a fused module, nothing to quantize");
  command->add_flag("--allow-nonfinite", options->plan.allow_nonfinite,
                    "Quantize weights that have NaN or infinite values too, and count the values");
  command->add_flag(
      "--keep-fp8", options->plan.keep_fp8,
      "Weights of an FP8 model that are not quantized stay FP8. Without it they become "
      "BF16. The plan says which engines read FP8");
  add_overwrite(*command, options->overwrite);
  add_conversion_jobs(*command, options->jobs);
  command->add_flag("--json", options->json, "For programs");
  command->add_flag("-v,--verbose", options->whole_plan,
                    "Print the plan with a line for each tensor");
  command->footer(
      "It quantizes the matrices (*.weight, a multiple of 16 wide) in the language model's "
      "repeated\n"
      "layers. The source may be F32, F16, BF16, FP8, INT4 or MXFP4. All else is copied: "
      "embeddings,\n"
      "heads, towers, projectors, draft layers, norms, routers. Weights that engines fuse (gate "
      "and\n"
      "up; q, k and v) share a global scale, and a glob that matches one of them takes all. Of a\n"
      "folder, the config, the tokenizer and other files are copied too, and the config then says\n"
      "what an engine has to know.");
  return {command, [options] { return quantize(*options); },
          [options] { return wants_output(*options); }};
}

}  // namespace diecast::tool
