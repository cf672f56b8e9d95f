// Options of ops and what keywords stand for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "python.h"

namespace diecast::python {

inline constexpr int kMostTensors = 32, kMostOptions = 32;

// What a keyword stands for: a tensor by its index, an option or one of `out`, `stream`, `device`
// and `runtime` by its index behind them. -1: nothing.
using Keyword = std::int8_t;
inline constexpr int kFirstOption = kMostTensors, kFirstOther = kFirstOption + kMostOptions;
enum Other : Keyword { kOut = kFirstOther, kStream, kDevice, kRuntime };

// Options of a call or of a prepared op: the fields behind the structure's size.
struct Options {
  std::size_t size = 0;
  union Field {
    const char* word;
    std::int64_t integer;
    double real;
  } fields[kMostOptions];

  void set_defaults(const diecast_op_info& info);
};

// An op's tensors, by its fields.
struct TensorFields {
  std::size_t size;
  const diecast_tensor* all[kMostTensors];
};

}  // namespace diecast::python
