// Checkpoints of the C interface.
#include <diecast/base/text.h>
#include <diecast/c/objects.h>
#include <diecast/c/op_table.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/checkpoint/plan.h>
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

Result<QuantizeOptions> plan_options(const diecast_quantize_folder_options& given) {
  QuantizeOptions out;
  out.row_scaled = given.row_scaled != 0;
  out.strict = given.strict != 0;
  DIECAST_TRY(out.scheme.profile, read_word<Profile>(given.profile, kFunction, "profile"));
  DIECAST_TRY(out.scheme.four_over_six,
              read_word<FourOverSix>(given.four_over_six, kFunction, "four_over_six"));
  if (given.e4m3_bound != 0) out.scheme.e4m3_bound = given.e4m3_bound;
  DIECAST_CHECK(take_globs(out.include, given.include, given.include_count, "include"));
  DIECAST_CHECK(take_globs(out.exclude, given.exclude, given.exclude_count, "exclude"));
  return out;
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
    DIECAST_TRY(const QuantizeOptions plan_with, plan_options(given));
    DIECAST_TRY(const Checkpoint from, Checkpoint::open(input, plan_with.strict));
    DIECAST_TRY(const Plan plan, plan_quantize(from, plan_with));
    ConvertOptions how;
    how.jobs = default_jobs(*on);
    DIECAST_TRY(const ConvertReport done,
                convert(from, plan, output, device_kernels(with->runtime, on, plan.scheme), how));
    const diecast_folder_report told{sizeof(diecast_folder_report),
                                     done.copied,
                                     done.quantized,
                                     done.input_bytes,
                                     done.output_bytes,
                                     done.nonfinite.size()};
    return write_structure(report, &told, sizeof told, "report");
  });
}

std::int32_t diecast_verify_folder(const char* folder, diecast_text* report) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(folder, "diecast_verify_folder", "folder"));
    DIECAST_TRY(const VerifyReport told, verify_folder(folder));
    using Json = nlohmann::ordered_json;
    return write_text(report,
                      report_json(told).dump(-1, ' ', false, Json::error_handler_t::replace),
                      "diecast_verify_folder");
  });
}

}  // extern "C"
