// A file system in memory that knows what a disk would still have after a power cut: for every file
// what was synced, for every directory the changes since it was synced. It can stop at a call (the
// process is killed there) and be turned into any state that a crash may leave.
#pragma once

#include <diecast/base/file.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace diecast::testing {

class ModelFileSystem final : public FileSystem {
 public:
  ModelFileSystem();

  // The process dies at its `call`-th call from now (from 1): that call and all later ones do
  // nothing. 0: never.
  void die_at(int call) { calls_ = 0, death_ = call; }
  bool dead() const { return death_ != 0 && calls_ >= death_; }
  int calls() const { return calls_; }

  // What remains after a kill: everything done. Locks and open files are gone.
  std::unique_ptr<ModelFileSystem> after_kill() const;
  // One of the states that a power cut may leave, chosen by `random`: of unsynced data nothing,
  // all, a part, blocks out of order or only the length; of every directory the first few changes.
  std::unique_ptr<ModelFileSystem> after_power_cut(std::mt19937& random) const;

  bool unnamed_files = true, no_replace = true, links = true;  // what it offers
  std::int64_t clock = 1700000000;
  // Paths of all files, sorted.
  std::vector<std::string> paths() const;

  int open_at(int directory, const char* path, int flags, mode_t mode) override;
  int close(int file) override;
  ssize_t read_at(int file, void* buffer, std::size_t size, std::uint64_t offset) override;
  ssize_t write_at(int file, const void* data, std::size_t size, std::uint64_t offset) override;
  int sync_data(int file) override;
  int sync_all(int file) override;
  int truncate(int file, std::uint64_t size) override;
  int reserve(int file, std::uint64_t size) override;
  int free_space(int file, std::uint64_t* bytes) override;
  int change_mode(int file, mode_t mode) override;
  int status(int file, struct stat* out) override;
  int status_at(int directory, const char* path, struct stat* out, int flags) override;
  int make_directory_at(int directory, const char* path, mode_t mode) override;
  int link_descriptor(int file, int directory, const char* name) override;
  int link_at(int from_directory, const char* from, int to_directory, const char* to) override;
  int rename_at(int from_directory, const char* from, int to_directory, const char* to,
                unsigned flags) override;
  int unlink_at(int directory, const char* path, int flags) override;
  ssize_t read_link_at(int directory, const char* path, char* text, std::size_t size) override;
  int set_times(int file, const struct timespec times[2]) override;
  int list_directory(int directory, const std::function<bool(const char*)>& each) override;
  int try_lock(int file, std::uint64_t offset, std::uint64_t length) override;
  int unlock(int file, std::uint64_t offset, std::uint64_t length) override;
  std::int64_t now_seconds() override { return clock; }

 private:
  struct Node;
  using NodePointer = std::shared_ptr<Node>;
  struct Change {  // of a directory: the name now stands for `node`, or for nothing
    std::string name;
    NodePointer node;
  };
  struct Node {
    bool directory = false;
    mode_t mode = 0;
    ino_t inode = 0;
    int links = 0;
    std::int64_t changed = 0;
    std::string data, synced;
    std::map<std::string, NodePointer> names, durable;
    std::vector<Change> unsynced;
  };

  bool count();  // false: dead
  NodePointer node(int file) const;
  NodePointer make(bool directory, mode_t mode);
  int open_node(NodePointer node);
  // The directory and the last name of a path; -errno when something on the way is missing.
  int walk(int directory, const char* path, NodePointer& parent, std::string& name) const;
  void set_name(Node& directory, const std::string& name, NodePointer node);
  void fill(Node& node, struct stat* out) const;
  static std::string torn(const Node& node, std::mt19937& random);
  NodePointer survivor(const Node& node, std::mt19937* random, ModelFileSystem& to,
                       std::map<const Node*, NodePointer>& known) const;
  std::unique_ptr<ModelFileSystem> copy(std::mt19937* random) const;

  NodePointer root_;
  std::vector<NodePointer> open_;
  ino_t next_ = 1;
  int calls_ = 0, death_ = 0;
};

}  // namespace diecast::testing
