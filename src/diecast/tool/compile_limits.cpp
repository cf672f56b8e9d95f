// The options that bound a compile; see compile_limits.h.
#include <diecast/tool/compile_limits.h>

namespace diecast::tool {

void CompileLimits::add_to(CLI::App& command) {
  const IsolatedCompiles usual;
  seconds = std::chrono::duration<double>(usual.time).count();
  bytes = usual.memory;
  auto* time = command.add_option("--time-limit", seconds, "Seconds a compile may take (120)")
                   ->check(between(0.001, 86400.0));
  auto* memory =
      command
          .add_option("--memory-limit", bytes, "Address space a compile may take (8G; 0: no limit)")
          ->transform(CLI::AsSizeValue(false))
          ->transform(not_negative());
  command.add_flag("--in-process", in_process, "Compile in this process, without limits")
      ->excludes(time)
      ->excludes(memory);
}

IsolatedCompiles CompileLimits::isolated() const {
  if (in_process) return {};
  return {own_program(), std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)),
          bytes};
}

}  // namespace diecast::tool
