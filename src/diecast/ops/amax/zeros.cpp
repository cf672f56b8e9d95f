// Zeros by a launch or by the device's fill.
#include <diecast/kernel_arguments.h>
#include <diecast/ops/amax/zeros.h>

#include <vector>

namespace diecast {

Result<std::pair<std::shared_ptr<Kernel>, std::shared_ptr<Kernel>>> preload_with_zeros(
    Runtime& runtime, const std::shared_ptr<Device>& device, const KernelWanted& own, bool wanted) {
  std::vector<KernelWanted> all = {own};
  if (wanted && device != nullptr && has_zeros(device->properties())) all.push_back(zeros_kernel());
  DIECAST_TRY(auto kernels, preload_all_for(runtime, device, all));
  kernels.resize(2);
  return std::pair(std::move(kernels[0]), std::move(kernels[1]));
}

Result<void> write_zeros(const Kernel* zeros, Device& device, float* values, std::int64_t count,
                         Stream stream) {
  if (zeros == nullptr)
    return device.fill(values, 0, static_cast<std::size_t>(count) * sizeof(float), stream);
  const args::Zeros arguments{.values = values, .count = count};
  return zeros->launch(arguments.in_order(), stream);
}

}  // namespace diecast
