// Largest magnitudes of many matrices with equal columns in one launch: of each member of a group,
// or one of several matrices that share a global scale, such as gate and up or q, k and v.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/amax/amax.h>
#include <diecast/ops/group/quantized_group.h>
#include <diecast/ops/group/tensor_group.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace diecast {

// One maximum of all of `matrices`: bf16, f16, f32 or e4m3, all of one type and with equal columns,
// in any number, rows may be apart. result: f32 [1], or [cols] for AmaxPer::column. Sixteen
// matrices a launch. options.per: tensor or column; the rest as for amax(). Errors: as amax(),
// shape_mismatch, dtype_mismatch.
Result<void> amax_shared(Runtime& runtime, std::span<const Tensor> matrices, float* result,
                         const AmaxOptions& options = {}, Stream stream = {});

struct AmaxGroupedRequest {
  static constexpr std::string_view kName = "amax_grouped";
  DType in = DType::bf16;
  bool shared = false;                // one result for a list of matrices, not one a member
  AmaxPer per = AmaxPer::tensor;      // or column, or, of members, row
  RowsClass rows = RowsClass::apart;  // promised of every matrix to come: apart or any
  std::int64_t cols = 0;              // not 0: the kernel is made for this row length
  AmaxNans nans = AmaxNans::ignore;
  AmaxTransform transform = AmaxTransform::none;
  std::uint16_t sign_mask = 0;  // 0 without a transform

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("IN", self.in), as("shared", self.shared), as("PER", self.per), as("ROWS", self.rows);
    as("NANS", self.nans), as("RHT", self.transform), as("SIGN_MASK", self.sign_mask);
    as("COLS", self.cols);
  }
  // What amax_shared() prepares for such arguments.
  static AmaxGroupedRequest of(std::span<const Tensor> matrices, const AmaxOptions& options);
  // Whether several thread blocks find one maximum together, which therefore begins at 0.
  bool begins_at_zero() const { return per != AmaxPer::row; }
  std::vector<KernelWanted> kernels(const DeviceProperties& device) const;
};

class PreparedAmaxGrouped {
 public:
  using Request = AmaxGroupedRequest;
  static constexpr std::string_view kName = Request::kName;
  // Errors: value_not_allowed (a field that is no value of its enum), not_supported (maxima of
  // blocks or tiles, or of the rows of a list), those of Runtime::specialize_for and
  // Runtime::preload.
  static Result<PreparedAmaxGrouped> prepare(Runtime& runtime,
                                             const std::shared_ptr<Device>& device,
                                             const Request& request);

  // `sides`: whose amaxes are found, those of the rowwise outputs, of the columnwise ones, or of
  // both where they are equal.
  //
  // The members whose descriptors, with matrices of the request's type and rows, are at
  // group.members; their amaxes go where those say, per row to rowwise ones, per column to
  // columnwise ones of row-scaled outputs. A side may be its amax alone. Only real rows have an
  // amax. Errors: those of QuantizedGroup::check; missing_buffer, misaligned and shape_mismatch (an
  // amax that is asked for); not_supported for a request of a list, or of other maxima.
  Result<void> run(const QuantizedGroup& group, Sides sides, Stream stream) const;
  // The same. Pairs that share an amax get one maximum of all of them. Errors: as well those of
  // TensorGroup::check; dtype_mismatch and misaligned when a matrix breaks the request.
  Result<void> run(const TensorGroup& group, Sides sides, Stream stream) const;
  // As amax_shared(). Errors: also not_supported for a request of members; dtype_mismatch and
  // misaligned when a matrix breaks the request.
  Result<void> run(std::span<const Tensor> matrices, float* result, bool accumulate,
                   Stream stream) const;

 private:
  friend class PreparedQuantizeNvfp4Grouped;  // has checked its group when it wants amaxes of it
  Result<void> check_sides(const QuantizedTensor& out, Sides sides) const;
  Result<void> check_rows(const Tensor& x, std::size_t index) const;
  // run() of a group that is checked.
  Result<void> find(const QuantizedGroup& group, Sides sides, Stream stream) const;
  Result<void> find(const TensorGroup& group, Sides sides, Stream stream) const;
  Result<void> clear(float* result, std::int64_t count, Stream stream) const;
  Result<void> clear(const TensorGroup& group, QuantizedSide QuantizedTensor::*side,
                     Stream stream) const;
  Result<void> launch(const MemberDescriptor* members, Sides sides, std::int64_t rows,
                      std::int64_t cols, std::int64_t count, Stream stream) const;

  Request request_;
  std::shared_ptr<Kernel> kernel_, zeros_;  // the latter may be null (zeros.h)
};

}  // namespace diecast
