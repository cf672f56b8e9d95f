// How far apart two checkpoints are, tensor by tensor: largest and mean absolute error and the
// signal-to-noise ratio, with the first file as the signal.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace diecast {

enum class Comparability : std::uint8_t {
  values,  // both are F32, F16 or BF16: the figures below hold
  bytes,   // both have one other type: only equal or not
  dtypes,  // types that do not compare; a quantized weight and its original among them
  shapes,
  only_first,
  only_second
};

struct ErrorFigures {
  std::uint64_t elements = 0;    // finite in both
  std::uint64_t nonfinite = 0;   // NaN or infinite in either: left out of the rest
  double largest = 0;            // absolute error
  double sum = 0;                // of absolute errors
  double noise = 0, signal = 0;  // sums of squares

  double mean() const { return elements == 0 ? 0 : sum / static_cast<double>(elements); }
  // 10 log10(signal / noise): infinite without noise, else -infinite without a signal.
  double decibels() const;
  void add(const ErrorFigures& other);
};

struct TensorComparison {
  std::string name;
  Comparability kind = Comparability::values;
  bool identical = false;  // every byte, and the type
  ErrorFigures figures;    // kind values
  std::string remark;      // why there are no figures: "BF16 [4, 32] and U8 [4, 16]"
};

struct Comparison {
  std::vector<TensorComparison> tensors;  // by name
  ErrorFigures total;                     // over all tensors with figures
  bool identical() const;                 // the same tensors with the same bytes; metadata aside
};

// `progress` is told the bytes read of both files and of how many. Quantized weights are compared
// after dequantize: here their types differ. Errors: io_error.
Result<Comparison> compare(
    const Checkpoint& first, const Checkpoint& second,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

}  // namespace diecast
