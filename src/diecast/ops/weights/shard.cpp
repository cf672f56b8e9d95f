// Shards in elements, codes and bytes; see shard.h.
#include <diecast/base/text.h>
#include <diecast/ops/weights/shard.h>

namespace diecast {

ShardStorage shard_storage(Format format, std::int64_t rows, std::int64_t cols, ShardRange shard) {
  ShardStorage storage;
  if (rows == 0 || cols == 0) return storage;
  const bool packed = is_four_bit(format);
  const std::int64_t block = format == Format::nvfp4 ? 16 : 32;
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

Result<std::vector<std::int64_t>> even_shard_bounds(std::int64_t elements, int ranks) {
  if (elements < 0 || ranks < 1) {
    return Error{ErrorCode::invalid_argument, cat(elements, " elements for ", ranks, " ranks"),
                 "elements are 0 or more, ranks 1 or more"};
  }
  const std::int64_t pairs = elements / 2 + elements % 2;
  const std::int64_t each = pairs / ranks, one_more = pairs % ranks;
  std::vector<std::int64_t> bounds = {0};
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t next = bounds.back() + 2 * (each + (r < one_more ? 1 : 0));
    bounds.push_back(next < elements ? next : elements);
  }
  return bounds;
}

}  // namespace diecast
