// Tensors of a kernel as NumPy's files. bf16, the eight-bit floats and scales, which NumPy has no
// types for, are their bits: uint16 and uint8.
#pragma once

#include <diecast/base/file.h>
#include <diecast/template/specialization.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace diecast::tool {

// The shape of a file's array, by its header alone. Errors: those of read_npy_header().
Result<std::vector<std::int64_t>> array_shape(const std::string& path);

// The elements of a file of exactly this type and these extents, outermost first. Errors: those of
// reading it and of parse_npy(); dtype_mismatch, shape_mismatch.
Result<Bytes> read_array(const std::string& path, const BoundArgument& tensor,
                         std::span<const std::int64_t> extents);

// Writes such a file, whole or not at all. Errors: of writing it.
Result<void> write_array(const std::string& path, const BoundArgument& tensor,
                         std::span<const std::int64_t> extents, ByteSpan elements);

// "[64, 4096]"
std::string extents_text(std::span<const std::int64_t> extents);
// The same of one element's place, for an index into the dense elements.
std::string place_text(std::span<const std::int64_t> extents, std::int64_t index);

}  // namespace diecast::tool
