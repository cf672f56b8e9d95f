// amax_grouped: zeros and a launch.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/amax/amax_grouped.h>
#include <diecast/ops/amax/zeros.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace diecast {
namespace {

constexpr std::string_view kGroupedAmaxOp = PreparedAmaxGrouped::kName;
constexpr std::size_t kListed = 16;  // matrices a launch names

Error wrong_request(bool shared) {
  return {ErrorCode::not_supported,
          cat(kGroupedAmaxOp, ": prepared for ",
              shared ? "a list of matrices" : "the members of a group"),
          cat("prepare with shared = ", !shared)};
}

Result<void> check_matrices(std::span<const Tensor> matrices) {
  for (const Tensor& x : matrices) {
    DIECAST_CHECK(x.check("amax_shared: a matrix"));
    if (x.cols() != matrices[0].cols()) {
      return Error{
          ErrorCode::shape_mismatch,
          cat("amax_shared: matrices of ", matrices[0].cols(), " and of ", x.cols(), " columns"),
          "give matrices with equal columns, or call amax with accumulate = true"};
    }
    if (x.dtype != matrices[0].dtype) {
      return Error{ErrorCode::dtype_mismatch,
                   cat("amax_shared: matrices of ", dtype_name(matrices[0].dtype), " and of ",
                       dtype_name(x.dtype)),
                   "give matrices of one type, or call amax with accumulate = true"};
    }
    if (x.device_rows != nullptr) {
      return Error{ErrorCode::not_supported,
                   "amax_shared: a matrix has its row count in device memory",
                   "call amax with accumulate = true"};
    }
  }
  return {};
}

// Of one member, or of a group's, in a side's amax.
std::int64_t count_of(AmaxPer per, std::int64_t members, std::int64_t rows, std::int64_t cols) {
  return per == AmaxPer::row ? rows : members * (per == AmaxPer::column ? cols : 1);
}

// The amaxes of the sides that are asked for, which may be there without codes.
Result<void> check_amaxes(const QuantizedTensor& out, Sides sides, std::int64_t count) {
  for (const bool of_columns : {false, true}) {
    if (!(of_columns ? has_columns(sides) : has_rows(sides))) continue;
    const QuantizedSide& side = out.side(of_columns);
    const std::string_view name = of_columns ? "columnwise amax" : "rowwise amax";
    DIECAST_CHECK(check_maxima(kGroupedAmaxOp, name, side.amax, count));
    if (side.amax_count == count) continue;
    return Error{
        ErrorCode::shape_mismatch,
        cat(kGroupedAmaxOp, ": the ", name, " has ", side.amax_count, " entries, not ", count),
        cat("amax_count = ", count)};
  }
  return {};
}

}  // namespace

AmaxGroupedRequest AmaxGroupedRequest::of(std::span<const Tensor> matrices,
                                          const AmaxOptions& options) {
  const bool transformed = options.transform != AmaxTransform::none;
  AmaxGroupedRequest request{.shared = true,
                             .per = options.per,
                             .nans = options.nans,
                             .transform = options.transform,
                             .sign_mask = transformed ? options.sign_mask : std::uint16_t{0}};
  for (const Tensor& x : matrices) {
    request.in = x.dtype;
    request.rows = std::max(request.rows, rows_class(x));
  }
  return request;
}

std::vector<KernelWanted> AmaxGroupedRequest::kernels(const DeviceProperties& device) const {
  Bindings bindings;
  bindings.set("GROUP", shared ? "list" : "members");
  // The host has no threads to spread a piece over: fewer fibers, fewer switches.
  if (device.cc == 0) bindings.set("THREADS", 32);
  std::vector<KernelWanted> out = {kernel_of(kName, *this, std::move(bindings))};
  if (begins_at_zero() && has_zeros(device)) out.push_back(zeros_kernel());
  return out;
}

