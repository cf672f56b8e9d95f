// Reading dry runs, and the marks of files; see compiler_parts.h.
#include <diecast/base/build_id.h>
#include <diecast/base/file.h>
#include <diecast/base/needed_libraries.h>
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/compile/compiler_parts.h>
#include <unistd.h>

#include <algorithm>

namespace diecast {
namespace {

constexpr std::uint64_t kPartLimit = 1u << 30;

// The system's own, which decide nothing of the code that a compiler makes.
bool is_systems(std::string_view library) {
  static constexpr std::string_view kNames[] = {"libc.",    "libm.",     "libdl.",    "libpthread.",
                                                "librt.",   "libz.",     "libzstd.",  "libstdc++.",
                                                "ld-linux", "libgcc_s.", "libtinfo.", "libc++"};
  return std::ranges::any_of(kNames, [&](auto name) { return library.starts_with(name); });
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// The first word of a command that a dry run shows, in quotes or without.
std::string first_word(std::string_view line) {
  if (!line.starts_with('"')) return std::string(line.substr(0, line.find(' ')));
  return std::string(line.substr(1, line.find('"', 1) - 1));
}

std::string find_part(const std::string& program, const std::vector<std::string>& folders) {
  if (program.find('/') != program.npos) return program;
  for (const std::string& folder : folders)
    if (const std::string path = cat(folder, "/", program); ::access(path.c_str(), X_OK) == 0)
      return path;
  return find_program(program);
}

}  // namespace

DryRun read_dry_run(std::string_view text) {
  DryRun run;
  for (const std::string_view line : split(text, '\n')) {
    const auto behind = [&](std::string_view start) {
      return line.starts_with(start) ? trim(line.substr(start.size())) : std::string_view();
    };
    if (const auto target = behind("Target: "); !target.empty()) run.target = target;
    if (const auto driver = behind("COLLECT_GCC="); !driver.empty())
      run.programs.emplace_back(driver);
    if (const auto list = behind("COMPILER_PATH="); !list.empty())
      for (const std::string_view folder : split(list, ':')) run.folders.emplace_back(folder);
    const std::string_view command = behind(" ");
    if (command.empty() || command.starts_with('(')) continue;  // clang's "(in-process)"
    run.programs.push_back(first_word(command));
    // It starts the linker itself, and the linker this plugin.
    if (base_name(run.programs.back()) != "collect2") continue;
    run.programs.emplace_back("ld");
    const auto parts = words(command);
    const auto plugin = std::ranges::find(parts, "-plugin");
    if (plugin != parts.end() && plugin + 1 != parts.end()) run.programs.emplace_back(plugin[1]);
  }
  return run;
}

std::string mark_of_file(const std::string& path) {
  if (const std::string id = build_id_of_file(path); !id.empty()) return "build id " + id;
  const auto content = read_file(system_files(), path, kPartLimit);
  return content ? "content " + xxh3_128(*content).hex() : "unreadable";
}

Record compiler_parts(const std::string& driver, const DryRun& run) {
  Record record;
  std::vector<std::string> seen;
  const auto add = [&](std::string_view name, const std::string& path) {
    if (std::ranges::find(seen, path) != seen.end()) return;
    seen.push_back(path);
    record.add(1, name).add(2, mark_of_file(path));
  };
  const auto add_program = [&](std::string_view name, const std::string& path) {
    add(name, path);
    for (const NeededLibrary& library : needed_libraries(path))
      if (!is_systems(library.name)) add(library.name, library.path);
  };
  add_program("driver", driver);
  for (const std::string& program : run.programs) {
    const std::string path = find_part(program, run.folders);
    add_program(path == driver ? "driver" : base_name(program), path);
  }
  return record;
}

}  // namespace diecast
