// Machine code and launches of the fake driver: what the real one checks is checked, and each
// launch is written down with the bytes of its parameters.
#include <algorithm>

#include "fake/cuda_functions.h"

using namespace diecast::testing;
using namespace diecast::cuda;

namespace {

Kernel* object(KernelHandle* kernel) { return reinterpret_cast<Kernel*>(kernel); }
Function* object(FunctionHandle* function) { return reinterpret_cast<Function*>(function); }

bool unsafe() { return !state().script.allows_load_in_capture; }

int check_launch(const Function& function, const FakeLaunch& launch) {
  const FakeGpu& gpu = state().script.gpus[static_cast<std::size_t>(function.context->gpu)];
  if (function.context != current_context()) return 400;
  for (int i = 0; i < 3; ++i)
    if (launch.grid[i] == 0 || launch.block[i] == 0) return invalid_value;
  if (launch.grid[0] > 2147483647u || launch.grid[1] > 65535 || launch.grid[2] > 65535)
    return invalid_value;
  const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads > static_cast<unsigned>(gpu.max_threads)) return invalid_value;
  if (launch.shared_bytes > static_cast<unsigned>(function.max_dynamic_shared))
    return invalid_value;
  if (launch.cluster > 1 && gpu.cc < 90) return 912;
  if (launch.cluster != 0 && launch.grid[0] % launch.cluster != 0) return invalid_value;
  return success;
}

int record(Function* function, FakeLaunch launch, StreamHandle* handle, void** parameters,
           void** extra) {
  State& fake = state();
  std::lock_guard lock(fake.mutex);
  FakeStream* stream = nullptr;
  if (const int code = find_stream(handle, &stream)) return code;
  if (const int code = check_launch(*function, launch)) return code;
  if (extra != nullptr) return invalid_value;  // nothing of ours brings its parameters so
  if (!function->loaded) {
    fake.script.violations.push_back("a launch of " + function->kernel->symbol + " had to load it");
    function->loaded = true;
  }
  launch.symbol = function->kernel->symbol;
  launch.stream = handle;
  launch.context = function->context->id;
  launch.captured = stream && stream->capturing;
  if (stream && !launch.captured) {
    const std::chrono::milliseconds lasts(fake.script.launch_ms);
    stream->busy_until = std::max(stream->busy_until, std::chrono::steady_clock::now()) + lasts;
  }
  if (function->kernel->parameters)
    for (std::size_t i = 0; i < function->kernel->parameters->size(); ++i)
      launch.arguments.emplace_back(static_cast<const char*>(parameters[i]),
                                    (*function->kernel->parameters)[i]);
  fake.script.launches.push_back(launch);
  if (fake.script.on_launch && !launch.captured) fake.script.on_launch(launch, parameters);
  return success;
}

}  // namespace

