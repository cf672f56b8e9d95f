// One conversion's way from file to file: what is read and written, in which pieces, and how far it
// is. Internal to convert().
#pragma once

#include <diecast/base/text.h>
#include <diecast/checkpoint/buffer.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/convert_held.h>
#include <diecast/checkpoint/convert_outputs.h>
#include <diecast/checkpoint/floats.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace diecast {

// A part of one matrix whose elements lie side by side: whole rows, or a stretch of one row.
struct Piece {
  std::uint64_t first = 0;  // element of the tensor
  std::uint64_t row = 0;    // of the tensor's flattened rows
  std::uint64_t rows = 0, cols = 0;
  std::uint64_t elements() const { return rows * cols; }
  bool operator==(const Piece&) const = default;
};

// How far all jobs together are.
class ConvertTally {
 public:
  ConvertTally(const ConvertOptions& options, const ConvertOutputs& outputs)
      : options_(options), side_files_(outputs.side_files()), total_(outputs.data_bytes()) {}
  void add(std::uint64_t bytes, std::string_view name);

 private:
  const ConvertOptions& options_;
  const SideFiles& side_files_;
  std::mutex mutex_;
  std::uint64_t total_, done_ = 0;  // bytes to write, and written
};

// Of one job; the tally is that of all. `most`: the bytes of values that any group holds.
class ConvertStream {
 public:
  ConvertStream(const Checkpoint& input, ConvertOutputs& outputs, const Plan& plan,
                const ConvertOptions& options, ConvertTally& tally, std::uint64_t most)
      : input_(input),
        writers_(outputs.writers()),
        plan_(plan),
        options_(options),
        tally_(tally),
        most_(most) {}

  const Nvfp4Scheme& scheme() const { return plan_.scheme; }
  const Plan& plan() const { return plan_; }
  const ConvertOptions& options() const { return options_; }

  // piece_elements() of elements of `width` bytes.
  std::uint64_t held(std::uint64_t width) const { return piece_elements(options_, width); }

  // Result<void> visit(const Piece&), over all of one matrix in order.
  template <class Visit>
  Result<void> each_piece(const Matrices& of, std::uint64_t matrix, std::uint64_t width,
                          Visit visit) const;

  // Of a piece, kept from one to the next.
  Buffer values, codes, scales;
  // Room for values that a group holds. Memory for `most` of them is taken once, so that it never
  // grows.
  std::span<std::byte> room_to_hold(std::uint64_t bytes) {
    return bytes == 0 ? std::span<std::byte>() : held_.sized(most_).first(bytes);
  }

  // Errors: invalid_argument when the plan is another file's.
  Result<const TensorInfo*> source(const std::string& name) const;
  Result<void> read(const TensorInfo& tensor, std::uint64_t offset, std::span<std::byte> out) const;
  // To a tensor of the plan's output `file`.
  Result<void> write(std::uint32_t file, const std::string& name, std::uint64_t offset,
                     ByteSpan bytes);
  // The index-th decode scale of a tensor `name`, or its reciprocal, rounded once, where the
  // weight's form has those. Errors: nonfinite_values (that is no positive number), and as
  // write()'s.
  Result<void> write_global(const PlannedTensor& weight, const std::string& name,
                            std::uint64_t index, float decode_scale);

 private:
  const Checkpoint& input_;
  std::vector<SafetensorsWriter>& writers_;
  const Plan& plan_;
  const ConvertOptions& options_;
  ConvertTally& tally_;
  std::uint64_t most_;
  Buffer held_;
};

template <class Visit>
Result<void> ConvertStream::each_piece(const Matrices& of, std::uint64_t matrix,
                                       std::uint64_t width, Visit visit) const {
  const std::uint64_t cols = std::min(of.cols, held(width));
  const std::uint64_t rows = cols < of.cols ? 1 : held(width) / cols;
  for (std::uint64_t row = 0; row < of.rows; row += rows) {
    for (std::uint64_t col = 0; col < of.cols; col += cols) {
      Piece piece;
      piece.row = matrix * of.rows + row;
      piece.first = piece.row * of.cols + col;
      piece.rows = std::min(rows, of.rows - row);
      piece.cols = std::min(cols, of.cols - col);
      DIECAST_CHECK(visit(piece));
    }
  }
  return {};
}

// A kernel's error with the tensor it was about.
inline Result<void> about(const std::string& tensor, Result<void> result) {
  if (result) return result;
  Error error = result.error();
  error.what = cat("tensor ", quote(tensor), ": ", error.what);
  return error;
}

// Counts values to quantize, or numbers that they became, that are not finite. Errors:
// nonfinite_values (unless the plan allows them).
Result<void> report_nonfinite(const PlannedTensor& tensor, const Nonfinite& found, const Plan& plan,
                              ConvertReport& report);

// Quantizes the weights of one group, all under the same amaxes.
Result<void> quantize_group(ConvertStream& stream, const Plan& plan,
                            const std::vector<std::size_t>& group, const ConvertKernels& kernels,
                            ConvertReport& report);

}  // namespace diecast
