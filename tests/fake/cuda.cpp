// A fake libcuda: finding functions, devices, contexts, memory. cuda_script.h says what it is for.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "fake/cuda_functions.h"

using namespace diecast::testing;
using namespace diecast::cuda;

namespace {

struct Entry {
  const char* name;
  int version;
  void* function;
};

const Entry entries[] = {
#define ENTRY(name, version, needed, parameters) {#name, version, reinterpret_cast<void*>(&::name)},
    DIECAST_CUDA_FUNCTIONS(ENTRY)
#undef ENTRY
};

// What a driver of the scripted version has under this name for a program of `version`.
void* find(const std::string& name, int version) {
  const CudaScript& script = state().script;
  for (const Entry& entry : entries)
    if (entry.name == name && entry.version <= std::min(version, script.driver_version) &&
        script.missing.count(name) == 0)
      return entry.function;
  return nullptr;
}

ContextHandle* handle(Context* context) { return reinterpret_cast<ContextHandle*>(context); }
Context* object(ContextHandle* context) { return reinterpret_cast<Context*>(context); }

Context* make_context(int gpu, bool primary) {
  auto context = std::make_unique<Context>();
  context->id = ++state().last_id;
  context->gpu = gpu;
  context->primary = primary;
  state().contexts.push_back(std::move(context));
  return state().contexts.back().get();
}

bool is_gpu(int device) {
  return device >= 0 && device < static_cast<int>(state().script.gpus.size());
}

const FakeGpu& gpu(int device) { return state().script.gpus[static_cast<std::size_t>(device)]; }

}  // namespace

extern "C" {

int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                        int* status) {
  if (const int code = enter("cuGetProcAddress", false)) return code;
  *function = flags == legacy_stream ? find(name, version) : nullptr;
  if (status) *status = *function ? 0 : 1;
  return success;
}

int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  if (const int code = enter("cuGetProcAddress", false)) return code;
  *function = flags == legacy_stream ? find(name, version) : nullptr;
  return *function ? success : 500;
}

int cuInit(unsigned) {
  if (const int code = enter("cuInit", false)) return code;
  if (state().script.gpus.empty()) return no_device;
  state().initialised = true;
  return success;
}

int cuDriverGetVersion(int* version) {
  if (const int code = enter("cuDriverGetVersion", false)) return code;
  *version = state().script.driver_version;
  return success;
}

int cuGetErrorName(Result code, const char** name) {
  *name = error_name(code);
  return *name ? success : invalid_value;
}

int cuDeviceGetCount(int* count) {
  if (const int code = enter("cuDeviceGetCount", false)) return code;
  *count = static_cast<int>(state().script.gpus.size());
  return success;
}

int cuDeviceGet(Device* device, int ordinal) {
  if (const int code = enter("cuDeviceGet", false)) return code;
  if (!is_gpu(ordinal)) return 101;
  *device = ordinal;
  return success;
}

int cuDeviceGetName(char* name, int length, Device device) {
  if (const int code = enter("cuDeviceGetName", false)) return code;
  std::strncpy(name, gpu(device).name.c_str(), static_cast<std::size_t>(length));
  return success;
}

int cuDeviceGetAttribute(int* value, int attribute, Device device) {
  if (const int code = enter("cuDeviceGetAttribute", false)) return code;
  switch (attribute) {
    case max_threads_per_block:
      *value = gpu(device).max_threads;
      return success;
    case multiprocessor_count:
      *value = gpu(device).sm_count;
      return success;
    case compute_capability_major:
      *value = gpu(device).cc / 10;
      return success;
    case compute_capability_minor:
      *value = gpu(device).cc % 10;
      return success;
    case max_shared_memory_per_block_optin:
      *value = gpu(device).shared_optin;
      return success;
  }
  return invalid_value;
}

int cuDeviceTotalMem(std::size_t* bytes, Device device) {
  if (const int code = enter("cuDeviceTotalMem", false)) return code;
  *bytes = gpu(device).memory;
  return success;
}

int cuDevicePrimaryCtxRetain(ContextHandle** context, Device device) {
  if (const int code = enter("cuDevicePrimaryCtxRetain", false)) return code;
  std::lock_guard lock(state().mutex);
  Context*& primary = state().primaries[device];
  if (!primary) primary = make_context(device, true);
  if (!primary->alive) primary->id = ++state().last_id;
  primary->alive = true;
  *context = handle(primary);
  return success;
}