extern "C" {

int cuLibraryLoadData(LibraryHandle** library, const void* image, int*, void**, unsigned, int*,
                      void**, unsigned) {
  if (const int code = enter("cuLibraryLoadData", false, unsafe())) return code;  // of no context
  std::lock_guard lock(state().mutex);
  auto code = read_code(image);
  if (!code) return 200;
  state().codes.push_back(std::move(*code));
  *library = reinterpret_cast<LibraryHandle*>(state().codes.back().get());
  return success;
}

// In no table of the library either. What was loaded of it is gone: a launch would have to load it.
int cuLibraryUnload(LibraryHandle* library) {
  if (const int code = enter("cuLibraryUnload", true, unsafe())) return code;
  std::lock_guard lock(state().mutex);
  for (const auto& kernel : reinterpret_cast<Code*>(library)->kernels)
    for (const auto& [context, function] : kernel->functions) function->loaded = false;
  return success;
}

int cuLibraryGetKernel(KernelHandle** kernel, LibraryHandle* library, const char* name) {
  if (const int code = enter("cuLibraryGetKernel")) return code;
  for (const auto& found : reinterpret_cast<Code*>(library)->kernels)
    if (found->symbol == name) {
      *kernel = reinterpret_cast<KernelHandle*>(found.get());
      return success;
    }
  return 500;
}

int cuKernelGetFunction(FunctionHandle** function, KernelHandle* kernel) {
  if (const int code = enter("cuKernelGetFunction", true, unsafe())) return code;
  std::lock_guard lock(state().mutex);
  Function*& found = object(kernel)->functions[current_context()];
  if (!found) {
    state().functions.push_back(std::make_unique<Function>());
    found = state().functions.back().get();
    found->kernel = object(kernel);
    found->context = current_context();
    found->loaded = !state().script.lazy;
  }
  *function = reinterpret_cast<FunctionHandle*>(found);
  return success;
}

int cuKernelGetParamInfo(KernelHandle* kernel, std::size_t index, std::size_t* offset,
                         std::size_t* bytes) {
  if (const int code = enter("cuKernelGetParamInfo")) return code;
  if (!object(kernel)->parameters) return 801;
  if (index >= object(kernel)->parameters->size()) return invalid_value;
  *offset = 0;
  *bytes = (*object(kernel)->parameters)[index];
  return success;
}

int cuFuncIsLoaded(int* loaded, FunctionHandle* function) {
  if (const int code = enter("cuFuncIsLoaded")) return code;
  *loaded = object(function)->loaded;
  return success;
}

int cuFuncLoad(FunctionHandle* function) {
  if (const int code = enter("cuFuncLoad", true, unsafe())) return code;
  object(function)->loaded = true;
  return success;
}

int cuFuncSetAttribute(FunctionHandle* function, int attribute, int value) {
  if (const int code = enter("cuFuncSetAttribute")) return code;
  if (attribute != max_dynamic_shared_size_bytes) return success;
  const int gpu = object(function)->context->gpu;
  if (value > state().script.gpus[static_cast<std::size_t>(gpu)].shared_optin) return invalid_value;
  object(function)->max_dynamic_shared = value;
  return success;
}

int cuLaunchKernel(FunctionHandle* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   StreamHandle* stream, void** parameters, void** extra) {
  if (state().script.quiet) return success;
  if (const int code = enter("cuLaunchKernel")) return code;
  FakeLaunch launch;
  launch.grid = {grid_x, grid_y, grid_z};
  launch.block = {block_x, block_y, block_z};
  launch.shared_bytes = shared_bytes;
  return record(object(function), launch, stream, parameters, extra);
}

int cuLaunchKernelEx(const LaunchConfig* config, FunctionHandle* function, void** parameters,
                     void** extra) {
  if (state().script.quiet) return success;
  if (const int code = enter("cuLaunchKernelEx")) return code;
  FakeLaunch launch;
  launch.grid = {config->grid_x, config->grid_y, config->grid_z};
  launch.block = {config->block_x, config->block_y, config->block_z};
  launch.shared_bytes = config->shared_bytes;
  launch.extended = true;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id == attribute_cluster_dimension) launch.cluster = attribute.value.cluster.x;
    if (attribute.id == attribute_cooperative) launch.cooperative = attribute.value.flag == 1;
    if (attribute.id == attribute_programmatic_stream_serialization)
      launch.dependent = attribute.value.flag == 1;
  }
  return record(object(function), launch, config->stream, parameters, extra);
}

// The words are what was given: address, type, extents, stride and box.
int cuTensorMapEncodeTiled(TensorMap* map, int type, unsigned rank, void* tensor,
                           const std::uint64_t* extents, const std::uint64_t* strides,
                           const unsigned* box, const unsigned* steps, int interleave, int swizzle,
                           int promotion, int fill) {
  if (const int code = enter("cuTensorMapEncodeTiled")) return code;
  if (rank != 2 || steps[0] != 1 || steps[1] != 1 || interleave != interleave_none ||
      swizzle != swizzle_128_bytes || promotion != promotion_256_bytes || fill != fill_zeros)
    return invalid_value;
  *map = {{reinterpret_cast<std::uint64_t>(tensor), static_cast<std::uint64_t>(type), extents[0],
           extents[1], strides[0], box[0], box[1]}};
  return success;
}

}  // extern "C"
