// MXFP4 to NVFP4 without rounding: both have the same codes, and a power of two is a block scale of
// either. Internal to convert().
#pragma once

#include <diecast/checkpoint/convert_stream.h>

#include <vector>

namespace diecast {

// Whether all weights of a group are stored as MXFP4, and get one global scale.
bool is_cast(const Plan& plan, const std::vector<std::size_t>& group);

// With 2^k the largest scale of the group, weight_scale_2 = 2^(k-8); a block's scale is its own
// divided by that, and its codes are copied, where that is at least 2^-9, E4M3's least. Other
// blocks, more than 2^17 times smaller than the largest, are rounded. A group of zeros: 2^-8.
// Errors: nonfinite_values (a scale of 255), and as ConvertStream's.
Result<void> cast_group(ConvertStream& stream, const Plan& plan,
                        const std::vector<std::size_t>& group, ConvertReport& report);

// NVFP4 under other names: codes and block scales to the bit. Errors: nonfinite_values (a global
// scale that is no positive number, or has no reciprocal), and as ConvertStream's.
Result<void> rename_weight(ConvertStream& stream, const PlannedTensor& tensor,
                           ConvertReport& report);

}  // namespace diecast
