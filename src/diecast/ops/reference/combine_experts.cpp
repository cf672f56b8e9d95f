// One element after another, slot by slot.
#include <diecast/ops/reference/combine_experts.h>
#include <diecast/ops/reference/numbers.h>

namespace diecast::reference {

void combine_experts(const Tensor& x, const std::int32_t* ids, const float* weights,
                     std::int64_t experts, const Tensor& out) {
  const std::int64_t rows = out.rows(), cols = out.cols();
  const std::int64_t topk = rows > 0 ? x.rows() / rows : 0;
  for (std::int64_t at = 0; at < rows * cols; ++at) {
    float sum = 0;
    for (std::int64_t slot = at / cols * topk; slot < (at / cols + 1) * topk; ++slot) {
      if (ids[slot] < 0 || ids[slot] >= experts) continue;
      const float product = weights[slot] * load(x.data, x.dtype, slot * cols + at % cols);
      sum = sum + product;
    }
    store(out.data, out.dtype, at, sum);
  }
}

}  // namespace diecast::reference
