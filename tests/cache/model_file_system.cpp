// The model: see model_file_system.h. Single-threaded use only.
#include "cache/model_file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace diecast::testing {
namespace {

constexpr std::size_t kStatBlock = 512;

}  // namespace

ModelFileSystem::ModelFileSystem() { root_ = make(true, 0755); }

bool ModelFileSystem::count() {
  ++calls_;
  return !dead();
}

ModelFileSystem::NodePointer ModelFileSystem::make(bool directory, mode_t mode) {
  auto out = std::make_shared<Node>();
  out->directory = directory;
  out->mode = mode;
  out->inode = next_++;
  out->changed = clock;
  return out;
}

ModelFileSystem::NodePointer ModelFileSystem::node(int file) const {
  const auto at = static_cast<std::size_t>(file) - 1000;
  return file >= 1000 && at < open_.size() ? open_[at] : nullptr;
}

int ModelFileSystem::open_node(NodePointer node) {
  open_.push_back(std::move(node));
  return static_cast<int>(open_.size()) + 999;
}

int ModelFileSystem::walk(int directory, const char* path, NodePointer& parent,
                          std::string& name) const {
  std::string_view left = path;
  parent = left.starts_with('/') || directory == AT_FDCWD ? root_ : node(directory);
  if (parent == nullptr) return -EBADF;
  name = ".";
  while (!left.empty()) {
    const std::size_t slash = left.find('/');
    const std::string part(left.substr(0, slash));
    left = slash == left.npos ? "" : left.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (name != ".") {
      const auto found = parent->names.find(name);
      if (found == parent->names.end()) return -ENOENT;
      if (!found->second->directory) return -ENOTDIR;
      parent = found->second;
    }
    name = part;
  }
  return 0;
}

void ModelFileSystem::set_name(Node& directory, const std::string& name, NodePointer node) {
  const auto known = directory.names.find(name);
  if (known != directory.names.end()) {
    --known->second->links;
    directory.names.erase(known);
  }
  if (node != nullptr) {
    ++node->links;
    directory.names[name] = node;
  }
  directory.unsynced.push_back({name, node});
}

int ModelFileSystem::open_at(int directory, const char* path, int flags, mode_t mode) {
  if (!count()) return -EIO;
  NodePointer parent;
  std::string name;
  if (const int result = walk(directory, path, parent, name); result < 0) return result;
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    return unnamed_files ? open_node(make(false, mode)) : -EOPNOTSUPP;
  }
  if (name == ".") return open_node(parent);
  const auto found = parent->names.find(name);
  if (found == parent->names.end()) {
    if ((flags & O_CREAT) == 0) return -ENOENT;
    auto made = make(false, mode);
    set_name(*parent, name, made);
    return open_node(made);
  }
  if ((flags & O_EXCL) != 0 && (flags & O_CREAT) != 0) return -EEXIST;
  if ((flags & O_DIRECTORY) != 0 && !found->second->directory) return -ENOTDIR;
  return open_node(found->second);
}

int ModelFileSystem::close(int file) {
  if (!count()) return -EIO;
  if (node(file) == nullptr) return -EBADF;
  open_[static_cast<std::size_t>(file) - 1000] = nullptr;
  return 0;
}

ssize_t ModelFileSystem::read_at(int file, void* buffer, std::size_t size, std::uint64_t offset) {
  if (!count()) return -EIO;
  const NodePointer from = node(file);
  if (from == nullptr) return -EBADF;
  if (offset >= from->data.size()) return 0;
  const std::size_t bytes = std::min<std::size_t>(size, from->data.size() - offset);
  std::memcpy(buffer, from->data.data() + offset, bytes);
  return static_cast<ssize_t>(bytes);
}

// In pieces, so that a kill may fall between two of them.
ssize_t ModelFileSystem::write_at(int file, const void* data, std::size_t size,
                                  std::uint64_t offset) {
  if (!count()) return -EIO;
  const NodePointer to = node(file);
  if (to == nullptr) return -EBADF;
  size = std::min<std::size_t>(size, 1024);
  if (to->data.size() < offset + size) to->data.resize(offset + size);
  std::memcpy(to->data.data() + offset, data, size);
  to->changed = clock;
  return static_cast<ssize_t>(size);
}

int ModelFileSystem::sync_data(int file) {
  if (!count()) return -EIO;
  const NodePointer to = node(file);
  if (to == nullptr) return -EBADF;
  to->synced = to->data;
  return 0;
}

int ModelFileSystem::sync_all(int file) {
  if (!count()) return -EIO;
  const NodePointer to = node(file);
  if (to == nullptr) return -EBADF;
  to->synced = to->data;
  to->durable = to->names;
  to->unsynced.clear();
  return 0;
}

int ModelFileSystem::truncate(int file, std::uint64_t size) {
  if (!count()) return -EIO;
  node(file)->data.resize(size);
  return 0;
}

