// diecast tune-one SPELLING: one configuration for a parent that ends it when it hangs. Not for
// people: it prints one tuning record, and to standard error why it has no time.
#include <diecast/base/text.h>
#include <diecast/runtime/tuner.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/devices.h>
#include <diecast/tool/given_files.h>
#include <diecast/tool/given_scalars.h>
#include <diecast/tool/open_runtime.h>
#include <diecast/tool/spin.h>

#include <cstdio>

namespace diecast::tool {
namespace {

struct TuneOneArguments {
  std::string spelling;
  std::vector<std::string> sizes, scalars, given;
  Own own;
  int samples = 15;
};

Result<int> tune_one(const TuneOneArguments& options) {
  DIECAST_TRY(const auto runtime, Runtime::create());
  DIECAST_CHECK(add_own_to(*runtime, options.own));
  DIECAST_TRY(const Specialization one, runtime->specialize(options.spelling));
  DIECAST_TRY(const auto device, open_device(*runtime, one.target().is_host() ? "host" : "cuda"));
  DIECAST_CHECK(use_other_streams(*runtime, device));
  RunSizes sizes;
  for (const std::string& word : options.sizes) {
    const std::size_t equals = word.find('=');
    const auto number =
        parse_integer(equals == std::string::npos ? "" : std::string_view(word).substr(equals + 1));
    if (!number) {
      return Error{ErrorCode::invalid_argument, cat(quote(word), " is no size"),
                   "`diecast tune` is the command for people"};
    }
    sizes.emplace_back(word.substr(0, equals), *number);
  }
  TuneRequest request;
  request.samples = options.samples;
  DIECAST_TRY(request.given, scalars_of(one, options.scalars));
  DIECAST_TRY(const GivenFiles files, read_given(one, {&sizes, 1}, options.given, device));
  request.given.insert(request.given.end(), files.arguments.begin(), files.arguments.end());
  DIECAST_TRY(const TuningRecord record, diecast::tune_one(*runtime, one, sizes, device, request));
  print(record.line());
  std::fputs(record.why.c_str(), stderr);
  return 0;
}

}  // namespace

Command add_tune_one(CLI::App& app) {
  auto* command = app.add_subcommand(std::string(kTuneCommand), "");
  command->group("");  // not in the help
  auto options = std::make_shared<TuneOneArguments>();
  command->add_option("spelling", options->spelling)->required();
  command->add_option("--size", options->sizes);
  command->add_option("--scalar", options->scalars);
  command->add_option("--given", options->given);
  add_own(*command, options->own);
  command->add_option("--samples", options->samples);
  return {command, [options] { return tune_one(*options); }};
}

}  // namespace diecast::tool
