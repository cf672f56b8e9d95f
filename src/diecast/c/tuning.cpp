// Tuning of the C interface.
#include <diecast/base/text.h>
#include <diecast/c/objects.h>
#include <diecast/runtime/tuner.h>

namespace diecast::c {
namespace {

// "rows=16 cols=4096", one point a line.
Result<std::vector<RunSizes>> sizes_of(std::string_view text) {
  std::vector<RunSizes> out;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    RunSizes& sizes = out.emplace_back();
    for (const std::string_view word : words(line)) {
      const std::size_t equals = std::min(word.find('='), word.size() - 1);
      const auto number = parse_integer(word.substr(equals + 1));
      if (equals == 0 || !number || *number < 0) {
        return Error{ErrorCode::parse_error, cat("diecast_tune: ", quote(word, 40), " is no size"),
                     "write NAME=NUMBER, as rows=16 cols=4096"};
      }
      sizes.emplace_back(word.substr(0, equals), *number);
    }
  }
  return out;
}

}  // namespace
}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" {

std::int32_t diecast_tune(diecast_handle runtime, diecast_handle device, const char* spelling,
                          const char* sizes, diecast_line_callback on_record, void* user) {
  return with_runtime(runtime, "diecast_tune", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(spelling, "diecast_tune", "spelling"));
    DIECAST_CHECK(check_given(sizes, "diecast_tune", "sizes"));
    DIECAST_TRY(const auto on, device_of(device, with, "diecast_tune"));
    DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
    TuneRequest request;
    request.name = parsed.name;
    DIECAST_TRY(request.bindings, bindings_of(parsed));
    DIECAST_TRY(request.sizes, sizes_of(sizes));
    request.on_record = [&](const TuningRecord& record) -> Result<void> {
      const InCallback inside;
      if (on_record != nullptr) on_record(user, record.line().c_str());
      return {};
    };
    DIECAST_TRY(auto records, with.tune(request, on));
    with.add_tuning(std::move(records));
    return {};
  });
}

std::int32_t diecast_tuning_add(diecast_handle runtime, const char* records) {
  return with_runtime(runtime, "diecast_tuning_add", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(records, "diecast_tuning_add", "records"));
    TuningFile file = parse_tuning_file(records);
    if (!file.wrong.empty()) {
      return Error{ErrorCode::parse_error, cat("diecast_tuning_add: ", file.wrong.front()),
                   "pass lines that diecast_tune or `diecast tune` wrote"};
    }
    with.add_tuning(std::move(file.records));
    return {};
  });
}

}  // extern "C"
