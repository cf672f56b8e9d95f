// What the files of one checkpoint hold together: most have one, large ones are cut into several
// whose tensors belong together all the same.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/safetensors_header.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct CheckpointHeader {
  CheckpointHeader() = default;
  CheckpointHeader(SafetensorsHeader file);  // implicit: one file is a checkpoint

  // `names` are what messages call the files. Errors: file_corrupt for a tensor that is in two.
  static Result<CheckpointHeader> joined(std::vector<SafetensorsHeader> files,
                                         const std::vector<std::string>& names);

  std::vector<TensorInfo> tensors;  // by name; `file` says whose data begin and end count in
  std::vector<Metadata> metadata;   // of each file
  std::uint64_t data_bytes = 0;     // of all files' tensors
  std::uint64_t file_bytes = 0;     // of all files

  const TensorInfo* find(std::string_view name) const;

 private:
  void add(SafetensorsHeader file);
  void sort();
};

}  // namespace diecast
