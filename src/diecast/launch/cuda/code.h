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

// What a launch with a cluster or attributes takes beyond the others.
inline bool is_extended(const LaunchShape& shape) {
  return (shape.cluster | unsigned{shape.cooperative} | unsigned{shape.dependent}) != 0;
}
// Errors: not_found where the driver has no cuLaunchKernelEx.
cuda::Result launch_cuda_extended(const Driver& driver, const CudaCode& code,
                                  const LaunchShape& shape, LaunchParameters parameters,
                                  cuda::StreamHandle* stream);
// What a launch that returned `result` is told by.
Error launch_error(const Driver& driver, const CudaCode& code, const LaunchShape& shape,
                   cuda::Result result);

// On a stream of the code's context.
inline cuda::Result launch_cuda_code(const Driver& driver, const CudaCode& code,
                                     const LaunchShape& shape, LaunchParameters parameters,
                                     cuda::StreamHandle* stream) {
  if (is_extended(shape)) [[unlikely]]
    return launch_cuda_extended(driver, code, shape, parameters, stream);
  return driver.cuLaunchKernel(code.function, shape.grid[0], shape.grid[1], shape.grid[2],
                               shape.block[0], shape.block[1], shape.block[2], shape.shared_bytes,
                               stream, parameters.pointers, parameters.packed);
}

}  // namespace diecast
