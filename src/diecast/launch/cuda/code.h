// A cubin in one CUDA context: making it resident and launching it. Never unloaded: a captured
// graph may hold the function, and the driver neither says so nor stops a launch of what is gone.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/launch/driver.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace diecast {

struct CudaCode final : ResidentCode {
  cuda::ContextHandle* context = nullptr;
  cuda::FunctionHandle* function = nullptr;
  std::string spelling;
  std::optional<std::vector<std::size_t>> parameters;

  std::optional<std::vector<std::size_t>> parameter_bytes() const override { return parameters; }
};

// Whether the device runs code for the artifact's target. Errors: target_not_supported.
Result<void> check_runs_on(const DeviceProperties& device, const Artifact& artifact);

// As the driver reads it, which needs no context. Errors: target_not_supported, file_corrupt (the
// driver refuses the code itself), driver_error, out_of_memory.
Result<std::shared_ptr<ReadCode>> read_cuda_code(const Driver& driver,
                                                 const DeviceProperties& device,
                                                 const Artifact& artifact);

// Into the current context, so that no launch loads anything; `read`: by read_cuda_code, or null.
// Errors: those of reading.
Result<std::shared_ptr<ResidentCode>> load_cuda_code(const Driver& driver,
                                                     const DeviceProperties& device,
                                                     const Artifact& artifact,
                                                     const LaunchNeeds& needs,
                                                     const ReadCode* read);

// Whether a launch takes what cuLaunchKernel cannot say.
inline bool is_extended(const LaunchShape& shape) {
  return (shape.cluster | unsigned{shape.cooperative} | unsigned{shape.dependent}) != 0;
}
// What a launch that returned `result` is told by.
Error launch_error(const Driver& driver, const CudaCode& code, const LaunchShape& shape,
                   cuda::Result result);

// On a stream of the code's context. In each launch itself, for a call less. Errors: not_found
// where the driver has no cuLaunchKernelEx and the launch needs it.
[[gnu::always_inline]] inline cuda::Result launch_cuda_code(const Driver& driver,
                                                            const CudaCode& code,
                                                            const LaunchShape& shape,
                                                            void** parameters,
                                                            cuda::StreamHandle* stream) {
  const auto& [grid, block, shared_bytes, cluster, cooperative, dependent] = shape;
  if (!is_extended(shape))
    return driver.cuLaunchKernel(code.function, grid[0], grid[1], grid[2], block[0], block[1],
                                 block[2], shared_bytes, stream, parameters, nullptr);
  if (!driver.cuLaunchKernelEx) [[unlikely]]
    return cuda::not_found;
  cuda::LaunchAttribute attributes[3];
  cuda::LaunchAttribute* next = attributes;
  if (dependent) {
    next->id = cuda::attribute_programmatic_stream_serialization;
    next++->value.flag = 1;
  }
  if (cluster != 0) {
    next->id = cuda::attribute_cluster_dimension;
    next++->value.cluster = {cluster, 1, 1};
  }
  if (cooperative) [[unlikely]] {
    next->id = cuda::attribute_cooperative;
    next++->value.flag = 1;
  }
  const cuda::LaunchConfig config = {
      grid[0],  grid[1],      grid[2], block[0],   block[1],
      block[2], shared_bytes, stream,  attributes, static_cast<unsigned>(next - attributes)};
  return driver.cuLaunchKernelEx(&config, code.function, parameters, nullptr);
}

}  // namespace diecast
