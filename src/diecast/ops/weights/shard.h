// A rank's part of a weight: elements [begin, end) of the flattened matrix, and which bytes of the
// quantized matrix that means. One function computes that for all formats and all who ask.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/quantized_tensor.h>

#include <cstdint>
#include <vector>

namespace diecast {

// begin == end: the rank owns nothing of the weight.
struct ShardRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool empty() const { return begin == end; }
  bool operator==(const ShardRange&) const = default;
};

// Where a shard lies in rowwise data. Codes count from the matrix's first one, the padding behind a
// row included, and belong to whoever owns the element before them. A byte of two codes may belong
// to two ranks: `touched` are the bytes with a code of the shard, `sent` those whose low half
// (first code) is the shard's, so that the sent bytes of all ranks are each byte once.
struct ShardStorage {
  std::int64_t first_code = 0, end_code = 0;
  ShardRange touched, sent;  // in bytes
  bool begins_inside_byte =
      false;  // its first code is the high half of a byte that another rank sends
  bool ends_inside_byte = false;  // its last byte's high half is another rank's
};
// 0 <= begin <= end <= rows * cols.
ShardStorage shard_storage(Format format, std::int64_t rows, std::int64_t cols, ShardRange shard);

// Bounds of `ranks` shards of a [rows, cols] weight, one behind another: rank r's is [bounds[r],
// bounds[r + 1]). Each begins at an even column, so that no byte of 4-bit codes has two owners (of
// a row of odd length an even flat index may be an odd column). Shards differ by at most two
// elements in size, where cols is odd by three. Errors: invalid_argument (sizes below 0 or beyond
// 63 bits, ranks below 1).
Result<std::vector<std::int64_t>> even_shard_bounds(std::int64_t rows, std::int64_t cols,
                                                    int ranks);

}  // namespace diecast
