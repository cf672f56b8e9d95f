// That nothing lies in what a call writes.
#pragma once

#include <diecast/base/error.h>
#include <diecast/c/tensors.h>

#include <span>
#include <string_view>

namespace diecast::c {

struct PlacedTensor {
  std::string_view name;
  Extent extent;  // no rows: it is not there
  bool written = false;
  bool in_place = false;  // each element is read before the same one is written
};
// Errors: invalid_argument (a tensor that is written and another one share memory, unless that one
// is `in_place` and they are the same tensor).
Result<void> check_apart(std::string_view op, std::span<const PlacedTensor> tensors);

}  // namespace diecast::c
