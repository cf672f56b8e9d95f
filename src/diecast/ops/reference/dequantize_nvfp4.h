// NVFP4 codes and block scales back to numbers, for every block size, bound and row pitch: the
// truth dequantize_nvfp4 and fp4_dequantize are tested against to the bit. All memory is host
// memory.
#pragma once

#include <diecast/ops/reference/nvfp4_te.h>

#include <cstdint>
#include <vector>

namespace diecast::reference {

struct PackedNvfp4 {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  int block = 16;
  int bound = 448;
  bool row_scaled = false;
  std::int64_t row_bytes = 0;        // of codes, from one row to the next
  std::vector<std::uint8_t> codes;   // the element with the even column in the low nibble
  std::vector<std::uint8_t> scales;  // E4M3 [rows, ceil_div(cols, block)]
};

// Element (row, col); `global` as in te_dequantize_nvfp4, with 1 / (6 * bound) under Global::amax.
float dequantized(const PackedNvfp4& q, Global form, const std::vector<float>& global,
                  std::int64_t row, std::int64_t col);

}  // namespace diecast::reference
