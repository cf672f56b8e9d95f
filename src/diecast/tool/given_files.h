// Tensors and structures that `diecast run` and `diecast tune` launch with: the bytes of files.
#pragma once

#include <diecast/base/file.h>
#include <diecast/launch/device_memory.h>
#include <diecast/runtime/tuning/given.h>
#include <diecast/runtime/tuning/record.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::tool {

inline constexpr std::uint64_t kLargestGiven = std::uint64_t{16} << 30;

// Arguments, and what they point to.
struct GivenFiles {
  GivenArguments arguments;
  std::vector<DeviceMemory> tensors;
  std::vector<std::unique_ptr<Bytes>> structures;

  // Gives a tensor that is read, or a structure, these bytes. Errors: of the device.
  Result<void> add(const BoundArgument& argument, ByteSpan bytes,
                   const std::shared_ptr<Device>& device);
};

struct NamedFile {
  std::string name, path;
};
// Reads "index=index.bin", the value of an option. Errors: invalid_argument for a word without a
// name.
Result<NamedFile> named_file(std::string_view option, std::string_view word);

// Of "index=index.bin" and so on: dense elements of an `in` tensor, or a structure, in this
// machine's byte order. Errors: unknown_parameter for what is no such argument of the kernel,
// shape_mismatch for a file that has not the bytes that one of the sizes asks for, invalid_argument
// for a word without a name; those of reading the file and of the device.
Result<GivenFiles> read_given(const Specialization& kernel, std::span<const RunSizes> sizes,
                              const std::vector<std::string>& given,
                              const std::shared_ptr<Device>& device);

}  // namespace diecast::tool
