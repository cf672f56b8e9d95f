// The bytes of a packed weight, one code and one scale after another. The truth of the templates'
// tests; all memory here is host memory.
#pragma once

#include <diecast/ops/linear/packed_linear.h>

#include <array>
#include <cstdint>
#include <vector>

namespace diecast::reference {

// A weight [rows, cols] with its codes two a byte and its scales row after row.
struct CheckpointWeight {
  Format format = Format::nvfp4;
  std::int64_t rows = 0, cols = 0;
  std::vector<std::uint8_t> codes, scales;

  std::int64_t blocks() const { return cols / block_of(format); }
  unsigned code(std::int64_t row, std::int64_t col) const;
  // The code times its scale, both as they are.
  float value(std::int64_t row, std::int64_t col) const;
};

struct PackedWeight {
  std::vector<std::uint8_t> bytes;
  // As pack_linear's status begins with no counts and no rows: counts for bf16 and f16, first rows.
  std::array<std::uint32_t, 4> status{0, 0, 0xFFFFFFFF, 0xFFFFFFFF};
};
PackedWeight pack_linear(const CheckpointWeight& weight, Gated gated);

// What comes back of a packed weight: the weight with zero and negative scales, and MXFP4 scales of
// zero blocks, as pack_linear makes them.
CheckpointWeight unpacked(const CheckpointWeight& weight);

}  // namespace diecast::reference
