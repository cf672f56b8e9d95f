// NumPy's files of one array (.npy), in versions 1 to 3 of their format: a header in the words of
// Python, then the elements. Only what lies in a file as in memory is read: numbers in this
// machine's byte order, row-major.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/base/hash.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct NpyArray {
  std::string type;                 // as NumPy writes it: "<f4", "|u1"
  std::vector<std::int64_t> shape;  // empty: one number
  std::size_t begin = 0;            // where the elements begin in the file; they are its rest
};

// Reads the header and holds it against the bytes there are. `path` is for errors. Errors:
// file_corrupt (no such file, a header cut short or beyond 64 KiB, a shape that is none or that
// takes other bytes than there are); not_supported (column-major, another byte order, objects and
// records) saying how to save it.
Result<NpyArray> parse_npy(ByteSpan file, std::string_view path);
// The same of a file whose elements stay unread. Errors: also those of reading it.
Result<NpyArray> read_npy_header(FileSystem& files, const std::string& path);

// What stands before the elements of an array.
Bytes npy_header(std::string_view type, std::span<const std::int64_t> shape);

}  // namespace diecast
