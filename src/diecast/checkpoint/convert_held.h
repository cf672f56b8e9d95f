// Which values are held until their amax is known. Internal to convert().
#pragma once

#include <diecast/checkpoint/convert.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace diecast {

// The matrices that have a global scale each.
Matrices scaled_matrices(const PlannedTensor& tensor);

// Elements of a weight that are quantized under one amax.
std::uint64_t scaled_elements(const PlannedTensor& tensor);

// Of rows that are pieces, each has its amax and codes at once.
bool in_one_pass(const PlannedTensor& tensor, const ConvertOptions& options);

// Elements of `width` bytes in a piece: whole blocks of every format, at least one.
std::uint64_t piece_elements(const ConvertOptions& options, std::uint64_t width);

// Bytes of the values that a group holds at a time; 0 where it holds none.
std::uint64_t held_values(const Plan& plan, const std::vector<std::size_t>& group,
                          const ConvertOptions& options);

}  // namespace diecast
