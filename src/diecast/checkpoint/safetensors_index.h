// The index of a checkpoint cut into several files, `model.safetensors.index.json`:
//   {"metadata": {"total_size": BYTES, ..}, "weight_map": {"TENSOR": "FILE", ..}}
#pragma once

#include <diecast/base/error.h>

#include <map>
#include <string>
#include <string_view>

namespace diecast {

struct SafetensorsIndex {
  std::map<std::string, std::string> files;  // of every tensor: a name in the index's own folder
  std::string metadata = "{}";               // JSON text of an object
};

// Errors: file_corrupt (no JSON of that form, a name given twice, a number of more than 64 bits in
// the metadata, a file outside of the index's folder), not_supported (a file that is no
// .safetensors). `path` is what messages call the index.
Result<SafetensorsIndex> parse_index(std::string_view json, std::string_view path);

// The index's text, total_size first set to the bytes of all tensors. Equal input, equal text.
std::string encode_index(const SafetensorsIndex& index, std::uint64_t total_size);

}  // namespace diecast
