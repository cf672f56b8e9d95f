// Checkpoints of the C interface.
#include <diecast/base/text.h>
#include <diecast/c/objects.h>
#include <diecast/c/op_table.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/input_scales.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/plan_json.h>
#include <diecast/checkpoint/verify/report_json.h>

namespace diecast::c {
namespace {

constexpr char kFunction[] = "diecast_quantize_folder";

Result<void> take_globs(std::vector<std::string>& to, const char* const* globs, std::size_t count,
                        std::string_view name) {
  for (std::size_t i = 0; i < count; ++i) {
    DIECAST_CHECK(check_given(globs, kFunction, name));
    DIECAST_CHECK(check_given(globs[i], kFunction, cat(name, "[", i, "]")));
    to.emplace_back(globs[i]);
  }
  return {};
}

// An option that is left open where no word is given.
template <HasWords Enum>
Result<void> take_word(std::optional<Enum>& to, const char* word, std::string_view name) {
  if (word == nullptr) return {};
  DIECAST_TRY(to, read_word<Enum>(word, kFunction, name));
  return {};
}

Result<void> take_layout(QuantizeOptions& to, const diecast_quantize_folder_options& given) {
  if (given.scale_layout == nullptr && given.high_first == 0) return {};
  to.layout.emplace();
  to.layout->high_first = given.high_first != 0;
  DIECAST_TRY(to.layout->scales,
              read_word<ScaleLayout>(given.scale_layout, kFunction, "scale_layout"));
  return {};
}

Result<void> take_choices(QuantizeOptions& to, const diecast_quantize_folder_options& given) {
  DIECAST_TRY(to.scheme.profile, read_word<Profile>(given.profile, kFunction, "profile"));
  DIECAST_TRY(to.scheme.four_over_six,
              read_word<FourOverSix>(given.four_over_six, kFunction, "four_over_six"));
  if (given.e4m3_bound != 0) to.scheme.e4m3_bound = given.e4m3_bound;
  DIECAST_CHECK(take_word(to.format, given.format, "format"));
  DIECAST_CHECK(take_word(to.config, given.config, "config"));
  DIECAST_TRY(to.recipe, read_word<WeightRecipe>(given.recipe, kFunction, "recipe"));
  DIECAST_TRY(to.experts, read_word<ExpertForm>(given.experts, kFunction, "experts"));
  return take_layout(to, given);
}

Result<std::uint64_t> layers(std::int64_t given, std::string_view name) {
  DIECAST_TRY(const std::int64_t count, read_count(given, INT64_MAX, kFunction, name));
  return static_cast<std::uint64_t>(count);
}

Result<QuantizeOptions> plan_options(const diecast_quantize_folder_options& given) {
  QuantizeOptions out;
  out.row_scaled = given.row_scaled != 0;
  out.strict = given.strict != 0;
  out.force = given.force != 0;
  out.allow_nonfinite = given.allow_nonfinite != 0;
  out.keep_fp8 = given.keep_fp8 != 0;
  DIECAST_CHECK(take_choices(out, given));
  DIECAST_TRY(out.first_layers, layers(given.first_layers, "first_layers"));
  DIECAST_TRY(out.last_layers, layers(given.last_layers, "last_layers"));
  if (given.input_scale != 0) out.input_scale = static_cast<float>(given.input_scale);
  if (given.input_scales != nullptr) {
    DIECAST_TRY(out.input_scales, read_input_scales(given.input_scales));
  }
  DIECAST_CHECK(take_globs(out.include, given.include, given.include_count, "include"));
  DIECAST_CHECK(take_globs(out.keep, given.keep, given.keep_count, "keep"));
  DIECAST_CHECK(take_globs(out.exclude, given.exclude, given.exclude_count, "exclude"));
  DIECAST_CHECK(take_globs(out.mxfp8, given.mxfp8, given.mxfp8_count, "mxfp8"));
  return out;
}

struct Planned {
  Checkpoint from;
  Plan plan;

  static Result<Planned> of(const char* input, const diecast_quantize_folder_options& given) {
    DIECAST_TRY(QuantizeOptions options, plan_options(given));
    DIECAST_TRY(Checkpoint from, Checkpoint::open(input, options.strict));
    DIECAST_TRY(Plan plan, plan_quantize(from, std::move(options)));
    return Planned{std::move(from), std::move(plan)};
  }
};

Result<ConvertOptions> convert_options(const diecast_quantize_folder_options& given,
                                       const Device& device) {
  ConvertOptions out;
  DIECAST_TRY(const std::int64_t jobs, read_count(given.jobs, kMostJobs, kFunction, "jobs"));
  out.jobs = jobs == 0 ? default_jobs(device) : static_cast<std::size_t>(jobs);
  out.overwrite = given.overwrite != 0;
  return out;
}

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

diecast_folder_report told_of(const ConvertReport& done) {
  return {.size = sizeof(diecast_folder_report),
          .copied = done.copied,
          .quantized = done.quantized,
          .input_bytes = done.input_bytes,
          .output_bytes = done.output_bytes,
          .nonfinite = done.nonfinite.size(),
          .dequantized = done.dequantized,
          .cast_blocks = done.cast_blocks,
          .exact_blocks = done.exact_blocks};
}

}  // namespace
}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" {

std::int32_t diecast_quantize_folder(diecast_handle runtime, diecast_handle device,
                                     const char* input, const char* output,
                                     const diecast_quantize_folder_options* options,
                                     diecast_folder_report* report) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(input, kFunction, "input"));
    DIECAST_CHECK(check_given(output, kFunction, "output"));
    Used<RuntimeObject> with;
    DIECAST_CHECK(with.take(runtime, kFunction));
    DIECAST_TRY(const auto on, device_of(device, *with->runtime, kFunction));
    DIECAST_TRY(const auto given,
                read_structure(options, diecast_quantize_folder_options{}, "options"));
    DIECAST_TRY(const Planned made, Planned::of(input, given));
    DIECAST_TRY(const ConvertOptions how, convert_options(given, *on));
    DIECAST_TRY(const ConvertReport done,
                convert(made.from, made.plan, output,
                        device_kernels(with->runtime, on, made.plan.scheme), how));
    const diecast_folder_report told = told_of(done);
    return write_structure(report, &told, sizeof told, "report");
  });
}

std::int32_t diecast_plan_folder(const char* input, const diecast_quantize_folder_options* options,
                                 diecast_text* plan) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(input, "diecast_plan_folder", "input"));
    DIECAST_TRY(const auto given,
                read_structure(options, diecast_quantize_folder_options{}, "options"));
    DIECAST_TRY(const Planned made, Planned::of(input, given));
    DIECAST_TRY(const SideFiles side_files, SideFiles::find(made.from, made.plan));
    return write_text(plan, text_of(plan_json(made.plan, side_files)), "diecast_plan_folder");
  });
}

std::int32_t diecast_verify_folder(const char* folder, diecast_text* report) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(folder, "diecast_verify_folder", "folder"));
    DIECAST_TRY(const VerifyReport told, verify_folder(folder));
    return write_text(report, text_of(report_json(told)), "diecast_verify_folder");
  });
}

}  // extern "C"
