// The kernels that a plain loop in double says the right outcome of.
#pragma once

#include <diecast/diecast.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "matrix.h"

using Sizes = std::map<std::string, std::int64_t>;

// What is right at a place of an output. Tensors are as they were before the launch.
using Plain = double (*)(const Tensors&, const diecast::Specialization&, std::int64_t row,
                         std::int64_t col);

// The structure that rotary_embedding takes.
struct Heads {
  std::int32_t count, size;
};

struct Example {
  const char *name, *output;
  Plain plain;
  std::vector<Sizes> sizes;
  double
      allowed;  // steps of an f32, whose sums have an order of their own; of other types at most 1
  double terms = 0;  // how large what is summed gets: an f32's step is no smaller than theirs
  Heads heads{};
};

const std::vector<Example>& examples();
