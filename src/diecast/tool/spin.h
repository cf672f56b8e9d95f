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

}  // namespace diecast::tool
