// A subcommand: it declares its options on the application and returns what runs when it is chosen.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/convert.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace diecast::tool {

struct Command {
  CLI::App* app;                     // its options
  std::function<Result<int>()> run;  // the exit code, or the error that main prints
  // Wrong words that the parser does not see: what this returns is printed, and nothing is run.
  std::function<Result<void>()> check_words = {};
};

Command add_doctor(CLI::App& app);
Command add_list(CLI::App& app);
Command add_show(CLI::App& app);
Command add_variants(CLI::App& app);
Command add_compile(CLI::App& app);
Command add_warm(CLI::App& app);
Command add_quantize(CLI::App& app);
Command add_dequantize(CLI::App& app);
Command add_compare(CLI::App& app);
Command add_verify(CLI::App& app);
Command add_check(CLI::App& app);
Command add_cache(CLI::App& app);
Command add_bundle(CLI::App& app);
Command add_compile_one(CLI::App& app);
Command add_run(CLI::App& app);
Command add_tune(CLI::App& app);
Command add_tune_one(CLI::App& app);

// For options that are sizes: a negative one would come out as a huge one.
inline CLI::Validator not_negative() {
  return {[](std::string& text) {
            return text.starts_with('-') ? "a size is not negative" : std::string();
          },
          "SIZE"};
}

// CLI::Range of numbers, but without NaN, which that lets through.
inline CLI::Validator between(double least, double most) {
  CLI::Validator range = CLI::Range(least, most);
  return {[range](std::string& text) {
            double value = 0;
            const bool nan = CLI::detail::lexical_cast(text, value) && value != value;
            return nan ? "Value " + text + " is not a number" : range(text);
          },
          range.get_description()};
}

// Files of the user's own: templates, and headers as NAME=FILE. add_own_to() gives them to a
// runtime.
struct Own {
  std::vector<std::string> templates, headers;
  std::vector<std::string> files() const;      // the paths of all of them
  std::vector<std::string> arguments() const;  // as the command line has them
};

// --add and --add-header.
struct OwnOptions {
  CLI::Option *templates, *headers;
};
inline OwnOptions add_own(CLI::App& command, Own& own) {
  return {command.add_option("--add", own.templates, "A template file of your own")
              ->allow_extra_args(false),
          command
              .add_option("--add-header", own.headers,
                          "A header of your own, as templates include it: my/common.h=FILE")
              ->allow_extra_args(false)};
}

// --target of what runs on one device, for open_device().
inline CLI::Option* add_target(CLI::App& command, std::string& target) {
  return command.add_option("--target", target, "Where it runs")
      ->check(CLI::IsMember({"auto", "host", "cuda"}))
      ->capture_default_str();
}

inline void add_overwrite(CLI::App& command, bool& overwrite) {
  command.add_flag("--overwrite", overwrite,
                   "Replace a finished output, and files of other contents beside it");
}

inline void add_conversion_jobs(CLI::App& command, std::size_t& jobs) {
  command
      .add_option("--jobs", jobs,
                  "Weights on their way at a time (0: as many as keep the device busy); the output "
                  "is the same")
      ->check(CLI::Range(std::size_t{0}, kMostJobs))
      ->capture_default_str();
}

// The path of this command itself; empty where it cannot be told.
std::string own_program();

}  // namespace diecast::tool
