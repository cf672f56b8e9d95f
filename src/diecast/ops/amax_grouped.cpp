// amax_grouped: fills and a launch.
#include <diecast/base/text.h>
#include <diecast/ops/amax_grouped.h>

#include <algorithm>
#include <array>

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

}  // namespace

std::uint64_t PreparedAmaxGrouped::Request::word() const {
  return static_cast<std::uint64_t>(OpKind::amax_grouped) | static_cast<std::uint64_t>(in) << 8 |
         static_cast<std::uint64_t>(shared) << 12 | static_cast<std::uint64_t>(per) << 16 |
         static_cast<std::uint64_t>(rows) << 20 | static_cast<std::uint64_t>(nans) << 22 |
         static_cast<std::uint64_t>(transform) << 24 | static_cast<std::uint64_t>(sign_mask) << 32;
}

Result<PreparedAmaxGrouped> PreparedAmaxGrouped::prepare(Runtime& runtime,
                                                         const std::shared_ptr<Device>& device,
                                                         const Request& request) {
  const bool of_rows = request.per == AmaxPer::row;
  if (request.per == AmaxPer::block || request.per == AmaxPer::tile ||
      (of_rows && request.shared)) {
    return Error{ErrorCode::not_supported, cat(kGroupedAmaxOp, ": maxima of rows, blocks or tiles"),
                 "per = AmaxPer::tensor or column, or call amax for each matrix"};
  }
  DIECAST_CHECK(check_device(device));
  Bindings bindings;
  bindings.set("COLS", request.cols).set("IN", request.in);
  bindings.set("ROWS", request.rows == RowsClass::any ? "any" : "apart");
  bindings.set("GROUP", request.shared ? "list" : "members");
  bindings.set("PER", of_rows ? "row" : request.per == AmaxPer::column ? "column" : "tensor");
  bindings.set("NANS", request.nans == AmaxNans::ignore ? "ignore" : "propagate");
  bindings.set("RHT", amax_transform_name(request.transform));
  bindings.set("SIGN_MASK", int{request.sign_mask});
  // The host has no threads to spread a piece over: fewer fibers, fewer switches.
  if (device->properties().cc == 0) bindings.set("THREADS", 32);
  PreparedAmaxGrouped prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, kName, bindings));
  return prepared;
}

Result<void> PreparedAmaxGrouped::clear(float* result, std::int64_t count, Stream stream) const {
  if (result == nullptr && count > 0) {
    return Error{ErrorCode::missing_buffer, cat(kGroupedAmaxOp, ": the result is null"),
                 cat("pass device memory for f32 [", count, "]")};
  }
  return kernel_->device().fill(result, 0, static_cast<std::size_t>(count) * sizeof(float), stream);
}

Result<void> PreparedAmaxGrouped::clear(const TensorGroup& group,
                                        QuantizedSide QuantizedTensor::*side, Stream stream) const {
  // Amaxes that are neighbours in memory, as in an array in the order of the pairs, or one and the
  // same, are one fill.
  std::uintptr_t begin = 0, end = 0;
  const auto fill = [&]() -> Result<void> {
    if (begin == end) return {};
    return kernel_->device().fill(reinterpret_cast<void*>(begin), 0, end - begin, stream);
  };
  for (const QuantizedPair& pair : group.pairs) {
    const QuantizedSide& own = pair.out.*side;
    const auto first = reinterpret_cast<std::uintptr_t>(own.amax);
    const auto last = first + static_cast<std::uintptr_t>(own.amax_count) * sizeof(float);
    if (first == last) continue;
    if (first < begin || first > end) {
      DIECAST_CHECK(fill());
      begin = first;
      end = last;
    }
    end = std::max(end, last);
  }
  return fill();
}