int ModelFileSystem::reserve(int, std::uint64_t) { return count() ? 0 : -EIO; }

int ModelFileSystem::free_space(int, std::uint64_t* bytes) {
  *bytes = std::uint64_t{1} << 40;
  return count() ? 0 : -EIO;
}

int ModelFileSystem::change_mode(int file, mode_t mode) {
  if (!count()) return -EIO;
  node(file)->mode = mode;
  return 0;
}

void ModelFileSystem::fill(Node& from, struct stat* out) const {
  *out = {};
  out->st_mode = from.mode | (from.directory ? S_IFDIR : S_IFREG);
  out->st_uid = ::geteuid();
  out->st_ino = from.inode;
  out->st_nlink = static_cast<nlink_t>(from.directory ? 2 : from.links);
  out->st_size = static_cast<off_t>(from.data.size());
  out->st_blocks = static_cast<blkcnt_t>((from.data.size() + kStatBlock - 1) / kStatBlock);
  out->st_mtim.tv_sec = from.changed;
}

int ModelFileSystem::status(int file, struct stat* out) {
  if (!count()) return -EIO;
  const NodePointer from = node(file);
  if (from == nullptr) return -EBADF;
  fill(*from, out);
  return 0;
}

int ModelFileSystem::status_at(int directory, const char* path, struct stat* out, int) {
  if (!count()) return -EIO;
  NodePointer parent;
  std::string name;
  if (const int result = walk(directory, path, parent, name); result < 0) return result;
  const auto found = parent->names.find(name);
  if (found == parent->names.end()) return -ENOENT;
  fill(*found->second, out);
  return 0;
}

int ModelFileSystem::make_directory_at(int directory, const char* path, mode_t mode) {
  if (!count()) return -EIO;
  NodePointer parent;
  std::string name;
  if (const int result = walk(directory, path, parent, name); result < 0) return result;
  if (parent->names.count(name) != 0) return -EEXIST;
  set_name(*parent, name, make(true, mode));
  return 0;
}

int ModelFileSystem::link_descriptor(int file, int directory, const char* name) {
  if (!count()) return -EIO;
  const NodePointer from = node(file), parent = node(directory);
  if (parent->names.count(name) != 0) return -EEXIST;
  set_name(*parent, name, from);
  return 0;
}

int ModelFileSystem::link_at(int from_directory, const char* from, int to_directory,
                             const char* to) {
  if (!count()) return -EIO;
  if (!links) return -EPERM;
  const NodePointer source = node(from_directory), target = node(to_directory);
  const auto found = source->names.find(from);
  if (found == source->names.end()) return -ENOENT;
  if (target->names.count(to) != 0) return -EEXIST;
  set_name(*target, to, found->second);
  return 0;
}

int ModelFileSystem::rename_at(int from_directory, const char* from, int to_directory,
                               const char* to, unsigned flags) {
  if (!count()) return -EIO;
  if (flags != 0 && !no_replace) return -EINVAL;
  const NodePointer source = node(from_directory), target = node(to_directory);
  const auto found = source->names.find(from);
  if (found == source->names.end()) return -ENOENT;
  if ((flags & RENAME_NOREPLACE) != 0 && target->names.count(to) != 0) return -EEXIST;
  const NodePointer moved = found->second;
  set_name(*target, to, moved);
  set_name(*source, from, nullptr);
  return 0;
}

int ModelFileSystem::unlink_at(int directory, const char* path, int flags) {
  if (!count()) return -EIO;
  NodePointer parent;
  std::string name;
  if (const int result = walk(directory, path, parent, name); result < 0) return result;
  const auto found = parent->names.find(name);
  if (found == parent->names.end()) return -ENOENT;
  const bool folder = (flags & AT_REMOVEDIR) != 0;
  if (folder != found->second->directory) return folder ? -ENOTDIR : -EISDIR;
  if (folder && !found->second->names.empty()) return -ENOTEMPTY;
  set_name(*parent, name, nullptr);
  return 0;
}

ssize_t ModelFileSystem::read_link_at(int, const char*, char*, std::size_t) {
  return count() ? -EINVAL : -EIO;
}

int ModelFileSystem::set_times(int file, const struct timespec times[2]) {
  if (!count()) return -EIO;
  node(file)->changed = times[1].tv_sec;
  return 0;
}

int ModelFileSystem::list_directory(int directory, const std::function<bool(const char*)>& each) {
  if (!count()) return -EIO;
  const auto names = node(directory)->names;
  for (const auto& [name, child] : names) {
    if (!each(name.c_str())) break;
  }
  return 0;
}

int ModelFileSystem::try_lock(int, std::uint64_t, std::uint64_t) { return count() ? 0 : -EIO; }
int ModelFileSystem::unlock(int, std::uint64_t, std::uint64_t) { return count() ? 0 : -EIO; }

}  // namespace diecast::testing
