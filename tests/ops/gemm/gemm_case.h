// What the runners of products draw: operands whose codes and scales are every byte there is, NaN
// scales and scales below zero among them, and rows of scales apart.
#pragma once

#include <diecast/ops/reference/gemm_nvfp4.h>

#include <cstdint>
#include <random>
#include <vector>

#include "ops/variant_case.h"

namespace diecast::variants {

// Of one, three and more blocks of 16.
std::int64_t drawn_depth(std::uint64_t seed);

reference::PackedNvfp4 drawn_operand(std::mt19937_64& random, std::int64_t rows, std::int64_t depth,
                                     bool row_scaled);

// Above zero, from 2^-10 to 2^10.
float drawn_number(std::mt19937_64& random);
std::vector<float> drawn_numbers(std::mt19937_64& random, std::int64_t count);

// An operand's block scales in the layout wanted; linear ones have three more bytes a row where
// they lie apart, which are NaN.
struct LaidOutScales {
  std::int64_t stride = 0;  // 0 of tiles
  std::vector<std::uint8_t> bytes;

  LaidOutScales(const Specialization& s, const reference::PackedNvfp4& q, bool apart);
};

}  // namespace diecast::variants