Result<PreparedAmaxGrouped> PreparedAmaxGrouped::prepare(Runtime& runtime,
                                                         const std::shared_ptr<Device>& device,
                                                         const Request& request) {
  DIECAST_CHECK(check_device(device));
  DIECAST_CHECK(check_values(request));
  if (request.per == AmaxPer::block || request.per == AmaxPer::tile ||
      (request.per == AmaxPer::row && request.shared)) {
    return Error{ErrorCode::not_supported,
                 cat(kGroupedAmaxOp, ": maxima of ", word(request.per), "s"),
                 cat("per = AmaxPer::tensor", request.shared ? " or column" : ", row or column",
                     ", or call amax for each matrix")};
  }
  const KernelWanted own = request.kernels(device->properties()).front();
  PreparedAmaxGrouped prepared;
  prepared.request_ = request;
  DIECAST_TRY(std::tie(prepared.kernel_, prepared.zeros_),
              preload_with_zeros(runtime, device, own, request.begins_at_zero()));
  return prepared;
}

Result<void> PreparedAmaxGrouped::clear(float* result, std::int64_t count, Stream stream) const {
  DIECAST_CHECK(check_maxima(kGroupedAmaxOp, "result", result, count));
  return write_zeros(zeros_.get(), kernel_->device(), result, count, stream);
}

Result<void> PreparedAmaxGrouped::clear(const TensorGroup& group,
                                        QuantizedSide QuantizedTensor::*side, Stream stream) const {
  // Amaxes that are neighbours in memory, as in an array in the order of the pairs, or one and the
  // same, are written at once.
  std::uintptr_t begin = 0, end = 0;
  const auto write = [&]() -> Result<void> {
    if (begin == end) return {};
    return write_zeros(zeros_.get(), kernel_->device(), reinterpret_cast<float*>(begin),
                       static_cast<std::int64_t>((end - begin) / sizeof(float)), stream);
  };
  for (const QuantizedPair& pair : group.pairs) {
    const QuantizedSide& own = pair.out.*side;
    const auto first = reinterpret_cast<std::uintptr_t>(own.amax);
    const auto last = first + static_cast<std::uintptr_t>(own.amax_count) * sizeof(float);
    if (own.amax == nullptr || first == last) continue;
    if (first < begin || first > end) {
      DIECAST_CHECK(write());
      begin = first;
      end = last;
    }
    end = std::max(end, last);
  }
  return write();
}

Result<void> PreparedAmaxGrouped::launch(const MemberDescriptor* members, Sides sides,
                                         std::int64_t rows, std::int64_t cols, std::int64_t count,
                                         Stream stream) const {
  const std::array<MemberDescriptor, kListed> none{};
  const args::AmaxGrouped arguments{.members = members,
                                    .list = none,
                                    .sides = static_cast<std::int32_t>(sides) + 1,
                                    .rows = rows,
                                    .cols = cols,
                                    .count = count};
  return launch_op(kGroupedAmaxOp, *kernel_, arguments, stream, {.cols = request_.cols});
}

// The kernel writes a maximum a row to rowwise amaxes and one a column to columnwise ones, whatever
// the sides; only row-scaled outputs have room for them.
Result<void> PreparedAmaxGrouped::check_sides(const QuantizedTensor& out, Sides sides) const {
  const bool of_lines = request_.per != AmaxPer::tensor;
  const Sides only = request_.per == AmaxPer::row ? Sides::rowwise : Sides::columnwise;
  if (out.type.row_scaled == of_lines && (!of_lines || sides == only)) return {};
  return Error{ErrorCode::not_supported,
               cat(kGroupedAmaxOp, ": prepared for one maximum a ", word(request_.per),
                   ", asked for others of outputs with row_scaled = ", out.type.row_scaled),
               "a maximum a row belongs to row-scaled rowwise outputs, one a column to row-scaled "
               "columnwise ones"};
}

Result<void> PreparedAmaxGrouped::check_rows(const Tensor& x, std::size_t index) const {
  const bool held = request_.rows == RowsClass::any || rows_class(x) != RowsClass::any;
  if (held || x.rows() == 0) return {};
  return Error{ErrorCode::misaligned,
               cat(kGroupedAmaxOp, ": matrix ", index,
                   " is not whole blocks of 16 from multiples of 16 bytes on, as prepared for"),
               "prepare with rows = RowsClass::any"};
}

