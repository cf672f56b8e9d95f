// Child processes: a supervisor between (process/supervisor.h), served by this thread
// (process/channels.h) while another one stands still for it.
#include <diecast/base/process.h>
#include <diecast/base/process/channels.h>
#include <diecast/base/process/supervisor.h>
#include <diecast/base/text.h>
#include <diecast/base/thread.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>

namespace diecast {
namespace {

using process::Channel;

std::atomic<bool> keeps_group = false;

Error start_error(const std::string& program, int failure) {
  const bool files = lacks_descriptors(failure);
  const bool room = failure == EAGAIN || failure == ENOMEM;
  return {files || room ? ErrorCode::io_error : ErrorCode::process_failed,
          cat("cannot run ", quote(program), ": ", errno_text(failure)),
          files  ? "raise the limit of open files (`ulimit -n`)"
          : room ? kMoreProcesses
                 : "give the path of an executable program, or add its folder to PATH"};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Starts the program, serves it and ends it; false if the time was up.
bool run(const ProcessRequest& request, std::array<Channel, 4>& channels, process::Launch& launch,
         ProcessResult& result) {
  const auto stacks = std::make_unique<char[]>(2 * process::kStack);
  for (std::size_t i = 0; i < 2; ++i) launch.stacks[i] = stacks.get() + i * process::kStack;
  for (std::size_t i = 0; i < 3; ++i) launch.streams[i] = channels[i].theirs.number();
  std::thread thread = start_thread([&] {
    process::supervise(launch);
    while (write(channels[3].theirs.number(), "", 1) < 0 && errno == EINTR) {
    }
  });
  bool in_time = false;
  std::exception_ptr thrown;  // without memory for what the program says: it ends, then we do
  try {
    in_time = process::serve(request, channels, result);
  } catch (...) {
    thrown = std::current_exception();
  }
  pollfd over{channels[3].ours.number(), POLLIN, 0};
  while (!in_time && launch.pid == 0 && poll(&over, 1, 1) == 0) {  // not even started yet
  }
  // Until it is waited for, the group's number is the program's own; 0 would be our own group.
  if (const pid_t pid = launch.pid; !in_time && pid > 0)
    kill(launch.own_group ? -pid : pid, SIGKILL);
  thread.join();
  if (thrown) std::rethrow_exception(thrown);
  return in_time;
}

}  // namespace

void keep_programs_in_own_group() { keeps_group = true; }

Result<ProcessResult> run_process(const ProcessRequest& request) {
  if (request.arguments.empty() || request.arguments[0].empty())
    return Error{ErrorCode::invalid_argument, "no program to run", "name one in arguments[0]"};
  const std::string& name = request.arguments[0];
  const std::string path = name.find('/') == std::string::npos ? find_program(name) : name;
  if (path.empty()) return start_error(name, ENOENT);
  std::array<Channel, 4> channels;
  for (std::size_t i = 0; i < channels.size(); ++i)
    if (const int failed = channels[i].open(i == 0); failed < 0) return start_error(path, -failed);
  std::vector<char*> arguments = pointers(request.arguments);
  std::vector<char*> environment = pointers(request.environment);
  process::Launch launch{path.c_str(),
                         request.directory.empty() ? nullptr : request.directory.c_str(),
                         arguments.data(),
                         request.environment.empty() ? environ : environment.data(),
                         request.memory_limit,
                         !keeps_group,
                         {},
                         {}};
  ProcessResult result;
  bool in_time = false;
  try {
    in_time = run(request, channels, launch, result);
  } catch (const std::system_error& error) {  // no thread to be had
    return start_error(path, error.code().value());
  }
  if (launch.failure != 0) return start_error(path, launch.failure);
  if (!in_time)
    return Error{ErrorCode::timed_out,
                 cat(quote(join(request.arguments, " ")), " did not end within ",
                     request.time_limit.count(), " ms and was killed"),
                 "run it by hand to see what it waits for, or allow it more time"};
  const int status = launch.status;
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

std::vector<std::string> environment_with(std::vector<std::string> own) {
  const std::vector<std::string> set = own;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const auto is_own = [&](const std::string& one) { return one.starts_with(name); };
    if (std::ranges::none_of(set, is_own)) own.emplace_back(text);
  }
  return own;
}

}  // namespace diecast
