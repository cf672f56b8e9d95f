// linear_experts: one launch.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/linear/linear_experts.h>
#include <diecast/ops/linear/linear_launch.h>
#include <diecast/ops/linear/linear_operands.h>

#include <algorithm>

namespace diecast {
namespace {

constexpr std::string_view kExpertsOp = LinearExpertsRequest::kName;

// Rows of out that a row of x has.
std::int64_t fan_out(const Tensor& x, const Tensor& out, RoutingForm form) {
  return form == RoutingForm::indexed && x.rows() > 0 ? out.rows() / x.rows() : 1;
}

// Of the type of routing, and of what ids alone may have.
Result<void> check_form(const ExpertRouting& routing) {
  if (routing.form == RoutingForm::indexed) {
    DIECAST_CHECK(check_ids(kExpertsOp, "routing", routing.type));
    return check_map(kExpertsOp, routing.map);
  }
  if (routing.type != DType::i32) {
    return Error{
        ErrorCode::dtype_mismatch,
        cat(kExpertsOp, ": routing is ", dtype_name(routing.type), ", form ", word(routing.form)),
        "give offsets and counts as i32"};
  }
  if (routing.map.local != nullptr) {
    return Error{ErrorCode::not_supported,
                 cat(kExpertsOp, ": a map of experts with form ", word(routing.form)),
                 "map ids, or give offsets or counts of the weight's own experts"};
  }
  if (routing.unexpected == nullptr) return {};
  return Error{ErrorCode::not_supported,
               cat(kExpertsOp, ": unexpected ids with form ", word(routing.form)),
               "give no word to count them in"};
}

Result<void> check_routing(const ExpertRouting& routing, const Tensor& x, std::int64_t experts) {
  if (!is_value(routing.form)) {
    return Error{ErrorCode::value_not_allowed, cat(kExpertsOp, ": form is none that there is"),
                 "give a value of RoutingForm"};
  }
  DIECAST_CHECK(check_form(routing));
  if (routing.form == RoutingForm::masked && experts > 0 && x.rows() % experts != 0) {
    return Error{
        ErrorCode::shape_mismatch,
        cat(kExpertsOp, ": x has ", x.rows(), " rows of ", experts, " experts, form masked"),
        "give x as many rows for each expert"};
  }
  if (routing.data == nullptr && x.rows() > 0) {
    return Error{ErrorCode::missing_buffer, cat(kExpertsOp, ": routing is null"),
                 "pass ids, offsets or counts in device memory, as routing.form says"};
  }
  return {};
}

}  // namespace

Result<void> check_linear_experts(const Tensor& x, const PackedLinear& weight, const float* factors,
                                  const ExpertRouting& routing, const Tensor& out,
                                  const LinearExpertsOptions& options) {
  const LinearOperands of{kExpertsOp, x, weight, out, options.activation};
  DIECAST_CHECK(of.check_weight(3));
  DIECAST_CHECK(of.check_x());
  DIECAST_CHECK(x.check_rows_known("linear_experts: x"));
  DIECAST_CHECK(check_routing(routing, x, weight.weights()));
  const std::int64_t rows = capped_product(x.rows(), fan_out(x, out, routing.form));
  DIECAST_CHECK(of.check_out(Shape{rows, linear_columns(weight, options.activation)}));
  DIECAST_CHECK(out.check_rows_known("linear_experts: out"));
  if (options.bias)
    DIECAST_CHECK(
        of.check_dense("bias", *options.bias, Shape{weight.weights(), weight.rows()}, x.dtype));
  return of.check_factor(factors);
}

LinearExpertsRequest LinearExpertsRequest::of(const Tensor& x, const PackedLinear& weight,
                                              const ExpertRouting& routing, const Tensor& out,
                                              const LinearExpertsOptions& options) {
  return {.in = x.dtype,
          .out = out.dtype,
          .format = weight.format,
          .activation = options.activation,
          .form = routing.form,
          .split = options.split != 0 ? options.split : linear_split(weight.rows(), weight.cols()),
          .id = routing.type,
          .bias = options.bias.has_value(),
          .expert_map = routing.map.local != nullptr,
          .unexpected = routing.unexpected != nullptr,
          .fast = options.fast};
}

std::vector<LinearKernel> LinearExpertsRequest::table(const DeviceProperties& device) const {
  constexpr std::int64_t kAnyRows = LinearKernel::kAnyRows;
  constexpr std::string_view kFew = "linear_experts_few", kMany = "linear_experts_wgmma";
  const auto serve = [&](std::int64_t most_rows, std::string_view name,
                         const LinearKernel::Tunes& tunes) {
    return LinearKernel::of(most_rows, name, *this, tunes);
  };
  // Ids come from small batches, in which an expert has few rows.
  const bool by_id = form == RoutingForm::indexed;
  if (device.cc == 0) return {serve(kAnyRows, kName, {{"M_TILE", 8}})};
  if (device.cc != 90) return {serve(kAnyRows, kName, {{"M_TILE", by_id ? 8 : 32}})};
  // Experts have more and fewer rows than their average: most of them should fit in a tile.
  std::vector<LinearKernel> out = {serve(6, kFew, {{"M_TILE", 8}, {"STAGES", 2}}),
                                   serve(by_id ? 16 : 13, kFew, {{"M_TILE", 16}, {"STAGES", 2}})};
  if (by_id) {
    out.push_back(serve(kAnyRows, kFew, {{"M_TILE", 32}, {"N_TILE", 128}, {"STAGES", 3}}));
    return out;
  }
  // Sums of parts take as many registers as sums of twice the rows.
  if (split > 1) out.push_back(serve(26, kMany, {{"M_TILE", 32}, {"WARPGROUPS", 4}}));
  LinearExpertsRequest many = *this;
  if (fast) many.split = 1;
  const bool parts = many.split > 1;
  const LinearKernel::Tunes some = {{"M_TILE", 64}, {"WARPGROUPS", parts ? 2 : 4}};
  out.push_back(LinearKernel::of(parts ? 56 : 64, kMany, many, some));
  out.push_back(LinearKernel::of(kAnyRows, kMany, many, {{"M_TILE", parts ? 128 : 256}}));
  return out;
}

std::vector<KernelWanted> LinearExpertsRequest::kernels(const DeviceProperties& device) const {
  return kernels_of(table(device));
}

Result<PreparedLinearExperts> PreparedLinearExperts::prepare(Runtime& runtime,
                                                             const std::shared_ptr<Device>& device,
                                                             const Request& request) {
  PreparedLinearExperts op;
  op.request_ = request;
  DIECAST_TRY(op.kernels_, LinearKernels::prepare(runtime, device, request));
  return op;
}

Result<void> PreparedLinearExperts::run(const Tensor& x, const PackedLinear& weight,
                                        const float* factors, const ExpertRouting& routing,
                                        const Tensor& out, const LinearExpertsOptions& options,
                                        Stream stream) const {
  DIECAST_CHECK(check_prepared(kernels_.prepared(), kName));
  DIECAST_CHECK(check_linear_experts(x, weight, factors, routing, out, options));
  const Request asked = Request::of(x, weight, routing, out, options);
  if (asked != request_) return not_as_prepared(kName, "the call", request_, asked);
  return multiply(x, weight, factors, routing, out, options, stream);
}

Result<void> PreparedLinearExperts::multiply(const Tensor& x, const PackedLinear& weight,
                                             const float* factors, const ExpertRouting& routing,
                                             const Tensor& out, const LinearExpertsOptions& options,
                                             Stream stream) const {
  const args::LinearExperts arguments{.x = tensor_argument(x),
                                      .packed = weight.data,
                                      .factor = factors,
                                      .routing = {routing.type, routing.data},
                                      .bias = optional_argument(options.bias, x.dtype),
                                      .out = tensor_argument(out),
                                      .rows = out.rows(),
                                      .cols = out.cols(),
                                      .depth = x.cols(),
                                      .experts = weight.weights(),
                                      .fan_out = fan_out(x, out, routing.form),
                                      .expert_map = routing.map.local,
                                      .unexpected = routing.unexpected,
                                      .global_experts = routing.map.experts};
  const std::int64_t of_expert = out.rows() / std::max<std::int64_t>(weight.weights(), 1);
  const LinearSize size = {of_expert, weight.rows(), x.cols()};
  return launch_linear(kName, kernels_, size, x, arguments, stream);
}

Result<void> linear_experts(Runtime& runtime, const Tensor& x, const PackedLinear& weight,
                            const float* factors, const ExpertRouting& routing, const Tensor& out,
                            const LinearExpertsOptions& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  DIECAST_CHECK(check_linear_experts(x, weight, factors, routing, out, options));
  const auto request = LinearExpertsRequest::of(x, weight, routing, out, options);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedLinearExperts>(runtime, device, request, stream));
  return prepared->multiply(x, weight, factors, routing, out, options, stream);
}

}  // namespace diecast
