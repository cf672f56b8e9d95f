// What a kill or a power cut leaves of the model: see model_file_system.h.
#include <algorithm>
#include <functional>

#include "cache/model_file_system.h"

namespace diecast::testing {
namespace {

constexpr std::size_t kBlock = 512;

}  // namespace

// What may be left of a file's data: what was synced is there, of the rest anything.
std::string ModelFileSystem::torn(const Node& from, std::mt19937& random) {
  if (from.synced == from.data) return from.data;
  std::string out = from.synced;
  switch (random() % 5) {
    case 0:
      return out;
    case 1:
      return from.data;
    case 2:
      return from.data.substr(0, random() % (from.data.size() + 1));
    case 3:  // the length, and zeros
      out.resize(from.data.size());
      return out;
    default:
      out.resize(from.data.size());
      for (std::size_t at = 0; at < out.size(); at += kBlock) {
        if (random() % 2 == 0) continue;
        const std::size_t size = std::min(kBlock, out.size() - at);
        out.replace(at, size, from.data, at, size);
      }
      return out;
  }
}

ModelFileSystem::NodePointer ModelFileSystem::survivor(
    const Node& from, std::mt19937* random, ModelFileSystem& to,
    std::map<const Node*, NodePointer>& known) const {
  if (const auto seen = known.find(&from); seen != known.end()) return seen->second;
  const NodePointer out = to.make(from.directory, from.mode);
  known[&from] = out;
  out->changed = from.changed;
  out->data = random == nullptr ? from.data : torn(from, *random);
  out->synced = out->data;
  auto names = random == nullptr ? from.names : from.durable;
  if (random != nullptr) {
    const std::size_t kept = (*random)() % (from.unsynced.size() + 1);
    for (std::size_t i = 0; i < kept; ++i) {
      const auto& [name, child] = from.unsynced[i];
      names.erase(name);
      if (child != nullptr) names[name] = child;
    }
  }
  for (const auto& [name, child] : names) {
    out->names[name] = survivor(*child, random, to, known);
    ++out->names[name]->links;
  }
  out->durable = out->names;
  return out;
}

std::unique_ptr<ModelFileSystem> ModelFileSystem::copy(std::mt19937* random) const {
  auto out = std::make_unique<ModelFileSystem>();
  out->clock = clock;
  out->unnamed_files = unnamed_files;
  out->no_replace = no_replace;
  out->links = links;
  std::map<const Node*, NodePointer> known;
  out->root_ = survivor(*root_, random, *out, known);
  return out;
}

std::unique_ptr<ModelFileSystem> ModelFileSystem::after_kill() const { return copy(nullptr); }

std::unique_ptr<ModelFileSystem> ModelFileSystem::after_power_cut(std::mt19937& random) const {
  return copy(&random);
}

std::vector<std::string> ModelFileSystem::paths() const {
  std::vector<std::string> out;
  const std::function<void(const Node&, const std::string&)> visit = [&](const Node& folder,
                                                                         const std::string& path) {
    for (const auto& [name, child] : folder.names) {
      if (child->directory) {
        visit(*child, path + "/" + name);
      } else {
        out.push_back(path + "/" + name);
      }
    }
  };
  visit(*root_, "");
  std::ranges::sort(out);
  return out;
}

}  // namespace diecast::testing