// As driver 580 does: what was loaded is gone, and every call on the context fails until somebody
// retains it anew. Then the handle is the same and the id another one.
int cuDevicePrimaryCtxReset_v2(Device device) {
  std::lock_guard lock(state().mutex);
  Context* primary = state().primaries[device];
  if (!primary) return invalid_context;
  primary->alive = false;
  for (const auto& code : state().codes)
    for (const auto& kernel : code->kernels) kernel->functions.erase(primary);
  for (const auto& function : state().functions)
    if (function->context == primary) function->loaded = false;
  return success;
}

int cuCtxCreate_v2(ContextHandle** context, unsigned, Device device) {
  if (const int code = enter("cuCtxCreate", false)) return code;
  std::lock_guard lock(state().mutex);
  if (!is_gpu(device)) return 101;
  context_stack().push_back(make_context(device, false));
  *context = handle(context_stack().back());
  return success;
}

int cuCtxDestroy_v2(ContextHandle* context) {
  object(context)->alive = false;
  if (!context_stack().empty() && context_stack().back() == object(context))
    context_stack().pop_back();
  return success;
}

int cuCtxSetCurrent(ContextHandle* context) {
  if (context_stack().empty()) context_stack().push_back(nullptr);
  context_stack().back() = object(context);
  return success;
}

int cuCtxGetCurrent(ContextHandle** context) {
  *context = context_stack().empty() ? nullptr : handle(context_stack().back());
  return enter("cuCtxGetCurrent", false);
}

int cuCtxGetDevice(Device* device) {
  if (const int code = enter("cuCtxGetDevice")) return code;
  *device = context_stack().back()->gpu;
  return success;
}

int cuCtxGetId(ContextHandle* context, unsigned long long* id) {
  if (const int code = enter("cuCtxGetId", context == nullptr)) return code;
  Context* asked = context ? object(context) : current_context();
  if (!asked || !asked->alive) return asked ? 709 : invalid_context;
  *id = asked->id;
  return success;
}

int cuCtxPushCurrent(ContextHandle* context) {
  if (const int code = enter("cuCtxPushCurrent", false)) return code;
  if (!object(context)->alive) return 709;
  context_stack().push_back(object(context));
  return success;
}

int cuCtxPopCurrent(ContextHandle** context) {
  if (const int code = enter("cuCtxPopCurrent")) return code;
  *context = handle(context_stack().back());
  context_stack().pop_back();
  return success;
}

int cuMemAlloc(DevicePointer* memory, std::size_t bytes) {
  if (const int code = enter("cuMemAlloc", true, true)) return code;
  std::lock_guard lock(state().mutex);
  if (bytes == 0) return invalid_value;
  if (state().script.allocated_bytes + bytes > gpu(current_context()->gpu).memory)
    return out_of_memory;
  const std::size_t rounded = (bytes + 255) / 256 * 256;
  *memory = reinterpret_cast<std::uintptr_t>(std::aligned_alloc(256, rounded));
  state().memory[*memory] = bytes;
  state().script.allocated_bytes += bytes;
  return success;
}

int cuMemFree(DevicePointer memory) {
  if (const int code = enter("cuMemFree", true, true)) return code;
  std::lock_guard lock(state().mutex);
  const auto found = state().memory.find(memory);
  if (found == state().memory.end()) return invalid_value;
  state().script.allocated_bytes -= found->second;
  state().memory.erase(found);
  std::free(reinterpret_cast<void*>(memory));
  return success;
}

int cuMemcpyHtoDAsync(DevicePointer to, const void* from, std::size_t bytes, StreamHandle* stream) {
  return work("cuMemcpyHtoDAsync", stream, {{to, bytes}},
              [&] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}

int cuMemcpyDtoHAsync(void* to, DevicePointer from, std::size_t bytes, StreamHandle* stream) {
  return work("cuMemcpyDtoHAsync", stream, {{from, bytes}},
              [&] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
}

int cuMemcpyDtoDAsync(DevicePointer to, DevicePointer from, std::size_t bytes,
                      StreamHandle* stream) {
  if (state().script.quiet) return success;
  return work("cuMemcpyDtoDAsync", stream, {{to, bytes}, {from, bytes}}, [&] {
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  });
}

int cuMemsetD8Async(DevicePointer memory, unsigned char byte, std::size_t bytes,
                    StreamHandle* stream) {
  if (state().script.quiet) return success;
  return work("cuMemsetD8Async", stream, {{memory, bytes}},
              [&] { std::memset(reinterpret_cast<void*>(memory), byte, bytes); });
}

}  // extern "C"
