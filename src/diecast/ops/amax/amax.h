// The absolute maximum of a matrix: of the whole, of each row, column, block or 16x16 tile.
// Infinity is kept, nothing gives 0. The result is f32 in device memory.
#pragma once

#include <diecast/base/enum_words.h>
#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace diecast {

// What one maximum is of, and the shape of the result for x [rows, cols].
enum class AmaxPer : std::uint8_t {
  tensor,  // [1]
  row,     // [rows]
  column,  // [cols]
  block,   // [rows, ceil_div(cols, block)]: so many neighbours of a row
  tile     // [ceil_div(rows, 16), ceil_div(cols, 16)]: 16x16
};
constexpr auto words_of(AmaxPer) {
  return std::to_array<std::string_view>({"tensor", "row", "column", "block", "tile"});
}
// NaN is left out (profile te's rule), or makes a result of 0x7FFFFFFF.
enum class AmaxNans : std::uint8_t { ignore, propagate };
constexpr auto words_of(AmaxNans) {
  return std::to_array<std::string_view>({"ignore", "propagate"});
}
// The maximum of x, or of its random Hadamard transform in blocks of 16 along the rows or down the
// columns, rounded to x's type.
enum class AmaxTransform : std::uint8_t { none, rowwise, columnwise };
constexpr auto words_of(AmaxTransform) {
  return std::to_array<std::string_view>({"none", "rowwise", "columnwise"});
}

struct AmaxOptions {
  AmaxPer per = AmaxPer::tensor;
  bool accumulate = false;           // keep what is in amax: one maximum over several calls
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
  AmaxNans nans = AmaxNans::ignore;
  AmaxTransform transform = AmaxTransform::none;
  std::uint16_t sign_mask = 0;  // of the transform: bit i flips the sign of element i of 16
  int block = 16;               // of maxima per block: 8, 16, 32, 64 or 128
};

// x: bf16, f16, f32 or e4m3 (no transform), [rows, cols], rows may be apart. result: f32 in device
// memory, see AmaxPer. Errors: missing_buffer, shape_mismatch, not_supported (blocks and tiles do
// not accumulate), constraint_violated (a transform across what a maximum is of, or of e4m3; a
// block's width for another maximum), value_not_allowed (another type or width); of preparing.
Result<void> amax(Runtime& runtime, const Tensor& x, float* result, const AmaxOptions& options = {},
                  Stream stream = {});

struct AmaxRequest {
  static constexpr std::string_view kName = "amax";
  DType in = DType::bf16;
  AmaxPer per = AmaxPer::tensor;
  RowsClass rows = RowsClass::dense;  // promised of every x to come: see rows_class()
  std::int64_t cols = 0;              // not 0: the kernel is made for this row length
  AmaxNans nans = AmaxNans::ignore;
  AmaxTransform transform = AmaxTransform::none;
  std::uint16_t sign_mask = 0;  // 0 without a transform
  int block = 16;

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("IN", self.in), as("PER", self.per), as("ROWS", self.rows), as("NANS", self.nans);
    as("RHT", self.transform), as("SIGN_MASK", self.sign_mask), as("BLOCK", self.block);
    as("COLS", self.cols);
  }
  // What amax() prepares for such arguments.
  static AmaxRequest of(const Tensor& x, const AmaxOptions& options = {});
  // Whether several thread blocks find one maximum together, which therefore begins at 0.
  bool begins_at_zero() const { return per != AmaxPer::block && per != AmaxPer::tile; }
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
  // The errors of amax() that no device decides.
  Result<void> check(const Tensor& x, const float* result, bool accumulate,
                     std::string_view op = kName) const;
};

class PreparedAmax {
 public:
  using Request = AmaxRequest;
  static constexpr std::string_view kName = Request::kName;
  // Errors: value_not_allowed (a field that is no value of its enum), those of
  // Runtime::specialize_for and Runtime::preload.
  static Result<PreparedAmax> prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                                      const Request& request);

  // `op`: whose work this is, for errors. Errors: as amax(); misaligned when x breaks the request.
  Result<void> run(const Tensor& x, float* result, bool accumulate, Stream stream,
                   std::string_view op = kName) const;

 private:
  Request request_;
  std::shared_ptr<Kernel> kernel_, zeros_;  // the latter may be null (zeros.h)
};

}  // namespace diecast
