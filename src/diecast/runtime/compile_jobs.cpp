// Reading the limits; see compile_jobs.h. What cannot be read limits nothing.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/runtime/compile_jobs.h>

#include <algorithm>
#include <optional>

namespace diecast {
namespace {

constexpr std::uint64_t kCompileBytes = 300u << 20;  // what a compile takes at its height

std::string text_of(const std::string& path) {
  const Result<Bytes> bytes = read_file(system_files(), path, 1u << 16);
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
}

// The rest of the line that begins with `start`.
std::string_view line_behind(std::string_view text, std::string_view start) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(start)) return trim(line.substr(start.size()));
  }
  return {};
}

// A number of at least 0 at the start of a word list; "max" and nonsense are none.
std::optional<std::uint64_t> first_number(std::string_view text, std::size_t at = 0) {
  const auto list = words(text);
  const auto number = at < list.size() ? parse_integer(list[at]) : std::nullopt;
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

}  // namespace

std::size_t compile_jobs(std::size_t cores, const std::string& root) {
  std::uint64_t jobs = cores;
  const std::string meminfo = text_of(root + "/proc/meminfo");
  if (const auto kilobytes = first_number(line_behind(meminfo, "MemAvailable:")))
    jobs = std::min(jobs, *kilobytes / (kCompileBytes / 1024));
  // Every group above limits too.
  const std::string groups = text_of(root + "/proc/self/cgroup");
  for (std::string group(line_behind(groups, "0::"));; group.resize(group.rfind('/'))) {
    if (group == "/") group.clear();
    const std::string folder = root + "/sys/fs/cgroup" + group;
    if (const auto bytes = first_number(text_of(folder + "/memory.max")))
      jobs = std::min(jobs, *bytes / kCompileBytes);
    const std::string processors = text_of(folder + "/cpu.max");  // microseconds of each period
    const auto quota = first_number(processors), period = first_number(processors, 1);
    if (quota && period && *period > 0) jobs = std::min(jobs, (*quota + *period - 1) / *period);
    if (group.find('/') == std::string::npos) break;
  }
  return std::clamp<std::uint64_t>(jobs, 1, std::max<std::size_t>(cores, 1));
}

}  // namespace diecast
