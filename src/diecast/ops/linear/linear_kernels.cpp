// Tables of kernels, prepared.
#include <diecast/ops/linear/linear_kernels.h>

namespace diecast {

std::vector<KernelWanted> kernels_of(const std::vector<LinearKernel>& table) {
  std::vector<KernelWanted> out;
  for (const LinearKernel& one : table) out.push_back(one.wanted);
  return out;
}

Result<LinearKernels> LinearKernels::of_table(Runtime& runtime,
                                              const std::shared_ptr<Device>& device,
                                              const std::vector<LinearKernel>& table) {
  DIECAST_TRY(const auto kernels, preload_all_for(runtime, device, kernels_of(table)));
  LinearKernels out;
  for (std::size_t i = 0; i < table.size(); ++i)
    out.entries_.push_back({table[i].most_rows, table[i].tiles, kernels[i], table[i].mapped()});
  return out;
}

}  // namespace diecast
