// Writing a safetensors file whose header is known before its data. Equal input gives equal bytes.
// The file gets its name whole or not at all: see AtomicFile.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/safetensors.h>
#include <diecast/checkpoint/safetensors_header.h>

#include <string>
#include <vector>

namespace diecast {

// Orders tensors (widest type first, then name: the order of the reference writer), gives each its
// range and sets data_begin; begin and end of the input are ignored. Errors: invalid_argument for a
// name given twice, a shape without a size, text that is not UTF-8, a header beyond kHeaderLimit.
Result<SafetensorsHeader> lay_out(std::vector<TensorInfo> tensors, Metadata metadata);

// The file's bytes before its data: length, JSON without white space, spaces up to a multiple of 8.
std::string encode_header(const SafetensorsHeader& header);

class SafetensorsWriter {
 public:
  // `layout` comes from lay_out(). Reserves the disk space of the whole file. Nobody but its owner
  // may do more with it than with the file of `input`. Errors:
  // invalid_argument when `path` is, under whatever name, the file of `input` (which may be null);
  // file_exists for a directory or another thing that is no regular file; io_error.
  static Result<SafetensorsWriter> create(const std::string& path, SafetensorsHeader layout,
                                          const SafetensorsReader* input,
                                          FileSystem& files = system_files());

  const SafetensorsHeader& layout() const { return layout_; }

  // Bytes from `offset` of a tensor of layout(). Tensors may be written in any order and by any
  // number of threads, each byte once. Errors: io_error.
  Result<void> write(const TensorInfo& tensor, std::uint64_t offset, ByteSpan bytes);

  // Names the file; it and its directory are synced before this returns. Errors: io_error; internal
  // when a tensor was not written to its last byte. Without commit() nothing remains.
  Result<void> commit();

 private:
  SafetensorsWriter(AtomicFile file, SafetensorsHeader layout)
      : file_(std::move(file)), layout_(std::move(layout)), missing_(layout_.tensors.size()) {}

  AtomicFile file_;
  SafetensorsHeader layout_;
  std::vector<std::uint64_t> missing_;  // bytes, a tensor each
};

}  // namespace diecast
