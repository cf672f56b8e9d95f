// Zeros by a launch or by the device's fill.
#include <diecast/ops/zeros.h>

namespace diecast {

void add_zeros(std::vector<KernelWanted>& wanted, const Device* device) {
  if (device != nullptr && device->properties().cc > 0) wanted.push_back({"zeros", {}});
}

Result<void> write_zeros(const Kernel* zeros, Device& device, float* values, std::int64_t count,
                         Stream stream) {
  if (zeros == nullptr)
    return device.fill(values, 0, static_cast<std::size_t>(count) * sizeof(float), stream);
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::f32, values),
                                      KernelArgument::size(count)};
  return zeros->launch(arguments, stream);
}

}  // namespace diecast
