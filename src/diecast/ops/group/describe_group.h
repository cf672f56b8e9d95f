// The descriptors of a group's members, made on the device from row offsets that lie there.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/group/quantized_group.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantized_type.h>
#include <diecast/ops/tensor.h>

#include <memory>
#include <string_view>

namespace diecast {

class PreparedDescribeGroup {
 public:
  // The kernel for members of that type.
  static KernelWanted kernel(const QuantizedType& type);
  // `type`: of every group to come. Errors: those of Runtime::specialize_for and Runtime::preload.
  static Result<PreparedDescribeGroup> prepare(Runtime& runtime,
                                               const std::shared_ptr<Device>& device,
                                               const QuantizedType& type);

  // Fills group.members for x, both checked before. Errors, in the name of `op`: missing_buffer
  // (offsets, or counts, that only the host has); on the host device also those of
  // QuantizedGroup::check, of the offsets' values.
  Result<void> run(const Tensor& x, const QuantizedGroup& group, std::string_view op,
                   Stream stream) const;

 private:
  std::shared_ptr<Kernel> kernel_;
};

}  // namespace diecast
