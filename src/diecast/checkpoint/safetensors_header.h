// What a safetensors file says of itself: names, types, shapes and byte ranges. parse_header
// believes nothing it has not checked and is stricter than the reference reader where two readers
// could see two files: a name, key or metadata entry given twice is an error, not "the last wins".
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/stored_dtype.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

inline constexpr std::uint64_t kHeaderLimit = 100'000'000;  // bytes, as the format says
inline constexpr std::size_t kTensorLimit = 1'000'000;
inline constexpr std::size_t kMetadataLimit = 100'000;  // entries
inline constexpr std::size_t kRankLimit = 64;
inline constexpr int kHeaderDepthLimit = 64;

struct TensorInfo {
  std::string name;
  StoredDType dtype = StoredDType::u8;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes from the first byte of data
  std::uint32_t file = 0;            // of a checkpoint of several files: which

  std::uint64_t bytes() const { return end - begin; }
  std::uint64_t elements() const;  // cannot overflow once the header is checked
};

using Metadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // by begin: they cover the data without a hole or overlap
  Metadata metadata;
  std::uint64_t data_begin = 0;  // of the file: 8 + the header's length

  const TensorInfo* find(std::string_view name) const;
  std::uint64_t data_bytes() const { return tensors.empty() ? 0 : tensors.back().end; }
  std::uint64_t file_bytes() const { return data_begin + data_bytes(); }

  std::vector<std::uint32_t> by_name;  // indices into tensors, for find()
};

// The header's length from a file's first eight bytes. Errors: file_corrupt when it is over the
// limit or past the end of a file of `file_bytes` bytes. `path` is what messages call the file.
Result<std::uint64_t> header_length(const unsigned char prefix[8], std::uint64_t file_bytes,
                                    std::string_view path);

// `json` is all of the header; `file_bytes` the size of the file, which the tensors must fill to
// the last byte. With `strict` a field of a tensor that the format does not know is an error too.
// Errors: file_corrupt.
Result<SafetensorsHeader> parse_header(std::string_view json, std::uint64_t file_bytes,
                                       std::string_view path, bool strict = false);

// Bytes of a tensor of this shape, or in `fault` the words for why it has no size.
struct TensorSize {
  std::uint64_t bytes = 0;
  std::string_view fault;
};
TensorSize tensor_size(StoredDType dtype, const std::vector<std::uint64_t>& shape);

std::string shape_text(const std::vector<std::uint64_t>& shape);  // "[3, 128]"

}  // namespace diecast
