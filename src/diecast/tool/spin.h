// A kernel that keeps a GPU busy for a while, so that what is enqueued behind it is on the GPU
// before its turn comes.
#pragma once

#include <diecast/runtime/runtime.h>

#include <cstdint>
#include <memory>

namespace diecast::tool {

class Spin {
 public:
  static Result<Spin> open(Runtime& runtime, const std::shared_ptr<Device>& device);
  Spin() = default;

  // Enqueues it; touches no memory.
  Result<void> run(std::int64_t ns, Stream stream) const;
  const Artifact& artifact() const { return kernel_->artifact(); }

 private:
  std::shared_ptr<Kernel> kernel_;
};

// Once a process launches it many times on streams of their own, which stay: what is measured after
// that is a launch as an engine has it, whose process has more than one stream. From some thirty
// launches that are not dependent on each of two streams on every launch takes up to 0.15 us
// longer, unless it lets the next one begin early (an H200, driver 580, templates/NOTES.md);
// nothing takes that back. On the host: nothing.
Result<void> use_other_streams(Runtime& runtime, const std::shared_ptr<Device>& device);

}  // namespace diecast::tool
