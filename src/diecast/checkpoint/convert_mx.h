// MXFP8 and MXFP4: every block of 32 has a power of two of its own, and weights share nothing.
// Internal to convert().
#pragma once

#include <diecast/checkpoint/convert_stream.h>

namespace diecast {

// One weight, read once. Errors: nonfinite_values (unless the plan allows them), and as
// ConvertStream's and the kernel's.
Result<void> quantize_mx_weight(ConvertStream& stream, const PlannedTensor& tensor,
                                const ConvertKernels& kernels, ConvertReport& report);

}  // namespace diecast
