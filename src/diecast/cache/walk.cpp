// Walking a root: see walk.h. Names are taken before anybody works in a folder: one that changes
// under its listing may show a name twice or never.
#include <diecast/cache/trusted_directory.h>
#include <diecast/cache/walk.h>
#include <errno.h>

#include <utility>

namespace diecast {
namespace {

int names_in(FileSystem& files, int folder, std::vector<std::string>& out) {
  const int listed = files.list_directory(folder, [&](const char* name) {
    out.emplace_back(name);
    return true;
  });
  return listed == -ENOENT ? 0 : listed;
}

bool is_private_folder(FileSystem& files, int folder) {
  struct stat status;
  return files.status(folder, &status) >= 0 && is_private(status);
}

}  // namespace

int walk_shards(FileSystem& files, const CacheDirectory& directory,
                const std::function<bool(const Shard&)>& each, std::size_t first) {
  int trouble = 0;
  const auto list = [&](int folder) {
    std::vector<std::string> names;
    if (const int listed = names_in(files, folder, names); listed < 0) trouble = listed;
    return names;
  };
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& compiler : directory.compilers(&trouble)) {
    const Descriptor identity = directory.folder(directory.versions(), compiler.c_str(), false);
    if (!identity) continue;
    for (std::string& name : list(identity.number())) {
      if (is_shard_name(name)) all.emplace_back(compiler, std::move(name));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [compiler, name] = all[(first % all.size() + i) % all.size()];
    const Descriptor identity = directory.folder(directory.versions(), compiler.c_str(), false);
    if (!identity) continue;
    const Descriptor folder = directory.folder(identity.number(), name.c_str(), false);
    if (!folder) continue;
    const bool is_private =
        is_private_folder(files, identity.number()) && is_private_folder(files, folder.number());
    if (!each({compiler, identity.number(), folder.number(), name, is_private,
               list(folder.number()), i + 1, all.size()})) {
      break;
    }
  }
  return trouble;
}

}  // namespace diecast
