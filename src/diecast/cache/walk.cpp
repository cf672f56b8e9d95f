// Walking a root: see walk.h. Names are taken before anybody works in a folder: one that changes
// under its listing may show a name twice or never.
#include <diecast/cache/walk.h>
#include <errno.h>

namespace diecast {
namespace {

int names_in(FileSystem& files, int folder, std::vector<std::string>& out) {
  const int listed = files.list_directory(folder, [&](const char* name) {
    out.emplace_back(name);
    return true;
  });
  return listed == -ENOENT ? 0 : listed;
}

}  // namespace

int walk_shards(FileSystem& files, const CacheDirectory& directory,
                const std::function<bool(const Shard&)>& each) {
  int trouble = 0;
  const auto list = [&](int folder, std::vector<std::string>& names) {
    if (const int listed = names_in(files, folder, names); listed < 0) trouble = listed;
  };
  for (const std::string& compiler : directory.compilers()) {
    const Descriptor identity = directory.folder(directory.versions(), compiler.c_str(), false);
    if (!identity) continue;
    std::vector<std::string> names;
    list(identity.number(), names);
    for (const std::string& name : names) {
      if (!is_shard_name(name)) continue;
      const Descriptor folder = directory.folder(identity.number(), name.c_str(), false);
      if (!folder) continue;
      Shard shard{compiler, identity.number(), folder.number(), name, {}};
      list(folder.number(), shard.names);
      if (!each(shard)) return trouble;
    }
  }
  return trouble;
}

}  // namespace diecast
