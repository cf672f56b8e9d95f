// combine_experts: one launch.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/linear/combine_experts.h>
#include <diecast/ops/linear/linear_operands.h>

namespace diecast {
namespace {

constexpr std::string_view kCombineOp = CombineExpertsRequest::kName;

// A dense matrix of numbers whose rows the host counts.
Result<void> check_matrix(std::string_view name, const Tensor& tensor) {
  DIECAST_CHECK(check_floats(kCombineOp, name, tensor));
  DIECAST_CHECK(check_tensor(kCombineOp, name, tensor));
  if (!tensor.check_rows_known(name)) return tensor.check_rows_known(cat(kCombineOp, ": ", name));
  return check_dense_rows(kCombineOp, name, tensor);
}

Result<void> check_topk(const TopKExperts& topk, const Tensor& x) {
  DIECAST_CHECK(check_ids(kCombineOp, "topk_ids", topk.type));
  DIECAST_CHECK(check_map(kCombineOp, topk.map));
  if (topk.experts < 0) {
    return Error{ErrorCode::value_not_allowed,
                 cat(kCombineOp, ": experts is ", std::to_string(topk.experts)),
                 "give the number of experts that ids count"};
  }
  if (x.rows() == 0 || (topk.ids != nullptr && topk.weights != nullptr)) return {};
  return Error{ErrorCode::missing_buffer,
               cat(kCombineOp, ": ", topk.ids == nullptr ? "topk_ids" : "topk_weights", " is null"),
               "pass ids and weights of x's rows in device memory"};
}

// Slots of a token.
std::int64_t topk_of(const Tensor& x, const Tensor& out) {
  return out.rows() > 0 ? x.rows() / out.rows() : 0;
}

}  // namespace

Result<void> check_combine_experts(const Tensor& x, const TopKExperts& topk, const Tensor& out) {
  DIECAST_CHECK(check_matrix("x", x));
  DIECAST_CHECK(check_matrix("out", out));
  DIECAST_CHECK(check_topk(topk, x));
  if (x.cols() == out.cols() && x.rows() == topk_of(x, out) * out.rows()) return {};
  return Error{ErrorCode::shape_mismatch,
               cat(kCombineOp, ": x is ", x.shape.text(), ", out is ", out.shape.text()),
               "give x as many columns as out, and as many rows for each row of out"};
}

CombineExpertsRequest CombineExpertsRequest::of(const Tensor& x, const TopKExperts& topk,
                                                const Tensor& out) {
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(x.data) | reinterpret_cast<std::uintptr_t>(out.data);
  return {.in = x.dtype,
          .out = out.dtype,
          .aligned = (addresses & 15) == 0 && (out.cols() & 7) == 0,
          .id = topk.type,
          .expert_map = topk.map.local != nullptr,
          .unexpected = topk.unexpected != nullptr};
}

Result<void> PreparedCombineExperts::run(const Tensor& x, const TopKExperts& topk,
                                         const Tensor& out, Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_combine_experts(x, topk, out));
  Request asked = Request::of(x, topk, out);
  asked.aligned = asked.aligned && request_.aligned;
  if (asked != request_) return not_as_prepared(kName, "the call", request_, asked);
  return combine(x, topk, out, stream);
}

Result<void> PreparedCombineExperts::combine(const Tensor& x, const TopKExperts& topk,
                                             const Tensor& out, Stream stream) const {
  return launch(args::CombineExperts{.x = tensor_argument(x),
                                     .topk_ids = {topk.type, topk.ids},
                                     .topk_weights = topk.weights,
                                     .expert_map = topk.map.local,
                                     .unexpected = topk.unexpected,
                                     .out = tensor_argument(out),
                                     .rows = out.rows(),
                                     .cols = out.cols(),
                                     .topk = topk_of(x, out),
                                     .experts = topk.experts,
                                     .global_experts = topk.map.experts},
                stream);
}

Result<void> combine_experts(Runtime& runtime, const Tensor& x, const TopKExperts& topk,
                             const Tensor& out, const CombineExpertsOptions& options,
                             Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  DIECAST_CHECK(check_combine_experts(x, topk, out));
  const auto request = CombineExpertsRequest::of(x, topk, out);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedCombineExperts>(runtime, device, request, stream));
  return prepared->combine(x, topk, out, stream);
}

}  // namespace diecast
