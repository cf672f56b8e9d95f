// Zeros by a launch or by the device's fill.
#include <diecast/ops/zeros.h>

#include <vector>

namespace diecast {

Result<std::pair<std::shared_ptr<Kernel>, std::shared_ptr<Kernel>>> preload_with_zeros(
    Runtime& runtime, const std::shared_ptr<Device>& device, std::string_view name,
    const Bindings& bindings, bool wanted) {
  std::vector<KernelWanted> all = {{name, bindings}};
  if (wanted && device != nullptr && device->properties().cc > 0) all.push_back({"zeros", {}});
  DIECAST_TRY(auto kernels, preload_all_for(runtime, device, all));
  kernels.resize(2);
  return std::pair(std::move(kernels[0]), std::move(kernels[1]));
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
