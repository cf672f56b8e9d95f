// Joining headers: every tensor stays in its file and is found by its name alone.
#include <diecast/base/text.h>
#include <diecast/checkpoint/checkpoint_header.h>

#include <algorithm>

namespace diecast {

CheckpointHeader::CheckpointHeader(SafetensorsHeader file) {
  add(std::move(file));
  sort();
}

void CheckpointHeader::add(SafetensorsHeader file) {
  const auto number = static_cast<std::uint32_t>(metadata.size());
  data_bytes += file.data_bytes();
  file_bytes += file.file_bytes();
  for (TensorInfo& tensor : file.tensors) {
    tensor.file = number;
    tensors.push_back(std::move(tensor));
  }
  metadata.push_back(std::move(file.metadata));
}

void CheckpointHeader::sort() { std::ranges::stable_sort(tensors, {}, &TensorInfo::name); }

Result<CheckpointHeader> CheckpointHeader::joined(std::vector<SafetensorsHeader> files,
                                                  const std::vector<std::string>& names) {
  CheckpointHeader out;
  for (SafetensorsHeader& file : files) out.add(std::move(file));
  out.sort();
  const auto twice = std::ranges::adjacent_find(out.tensors, {}, &TensorInfo::name);
  if (twice == out.tensors.end()) return out;
  return Error{ErrorCode::file_corrupt,
               cat("tensor ", quote(twice->name), " is in ", quote(names[twice->file], 1000),
                   " and in ", quote(names[std::next(twice)->file], 1000)),
               "leave it in one of them, or write or download the checkpoint again"};
}

const TensorInfo* CheckpointHeader::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      tensors, name, {}, [](const TensorInfo& tensor) { return std::string_view(tensor.name); });
  return found == tensors.end() || found->name != name ? nullptr : &*found;
}

}  // namespace diecast
