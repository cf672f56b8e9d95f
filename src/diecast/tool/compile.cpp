// diecast compile SPELLING: one spelling (lists and `*` allowed) through the line up to artifacts.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/compile/disassembler.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/warm.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/open_runtime.h>
#include <diecast/tool/outcomes.h>
#include <diecast/tool/output_file.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

struct CompileArguments {
  std::vector<std::string> words;  // the spelling, with or without quotes around it
  std::vector<std::string> targets;
  Own own;
  std::string output;
  bool source = false, ptx = false, sass = false;  // at most one
  bool json = false, debug = false;
};

constexpr const char* kStandardOutput = "-";

Result<void> write_output(const std::string& path, ByteSpan bytes) {
  if (path == kStandardOutput) {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);  // what fails main() tells
    return {};
  }
  DIECAST_TRY(AtomicFile file, AtomicFile::create(system_files(), path));
  DIECAST_CHECK(file.write(bytes));
  return file.commit();
}

// What --source, --ptx or --sass asks for.
Result<std::string> text_of(Runtime& runtime, const Specialization& one,
                            const CompileArguments& options, const std::string& disassembler) {
  if (options.sass) {
    DIECAST_TRY(const Resolved resolved, runtime.resolve(one));
    return disassemble(disassembler, *resolved.artifact);
  }
  DIECAST_TRY(Source source, runtime.render(one));
  if (options.source) return std::move(source.text);
  DIECAST_TRY(const auto compiler, runtime.compiler(one.target()));
  return compiler->ptx(source, one.target());
}

Result<int> write_texts(Runtime& runtime, const std::vector<Specialization>& wanted,
                        const CompileArguments& options) {
  std::string disassembler;
  const auto for_gpu = [](const Specialization& one) { return !one.target().is_host(); };
  if (options.sass && std::ranges::any_of(wanted, for_gpu)) {
    DIECAST_TRY(disassembler, find_disassembler());
  }
  for (const Specialization& one : wanted) {
    DIECAST_TRY(const std::string text, text_of(runtime, one, options, disassembler));
    if (options.output.empty()) {
      if (wanted.size() > 1) print(cat("// ", one.spelling()));
      print(text);
    } else {
      DIECAST_CHECK(write_output(options.output, as_bytes(text)));
    }
  }
  return 0;
}

Result<int> compile(const CompileArguments& options) {
  DIECAST_CHECK(check_no_input(options.output, options.own.files()));
  DIECAST_TRY(const auto runtime, open_runtime(options_of_build(options.debug)));
  DIECAST_CHECK(add_own_to(*runtime, options.own));
  DIECAST_TRY(const auto targets, parse_targets(options.targets));
  const std::string spelling = join(options.words, " ");
  DIECAST_TRY(const auto wanted, expand_spelling(*runtime, spelling, "compile", targets));
  if (!options.output.empty() && wanted.size() != 1) {
    return Error{ErrorCode::invalid_argument,
                 cat("-o takes one artifact, ", quote(spelling), " names ", wanted.size()),
                 "give every parameter one value and one --target"};
  }
  const bool to_standard_output = options.output == kStandardOutput;
  if (to_standard_output && options.json) {
    return Error{ErrorCode::invalid_argument, "-o - and --json would both write standard output",
                 "leave one of them out"};
  }
  if (options.source || options.ptx || options.sass) return write_texts(*runtime, wanted, options);
  const auto outcomes =
      warm_with_progress(*runtime, wanted, 0, "compile", options.json || wanted.size() == 1);
  const bool failed = std::ranges::any_of(
      outcomes, [](const WarmOutcome& outcome) { return outcome.error.has_value(); });
  if (failed && wanted.size() == 1 && !options.json) return *outcomes[0].error;
  if (!options.output.empty() && !failed) {
    DIECAST_CHECK(write_output(options.output, outcomes[0].resolved->artifact->payload));
  }
  if (!options.json) tell_errors(outcomes);
  if (!to_standard_output) print_outcomes(*runtime, outcomes, options.json);
  tell_unless_kept(*runtime);
  return failed ? 1 : 0;
}

}  // namespace

Command add_compile(CLI::App& app) {
  auto* command = app.add_subcommand(
      "compile", "Compile a specialization, or all that a line with lists and * names");
  auto options = std::make_shared<CompileArguments>();
  command->add_option("spelling", options->words, "TEMPLATE NAME=VALUE ... @ TARGET")->required();
  command->add_option("--target", options->targets, "Targets instead of the spelling's")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("-o,--output", options->output,
                      "Write the machine code (or text) to this file; -: to standard output");
  add_own(*command, options->own);
  add_debug(*command, options->debug);
  auto* source = command->add_flag("--source", options->source,
                                   "The rendered source instead; nothing is compiled");
  auto* ptx = command->add_flag("--ptx", options->ptx, "The PTX instead, as NVRTC makes it now")
                  ->excludes(source);
  auto* sass = command
                   ->add_flag("--sass", options->sass,
                              "The machine code as text instead, by nvdisasm or cuobjdump")
                   ->excludes(source)
                   ->excludes(ptx);
  command->add_flag("--json", options->json, "For programs")
      ->excludes(source)
      ->excludes(ptx)
      ->excludes(sass);
  return {command, [options] { return compile(*options); }};
}

}  // namespace diecast::tool