Result<void> PreparedAmaxGrouped::find(const QuantizedGroup& group, Sides sides,
                                       Stream stream) const {
  const QuantizedTensor& whole = group.whole;
  if (request_.begins_at_zero()) {
    const std::int64_t count = count_of(request_.per, group.count, whole.rows(), whole.cols());
    if (has_rows(sides)) DIECAST_CHECK(clear(whole.rowwise.amax, count, stream));
    if (has_columns(sides)) DIECAST_CHECK(clear(whole.columnwise.amax, count, stream));
  }
  return launch(group.members, sides, whole.rows(), whole.cols(), group.count, stream);
}

Result<void> PreparedAmaxGrouped::find(const TensorGroup& group, Sides sides, Stream stream) const {
  if (request_.begins_at_zero()) {
    if (has_rows(sides)) {
      DIECAST_CHECK(clear(group, &QuantizedTensor::rowwise, stream));
    }
    if (has_columns(sides)) {
      DIECAST_CHECK(clear(group, &QuantizedTensor::columnwise, stream));
    }
  }
  return launch(group.members, sides, group.rows(), group.cols(), group.count(), stream);
}

Result<void> PreparedAmaxGrouped::run(const QuantizedGroup& group, Sides sides,
                                      Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  if (request_.shared) return wrong_request(true);
  DIECAST_CHECK(group.check(kGroupedAmaxOp));
  DIECAST_CHECK(check_sides(group.whole, sides));
  const QuantizedTensor& whole = group.whole;
  DIECAST_CHECK(
      check_amaxes(whole, sides, count_of(request_.per, group.count, whole.rows(), whole.cols())));
  return find(group, sides, stream);
}

Result<void> PreparedAmaxGrouped::run(const TensorGroup& group, Sides sides, Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  if (request_.shared) return wrong_request(true);
  if (group.pairs.empty()) return {};
  DIECAST_CHECK(group.check(kGroupedAmaxOp));
  const QuantizedPair& one = *group.first();
  DIECAST_CHECK(check_sides(one.out, sides));
  if (one.x.dtype != request_.in) return other_input(kGroupedAmaxOp, one.x.dtype, request_.in);
  for (std::size_t i = 0; i < group.pairs.size(); ++i) {
    const auto& [x, out] = group.pairs[i];
    if (x.rows() == 0 || x.cols() == 0) continue;  // may lack an amax
    DIECAST_CHECK(check_rows(x, i));
    DIECAST_CHECK(check_amaxes(out, sides, count_of(request_.per, 1, x.rows(), x.cols())));
  }
  return find(group, sides, stream);
}

Result<void> PreparedAmaxGrouped::run(std::span<const Tensor> matrices, float* result,
                                      bool accumulate, Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  if (!request_.shared) return wrong_request(false);
  DIECAST_CHECK(check_matrices(matrices));
  if (!matrices.empty() && matrices[0].dtype != request_.in)
    return other_input(kGroupedAmaxOp, matrices[0].dtype, request_.in);
  for (std::size_t i = 0; i < matrices.size(); ++i) DIECAST_CHECK(check_rows(matrices[i], i));
  const std::int64_t cols = matrices.empty() ? 0 : matrices[0].cols();
  if (!accumulate) {
    DIECAST_CHECK(clear(result, request_.per == AmaxPer::column ? cols : 1, stream));
  }
  for (std::size_t first = 0; first < matrices.size(); first += kListed) {
    std::array<MemberDescriptor, kListed> list{};
    const std::size_t count = std::min(kListed, matrices.size() - first);
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Tensor& x = matrices[first + i];
      list[i].matrix = reinterpret_cast<std::uintptr_t>(x.data);
      list[i].rows = x.rows();
      list[i].stride = x.stride();
      rows += x.rows();
    }
    const args::AmaxGrouped arguments{.list = list,
                                      .amax = result,
                                      .sides = 0,
                                      .rows = rows,
                                      .cols = cols,
                                      .count = static_cast<std::int64_t>(count)};
    DIECAST_CHECK(launch_op(kGroupedAmaxOp, *kernel_, arguments, stream, {.cols = request_.cols}));
  }
  return {};
}

Result<void> amax_shared(Runtime& runtime, std::span<const Tensor> matrices, float* result,
                         const AmaxOptions& options, Stream stream) {
  DIECAST_CHECK(check_matrices(matrices));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = AmaxGroupedRequest::of(matrices, options);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedAmaxGrouped>(runtime, device, request, stream));
  return prepared->run(matrices, result, options.accumulate, stream);
}

}  // namespace diecast
