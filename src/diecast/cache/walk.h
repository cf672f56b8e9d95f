// Going through the folders of a root, one of keys' first two digits at a time.
#pragma once

#include <diecast/cache/cache_directory.h>

#include <functional>
#include <string>
#include <vector>

namespace diecast {

struct Shard {
  std::string compiler;
  int identity;  // the compiler's folder
  int folder;    // this one
  std::string name;
  bool is_private;                 // nobody else may write it, nor the compiler's folder
  std::vector<std::string> names;  // of all files in it, ours or not
  std::size_t place, count;        // which one of how many this is
};

// Calls `each`, beginning at the `first`-th and around the end, until it returns false; what
// vanishes meanwhile is passed over. 0 or -errno of the last folder that could not be listed.
int walk_shards(FileSystem& files, const CacheDirectory& directory,
                const std::function<bool(const Shard&)>& each, std::size_t first = 0);

}  // namespace diecast
