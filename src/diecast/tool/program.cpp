// Parsing words, running what they choose and printing errors; see program.h.
#include <diecast/base/text.h>
#include <diecast/base/version.h>
#include <diecast/tool/console.h>
#include <diecast/tool/program.h>

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

namespace diecast::tool {
namespace {

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
  if (!word.starts_with('-')) return cat("`", name, "` does not take ", quote(first));
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& known : option->get_lnames()) options.push_back("--" + known);
  }
  const std::string in_python = word == "--device" ? "--target" : word;
  return cat("`", name, "` has no option ", quote(word), did_you_mean(in_python, options));
}

// What the parser refused, as every other error of the program; `words` as they were typed.
Error usage_error(const CLI::App& app, std::span<const std::string> words,
                  const CLI::Error& error) {
  const CLI::App* command = &app;  // the deepest that was chosen
  std::string name = app.get_name();
  std::size_t depth = 0;
  for (; !command->get_subcommands().empty(); ++depth) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  const std::string fix = cat("`", name, " --help` shows what it takes");
  if (command->get_require_subcommand_min() == 0) {
    return {ErrorCode::invalid_argument,
            command->remaining().empty() ? error.what() : not_taken(*command, name), fix};
  }
  const auto names = command_names(*command);
  const bool none = words.size() <= depth;
  const std::string typed = none ? "" : cat(quote(words[depth]), did_you_mean(words[depth], names));
  if (depth == 0) {
    return {ErrorCode::invalid_argument,
            none ? "no command was given" : cat("no command or option is named ", typed),
            cat("`", name, " --help` lists them")};
  }
  return {ErrorCode::invalid_argument,
          none ? cat("`", name, "` needs one of ", join(names, ", "))
               : cat("`", name, "` has nothing named ", typed),
          fix};
}

// An option that was given an empty value would pass for one that was not given.
Result<void> check_values(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : command.get_options()) {
    if (std::ranges::find(option->results(), "") == option->results().end()) continue;
    return Error{ErrorCode::invalid_argument,
                 cat("`", name, "`: ", option->get_name(), " was given an empty value"),
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

int run_program(CLI::App& app, const std::vector<Command>& commands, int argc, char** argv) {
  open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is an error that says so
  app.set_version_flag("--version", cat(app.get_name(), " ", library_version()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return finish(app.exit(error));  // --help, --version
    print_error(usage_error(app, std::vector<std::string>(argv + 1, argv + argc), error));
    return 2;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    auto words = check_values(app, app.get_name());
    if (words && command.check_words) words = command.check_words();
    if (!words) {
      print_error(words.error());
      return 2;
    }
    const Result<int> done = run(command);
    if (!done) print_error(done.error());
    return finish(done ? *done : 1);
  }
  return 2;
}

}  // namespace diecast::tool
