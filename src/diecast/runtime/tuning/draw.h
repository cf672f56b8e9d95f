// The numbers that a tuner gives what a kernel reads.
//
// A tune may not change a result, and a sum of f32 in another order is another result. Rounded to
// bf16 it rarely shows, so each configuration is compared on several draws. Their data are such
// that the order of a sum decides bits that a rounding leaves.
#pragma once

#include <diecast/base/hash.h>
#include <diecast/template/value.h>

#include <cstddef>
#include <cstdint>

namespace diecast {

// A tensor that is read.
struct DrawnTensor {
  DType type = DType::bf16;
  std::int64_t rows = 1, cols = 1;  // cols: the last extent
  bool data = true;                 // else it is above all data in the first draw, as an amax is
  bool largest = false;             // no tensor that the kernel reads has more elements
  int place = 0;                    // among the tensors that are read
};

// Draw 0 is what is timed. Draws are in turns:
//   0  moderate numbers, others each time
//   1  numbers of which each row and column, and products of such tensors, sum to nearly 0
//   2  squares that sum to the middle between two of bf16 (f16), and little that is added or not;
//      the largest tensors alone: others are moderate
// What they may miss: two orders of a sum of positive numbers that differ by a last bit of f32,
// where that sum is only a factor or divisor of 16-bit numbers. The same kernel of f32 shows it.
//
// As many whole rows as fit in kDrawnBytes, or the beginning of one: a tensor repeats them.
Bytes drawn(const DrawnTensor& tensor, std::uint64_t draw);
inline constexpr std::size_t kDrawnBytes = 1u << 22;

// How many draws a configuration is compared on whose largest tensor has so many elements: each
// kind once, and more where they are few.
std::uint64_t draws_for(std::int64_t elements);

}  // namespace diecast
