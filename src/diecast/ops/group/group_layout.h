// Where the members of a group lie in common buffers. One rule gives sizes and beginnings alike: a
// buffer's place for the rows of some members is its size for those rows, each member's padded.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/group/quantized_group.h>
#include <diecast/ops/quantized_tensor.h>

#include <cstdint>

namespace diecast {

// Rows of some members added up, each member's first padded to what the buffer counts in.
struct PaddedRows {
  std::int64_t members = 0;
  std::int64_t most = 0;  // that one of them has
  std::int64_t plain = 0;
  std::int64_t rowwise_scale = 0;
  std::int64_t columnwise_data = 0;
  std::int64_t columnwise_scale = 0;
};

// Of one more member, with host row offsets.
void add_member(PaddedRows& sum, const QuantizedGroup& group, std::int64_t index);
// All members; with offsets that only the device knows, the most that any offsets need: every
// member that has rows may end in a padded tile.
PaddedRows all_rows(const QuantizedGroup& group);

// Dense buffers that hold those rows. Errors: shape_mismatch (beyond 63 bits).
Result<QuantizedSide> rowwise_extent(const QuantizedTensor& whole, const PaddedRows& rows);
Result<QuantizedSide> columnwise_extent(const QuantizedTensor& whole, const PaddedRows& rows);

// Where the next member of `before` begins. A stride counts lines instead of what they hold.
struct MemberBegin {
  QuantizedSide rowwise, columnwise;
};

Result<MemberBegin> begin_behind(const QuantizedTensor& whole, const PaddedRows& before);

// The address `offset` bytes behind `base`, or 0 without one.
std::uint64_t address_at(const void* base, std::int64_t offset);
// Both directions of a member that has its rows already and begins at `begin` in the buffers of
// `tensor`.
void place_sides(MemberDescriptor& member, const QuantizedTensor& tensor, const MemberBegin& begin);
Error no_room_for_descriptors(std::int64_t count);

}  // namespace diecast
