// Programs by their names; see process.h.
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace diecast {

std::string find_program(const std::string& name) {
  const auto absolute = [](const std::string& path) -> std::string {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    if (access(path.c_str(), X_OK) != 0) return {};
    if (path[0] == '/') return path;
    const std::unique_ptr<char, void (*)(void*)> here(getcwd(nullptr, 0), std::free);
    return here ? cat(here.get(), '/', path) : std::string();
  };
  if (name.empty() || name.find('/') != std::string::npos)
    return name.empty() ? "" : absolute(name);
  std::string path = environment_variable("PATH");
  if (path.empty()) path = "/usr/bin:/bin";
  for (const std::string_view folder : split(path, ':')) {
    if (folder.empty() || folder[0] != '/') continue;  // a program of the working directory's owner
    if (std::string found = absolute(cat(folder, '/', name)); !found.empty()) return found;
  }
  return {};
}

}  // namespace diecast
