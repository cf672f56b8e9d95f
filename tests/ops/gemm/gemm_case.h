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

// The product of two drawn operands and amaxes; no bias yet.
reference::GemmNvfp4 drawn_product(const Specialization& s, std::mt19937_64& random,
                                   std::int64_t rows, std::int64_t cols, std::int64_t depth);
// Draws a bias of this type, and appends its bytes.
void add_bias(reference::GemmNvfp4& gemm, std::mt19937_64& random, DType dtype,
              std::vector<std::uint8_t>& bytes);
// What a launch adds to or writes over: drawn numbers, or poison.
std::vector<std::uint8_t> drawn_out(std::mt19937_64& random, std::int64_t elements, DType dtype,
                                    bool accumulate);

// An operand's block scales in the layout wanted; linear ones have three more bytes a row where
// they lie apart, which are NaN.
struct LaidOutScales {
  std::int64_t stride = 0;  // 0 of tiles
  std::vector<std::uint8_t> bytes;

  LaidOutScales(const Specialization& s, const reference::PackedNvfp4& q, bool apart);
};

}  // namespace diecast::variants
