// Many quantized matrices with equal columns in one launch, such as the experts of a layer, and the
// descriptor a kernel reads for each of them. Views, no memory of their own.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <string_view>

namespace diecast {

// Where one direction of a group's member lies.
struct MemberSide {
  std::uint64_t data = 0;  // addresses in device memory; 0 where the direction is absent
  std::uint64_t scale = 0;
  std::uint64_t amax = 0;         // its own, or its first row's when row-scaled
  std::int64_t scale_stride = 0;  // linear: bytes from one row of scales to the next; 0 for tiles
};

// One member of a group as kernels read it: 96 bytes, little-endian, in an array in device memory.
struct alignas(16) MemberDescriptor {
  std::uint64_t matrix = 0;    // the unquantized matrix: first element of the member's first row
  std::int64_t row_begin = 0;  // first row within the group's flattened rows
  std::int64_t rows = 0;       // that are real; 0: an empty member
  std::int64_t stride = 0;     // elements of the matrix from one row to the next
  MemberSide rowwise;
  MemberSide columnwise;
};
static_assert(sizeof(MemberSide) == 32 && sizeof(MemberDescriptor) == 96);

// Member i has the rows from offset i up to offset i + 1; rows of `whole` behind the last offset
// belong to nobody. The offsets are count + 1 numbers that start at 0 and never descend, on the
// host, in device memory, or the same ones in both. Members lie one behind another in the buffers
// of `whole`, each with scales of its own, padded as the layout wants. With a scale_stride the rows
// of scales of all members are that far apart. Columnwise each member, also an empty one, has
// `cols` such rows; but in FP8, whose columnwise scales lie in the matrix's order, one for every 32
// of its rows.
//
// Row counts say that only the first so many rows of a member are real, as in a padded tensor
// [experts, max_rows, cols]. The member keeps the place of all its rows in the buffers; what is
// written there is what a tensor of the real rows would get, and nobody reads or writes the rest.
struct QuantizedGroup {
  // All members: shape [rows, cols], format, block, layout; either direction's buffers may be
  // absent. amax: f32 [count]; row-scaled [rows] rowwise and [count, cols] columnwise.
  QuantizedTensor whole;
  std::int64_t count = 0;
  const std::int64_t* host_row_offsets = nullptr;
  const std::int64_t* device_row_offsets = nullptr;
  // Null: all rows are real. Else `count` numbers, on the host, in device memory, or the same ones
  // in both; kernels take one that is more than the member's rows for all of them.
  const std::int32_t* host_row_counts = nullptr;
  const std::int32_t* device_row_counts = nullptr;
  MemberDescriptor* members = nullptr;  // device memory, `count` of them

  // The smallest buffers of a direction for all members: exact with host row offsets, else enough
  // for whatever offsets `rows` allows. Errors: those of QuantizedTensor, and of the offsets.
  Result<QuantizedSide> rowwise_sizes() const;
  Result<QuantizedSide> columnwise_sizes() const;
  // What an op relies on. Errors: invalid_argument (count; host offsets that do not start at 0,
  // descend, or pass the rows; host counts that pass a member's rows), missing_buffer (offsets,
  // descriptors, part of a direction), shape_mismatch, and those of QuantizedTensor.
  Result<void> check(std::string_view op) const;
  // What an op relies on of x, the unquantized matrix of all members. Errors: shape_mismatch,
  // not_supported (a row count in device memory: the group has its own).
  Result<void> check_matrix(std::string_view op, const Tensor& x) const;
  // The descriptors, to be copied to `members`. `matrix` is the unquantized [rows, cols], or null
  // for addresses of 0; `out` has room for `count`. not_supported without host row offsets, or with
  // row counts on the device alone.
  Result<void> describe(const Tensor* matrix, MemberDescriptor* out) const;
  // The real rows of member i as a tensor of their own. not_supported as for describe().
  Result<QuantizedTensor> member(std::int64_t index) const;
};

}  // namespace diecast
