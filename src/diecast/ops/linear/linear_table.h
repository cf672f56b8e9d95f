// The kernels of `linear` on Hopper.
#pragma once

#include <diecast/ops/linear/linear.h>
#include <diecast/ops/linear/linear_kernels.h>

#include <vector>

namespace diecast {

// On a GPU with so many multiprocessors. One weight is served by at most eight of them on an H100
// or an H200.
std::vector<LinearKernel> hopper_table(const LinearRequest& request, int sm_count);

}  // namespace diecast
