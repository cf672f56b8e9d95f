// The disk cache as a runtime uses it: opened by the runtime's options, written by a thread behind
// the caller's back, kept at its size, and left the runtime's counts when that ends.
#pragma once

#include <diecast/runtime/common.h>
#include <diecast/runtime/publisher.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace diecast {

class ArtifactCache {
 public:
  explicit ArtifactCache(Common& common) : common_(common) {}
  // Once everything is published; but a forked child has not the thread that does it.
  ~ArtifactCache();
  ArtifactCache(const ArtifactCache&) = delete;
  // A root that cannot be used is a `degraded` event. Errors: invalid_argument.
  Result<void> open();

  CacheRoots* roots() const { return roots_.get(); }  // null when off
  const std::string& state() const { return state_; }
  const std::vector<RefusedRoot>& refused_roots() const { return refused_roots_; }

  // `compiler`: the identity of the one found here, or empty. `refused`: code that a device did not
  // take, or null.
  std::shared_ptr<const Artifact> find(const ArtifactKey& key, const std::string& compiler,
                                       const Artifact* refused);
  // Waits for another process that compiles the key, until `appeared`.
  DiskCache::Lock lock(const ArtifactKey& key, const std::function<bool()>& appeared);
  // Whether the writable root has an entry of that name; it may be damaged.
  bool has_file(const ArtifactKey& key, const std::string& compiler) const;
  // A miss's error; where a bundle has the kernel damaged, with that in place of its fix.
  Error or_damage(const ArtifactKey& key, const std::string& compiler, Error miss) const;

  // Returns at once: see publisher.h.
  void publish_later(Publication publication);
  void flush() { publisher_->flush(); }

 private:
  void publish(Publication publication);
  void prune_if_due(DiskCache& root);
  void leave_counts() const;  // to those of the writable root

  Common& common_;
  std::unique_ptr<CacheRoots> roots_;
  std::string state_;
  std::vector<RefusedRoot> refused_roots_;
  std::atomic<bool> told_unwritten_{false};
  std::unique_ptr<Publisher> publisher_ = std::make_unique<Publisher>(
      [this](Publication publication) { publish(std::move(publication)); });
};

}  // namespace diecast
