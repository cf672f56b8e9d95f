// The diecast command. Exit codes: 0 done; 1 an error, or a check that failed; 2 wrong usage;
// 128 + n ended by signal n.
#include <diecast/base/text.h>
#include <diecast/base/version.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace diecast::tool {
namespace {

constexpr const char* kFooter =
    R"(Begin with:
  diecast doctor                                     what works here, and how to mend the rest
  diecast quantize model.safetensors out.safetensors
  diecast compile "quantize_nvfp4 IN=bf16 @ sm_90a"  then `diecast show quantize_nvfp4`

Exit codes: 0 done; 1 an error, or a check that failed; 2 wrong usage; 128 + n ended by signal n.

Environment (the pages cache/README.md and src/README.md say more):
  DIECAST_CACHE               off, a directory, or roots: ro:DIR,bundle:FILE,rw:DIR
  DIECAST_CACHE_POLICY        auto, require-hit, read-only, off or rebuild
  DIECAST_CACHE_COMPILERS     whose kernels may be used: found, exact, newest or bundles
  DIECAST_CACHE_BYTES         size of the root that is written (2G)
  DIECAST_TRACE               a file that gets the line of every kernel asked for
  DIECAST_TUNING              files of tuning records
  DIECAST_TEMPLATE_DIR        templates and device headers in place of the built-in ones
  DIECAST_NVRTC, DIECAST_LIBCUDA, DIECAST_CUBLASLT, DIECAST_NCCL
                              the path of that library
  DIECAST_CXX                 the C++ compiler of the host target
  DIECAST_HOST_THREADS        threads of the host device)";

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

// Of words that a command does not take, the first that looks like an option, else the first.
std::string not_taken(const CLI::App& command, const std::string& name) {
  const std::vector<std::string> left = command.remaining();
  const auto found =
      std::ranges::find_if(left, [](const std::string& text) { return text.starts_with('-'); });
  const std::string& first = found == left.end() ? left[0] : *found;
  const std::string word = first.substr(0, first.find('='));
  if (!word.starts_with('-')) return cat("`diecast ", name, "` does not take ", quote(first));
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& known : option->get_lnames()) options.push_back("--" + known);
  }
  return cat("`diecast ", name, "` has no option ", quote(word), did_you_mean(word, options));
}

// What the parser refused, as every other error of the command; `words` as they were typed.
Error usage_error(const CLI::App& app, std::span<const std::string> words,
                  const CLI::Error& error) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    return {ErrorCode::invalid_argument,
            words.empty() ? "no command was given"
                          : cat("no command or option is named ", quote(words[0]),
                                did_you_mean(words[0], command_names(app))),
            "`diecast --help` lists them"};
  }
  const CLI::App& command = *chosen.front();
  const auto names = command_names(command);
  const auto below = command.get_subcommands();
  const std::string name =
      below.empty() ? command.get_name() : cat(command.get_name(), " ", below.front()->get_name());
  const std::string fix = cat("`diecast ", name, " --help` shows what it takes");
  if (names.empty() || !below.empty()) {
    const CLI::App& deepest = below.empty() ? command : *below.front();
    return {ErrorCode::invalid_argument,
            deepest.remaining().empty() ? error.what() : not_taken(deepest, name), fix};
  }
  return {ErrorCode::invalid_argument,
          words.size() < 2
              ? cat("`diecast ", command.get_name(), "` needs one of ", join(names, ", "))
              : cat("`diecast ", command.get_name(), "` has nothing named ", quote(words[1]),
                    did_you_mean(words[1], names)),
          fix};
}

// An option that was given an empty value would pass for one that was not given.
Result<void> check_values(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : command.get_options()) {
    if (std::ranges::find(option->results(), "") == option->results().end()) continue;
    return Error{ErrorCode::invalid_argument,
                 cat("`diecast ", name, "`: ", option->get_name(), " was given an empty value"),
                 cat("give a value, or leave ", option->get_name(),
                     " out (a variable of a script may be empty)")};
  }
  for (const CLI::App* below : command.get_subcommands())
    DIECAST_CHECK(check_values(*below, cat(name, " ", below->get_name())));
  return {};
}

// What is thrown, for want of memory or of a thread most likely, is an error like any other.
Result<int> run(const Command& command) {
  constexpr char kRoom[] =
      "let there be more memory (ulimit -v) or processes (ulimit -u), or ask for less at once";
  try {
    return command.run();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, "no memory is left for this command", kRoom};
  } catch (const std::system_error& error) {
    const int code = error.code().value();
    const bool room = code == EAGAIN || code == ENOMEM;
    return Error{ErrorCode::io_error, error.what(),
                 room ? kRoom : "see that the working directory and what is named are there"};
  } catch (const std::exception& error) {
    return Error{ErrorCode::internal, error.what(),
                 "please report it with the command that led here"};
  }
}

// The exit code, once all that was printed has arrived.
int finish(int exit_code) {
  if (std::cout.flush() && std::fflush(stdout) == 0) return exit_code;
  print_error({ErrorCode::io_error, cat("cannot write standard output: ", errno_text(errno)),
               "send it where there is room; what the command has done stands"});
  return 1;
}

}  // namespace
}  // namespace diecast::tool

int main(int argc, char** argv) {
  using namespace diecast::tool;
  open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is an error that says so
  CLI::App app("diecast: CUDA kernel templates, specialized, compiled, cached and launched");
  app.require_subcommand(1);
  app.set_version_flag("--version", diecast::cat("diecast ", diecast::library_version()));
  const std::vector<Command> commands = {
      add_doctor(app),   add_list(app),        add_show(app),        add_variants(app),
      add_compile(app),  add_warm(app),        add_quantize(app),    add_dequantize(app),
      add_compare(app),  add_check(app),       add_cache(app),       add_bundle(app),
      add_bench(app),    add_bench_start(app), add_compile_one(app), add_tune(app),
      add_tune_one(app), add_selftest(app)};
  app.footer(kFooter);  // from here on: subcommands would have it too
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return finish(app.exit(error));  // --help, --version
    print_error(usage_error(app, std::vector<std::string>(argv + 1, argv + argc), error));
    return 2;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    auto words = check_values(*command.app, command.app->get_name());
    if (words && command.check_words) words = command.check_words();
    if (!words) {
      print_error(words.error());
      return 2;
    }
    const diecast::Result<int> done = diecast::tool::run(command);
    if (!done) print_error(done.error());
    return finish(done ? *done : 1);
  }
  return 2;
}
