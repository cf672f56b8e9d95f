// Shards in elements, codes and bytes; see shard.h.
#include <diecast/base/text.h>
#include <diecast/ops/weights/shard.h>

#include <algorithm>
#include <optional>

namespace diecast {

ShardStorage shard_storage(Format format, std::int64_t rows, std::int64_t cols, ShardRange shard) {
  ShardStorage storage;
  if (rows == 0 || cols == 0) return storage;
  const bool packed = is_four_bit(format);
  const std::int64_t block = block_of(format);
  const std::int64_t row_codes = packed ? (cols + block - 1) / block * block : cols;
  const auto code_of = [&](std::int64_t at) { return at / cols * row_codes + at % cols; };
  storage.first_code = code_of(shard.begin);
  storage.end_code = code_of(shard.end);
  if (!packed) {
    storage.touched = storage.sent = {storage.first_code, storage.end_code};
    return storage;
  }
  if (shard.empty()) {
    storage.touched = storage.sent = {storage.first_code / 2, storage.first_code / 2};
    return storage;
  }
  storage.touched = {storage.first_code / 2, (storage.end_code + 1) / 2};
  storage.sent = {(storage.first_code + 1) / 2, (storage.end_code + 1) / 2};
  storage.begins_inside_byte = storage.first_code % 2 != 0;
  storage.ends_inside_byte = storage.end_code % 2 != 0;
  return storage;
}

Result<std::vector<std::int64_t>> even_shard_bounds(std::int64_t rows, std::int64_t cols,
                                                    int ranks) {
  const auto elements = rows < 0 || cols < 0 ? std::nullopt : checked_product(rows, cols);
  if (!elements || ranks < 1) {
    return Error{ErrorCode::invalid_argument,
                 cat("a weight [", rows, ", ", cols, "] for ", ranks, " ranks"),
                 "rows and columns are 0 or more, ranks 1 or more"};
  }
  std::vector<std::int64_t> bounds;
  for (std::int64_t r = 0; r <= ranks; ++r) {
    const std::int64_t bound = *elements / ranks * r + std::min(r, *elements % ranks);
    bounds.push_back(bound < *elements ? bound + bound % cols % 2 : bound);
  }
  return bounds;
}

}  // namespace diecast