Result<void> PreparedAmaxGrouped::launch(const MemberDescriptor* members, AmaxSides sides,
                                         std::int64_t rows, std::int64_t cols, std::int64_t count,
                                         Stream stream) const {
  const std::array<MemberDescriptor, kListed> none{};
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::u8, members),
                                      KernelArgument::bytes(&none, sizeof none),
                                      KernelArgument::tensor(DType::f32, nullptr),
                                      KernelArgument::scalar(static_cast<std::int32_t>(sides)),
                                      KernelArgument::size(rows),
                                      KernelArgument::size(cols),
                                      KernelArgument::size(count)};
  return kernel_->launch(arguments, stream);
}

Result<void> PreparedAmaxGrouped::run(const QuantizedGroup& group, AmaxSides sides,
                                      Stream stream) const {
  if (request_.shared) return wrong_request(true);
  const QuantizedTensor& whole = group.whole;
  const std::int64_t amaxes = group.count * (request_.per == AmaxPer::column ? whole.cols() : 1);
  if (request_.per != AmaxPer::row) {
    if (sides != AmaxSides::columnwise) DIECAST_CHECK(clear(whole.rowwise.amax, amaxes, stream));
    if (sides != AmaxSides::rowwise) DIECAST_CHECK(clear(whole.columnwise.amax, amaxes, stream));
  }
  return launch(group.members, sides, whole.rows(), whole.cols(), group.count, stream);
}

Result<void> PreparedAmaxGrouped::run(const TensorGroup& group, AmaxSides sides,
                                      Stream stream) const {
  if (request_.shared) return wrong_request(true);
  if (request_.per != AmaxPer::row) {
    if (sides != AmaxSides::columnwise) {
      DIECAST_CHECK(clear(group, &QuantizedTensor::rowwise, stream));
    }
    if (sides != AmaxSides::rowwise) {
      DIECAST_CHECK(clear(group, &QuantizedTensor::columnwise, stream));
    }
  }
  return launch(group.members, sides, group.rows(), group.cols(), group.count(), stream);
}

Result<void> PreparedAmaxGrouped::run(std::span<const Tensor> matrices, float* result,
                                      bool accumulate, Stream stream) const {
  if (!request_.shared) return wrong_request(false);
  DIECAST_CHECK(check_matrices(matrices));
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
      if (rows_class(x) > request_.rows) {
        return Error{
            ErrorCode::misaligned,
            cat(kGroupedAmaxOp, ": matrix ", first + i,
                " is not whole blocks of 16 from multiples of 16 bytes on, as prepared for"),
            "prepare with rows = RowsClass::any"};
      }
      list[i].matrix = reinterpret_cast<std::uintptr_t>(x.data);
      list[i].rows = x.rows();
      list[i].stride = x.stride();
      rows += x.rows();
    }
    const KernelArgument arguments[] = {KernelArgument::tensor(DType::u8, nullptr),
                                        KernelArgument::bytes(&list, sizeof list),
                                        KernelArgument::tensor(DType::f32, result),
                                        KernelArgument::scalar(std::int32_t{0}),
                                        KernelArgument::size(rows),
                                        KernelArgument::size(cols),
                                        KernelArgument::size(static_cast<std::int64_t>(count))};
    DIECAST_CHECK(kernel_->launch(arguments, stream));
  }
  return {};
}

Result<void> amax_shared(Runtime& runtime, std::span<const Tensor> matrices, float* result,
                         const AmaxOptions& options, Stream stream) {
  DIECAST_CHECK(check_matrices(matrices));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  PreparedAmaxGrouped::Request request;
  request.shared = true;
  request.per = options.per;
  request.nans = options.nans;
  request.transform = options.transform;
  if (options.transform != AmaxTransform::none) request.sign_mask = options.sign_mask;
  for (const Tensor& x : matrices) {
    request.in = x.dtype;
    request.rows = std::max(request.rows, rows_class(x));
  }
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedAmaxGrouped>(runtime, device, request, stream));
  return prepared->run(matrices, result, options.accumulate, stream);
}

}  // namespace diecast
