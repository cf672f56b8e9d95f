// Tensors and structures that `diecast tune` launches with: the bytes of files.
#pragma once

#include <diecast/base/file.h>
#include <diecast/launch/device_memory.h>
#include <diecast/runtime/tuning/given.h>
#include <diecast/runtime/tuning/record.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace diecast::tool {

// Arguments, and what they point to.
struct GivenFiles {
  GivenArguments arguments;
  std::vector<DeviceMemory> tensors;
  std::vector<std::unique_ptr<Bytes>> structures;
};

// Of "index=index.bin" and so on: dense elements of an `in` tensor, or a structure, in this
// machine's byte order. Errors: unknown_parameter for what is no such argument of the kernel,
// shape_mismatch for a file that has not the bytes that one of the sizes asks for, invalid_argument
// for a word without a name; those of reading the file and of the device.
Result<GivenFiles> read_given(const Specialization& kernel, std::span<const RunSizes> sizes,
                              const std::vector<std::string>& given,
                              const std::shared_ptr<Device>& device);

}  // namespace diecast::tool
