// How long a kernel of a linear layer takes beside the others that give the same bits. A launch
// takes as long as the multiprocessor with the most to do, so what counts is in how many rounds the
// multiprocessors make all tiles.
#pragma once

#include <cstdint>

namespace diecast {

// What a launch multiplies.
struct LinearSize {
  std::int64_t rows, weight_rows, depth;
};

// The tiles of out that a kernel's thread blocks make, and the time of a round of them. Times are
// in microseconds, as fitted to an H200 (templates/NOTES.md); only their ratios matter.
struct LinearTiles {
  std::int32_t rows = 1, weight_rows = 1;  // of a tile
  std::int32_t parts = 1;                  // thread blocks of a tile, each with a part of the depth
  std::int32_t at_once = 1;                // thread blocks of all multiprocessors together
  double deep = 0;                         // time of 64 of the depth
  double once = 0;                         // time of all else

  // 0 for a kernel whose times are not known.
  double time(const LinearSize& size) const {
    const double tiles = rounds(size.rows, rows) * rounds(size.weight_rows, weight_rows) * parts;
    const double depth = static_cast<double>(size.depth) / (64 * parts);
    return rounds(tiles, at_once) * (depth * deep + once);
  }

 private:
  // So many at a time, at least once. A division of integers would take longer.
  template <class Count>
  static double rounds(Count all, int at_a_time) {
    const auto before_last = static_cast<std::int64_t>((static_cast<double>(all) - 1) / at_a_time);
    return static_cast<double>(before_last + 1);
  }
};

}  // namespace diecast
