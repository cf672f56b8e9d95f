// diecast dequantize IN OUT: what `quantize` wrote, back to floating point.
#include <diecast/checkpoint/plan.h>
#include <diecast/tool/command.h>
#include <diecast/tool/conversion.h>

namespace diecast::tool {
namespace {

struct DequantizeArguments {
  std::string input, output, to;
  LayoutArguments layout;
  std::string target = "auto";
  bool json = false;
  bool overwrite = false;
  bool strict = false;
  std::size_t jobs = 0;
};

Result<int> dequantize(const DequantizeArguments& options) {
  DIECAST_TRY(const auto input, Checkpoint::open(options.input));
  DIECAST_TRY(Plan plan,
              plan_dequantize(input, parse_dtype(options.to), layout_of(options.layout)));
  plan.allow_nonfinite = !options.strict;
  return run_conversion(input, plan,
                        {"dequantize", options.output, options.target, options.json, false,
                         options.overwrite, options.jobs});
}

}  // namespace

Command add_dequantize(CLI::App& app) {
  auto* command =
      app.add_subcommand("dequantize", "Turn a quantized checkpoint back into floating point");
  auto options = std::make_shared<DequantizeArguments>();
  command
      ->add_option("input", options->input,
                   "A .safetensors file, the index of several, or their folder")
      ->required();
  command
      ->add_option("output", options->output,
                   "The file to write, or the folder if the input is an index or a folder")
      ->required();
  command
      ->add_option("--to", options->to,
                   "The element type of the output, if not that of before quantizing")
      ->check(CLI::IsMember({"bf16", "f16", "f32"}));
  add_layout(*command, options->layout);
  add_target(*command, options->target);
  command->add_flag("--strict", options->strict,
                    "Make an error of the note on values that are NaN or infinite, or become so in "
                    "the element type");
  add_overwrite(*command, options->overwrite);
  add_conversion_jobs(*command, options->jobs);
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return dequantize(*options); }};
}

}  // namespace diecast::tool
