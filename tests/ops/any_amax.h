// quantize_nvfp4 under an amax that is given: whatever lies in device memory is one.
#pragma once

#include <ops/nvfp4_properties.h>

namespace diecast::testing {

// Elements of every kind under amaxes much smaller than they are, of an S that is no plain
// quotient, and under what is none.
inline void expect_any_amax_as_the_reference(const std::shared_ptr<Device>& device,
                                             std::int64_t rows) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float amaxes[] = {0.0f,      -0.0f,    nan,      inf,      -inf,     0x1p-149f,
                          0x1p-126f, 0x1p-49f, 0x1p-48f, 0x1p-47f, 0.001f,   2.5f,
                          3e38f,     -2.5f,    0x1p59f,  0x1p60f,  60000.0f, 1e-6f};
  for (const DType dtype : {DType::bf16, DType::f16}) {
    HostMatrix x = random_matrix(dtype, rows, 4096, 29);
    const float odd[] = {nan, -nan, inf, -inf, -0.0f, 0x1p-14f, -0x1p-24f};
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < 7; ++i) x.set(row, (row * 131 + i * 37) % 4096, odd[i]);
      for (std::int64_t i = 0; i < 64; ++i) x.set(row, (row * 16 + 2048) % 4032 + i, 0.0f);
    }
    for (const float amax : amaxes) {
      EXPECT_TRUE(same_bits(quantize(device, x, {}, {amax}), reference_of(x, {}, {amax}, false)))
          << rows << " rows of " << dtype_name(dtype) << " under an amax of " << amax;
    }
  }
}

}  // namespace diecast::testing
