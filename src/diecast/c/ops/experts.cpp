// Linear layers of experts as the C interface has them.
#include <diecast/base/text.h>
#include <diecast/c/op.h>
#include <diecast/c/ops/packed_weight.h>
#include <diecast/c/ops/shapes.h>
#include <diecast/ops/linear/combine_experts.h>
#include <diecast/ops/linear/linear_experts.h>

#include <algorithm>

namespace diecast::c {
namespace {

// The shape of what a tensor's elements have a row each of.
Shape rows_for(const diecast_tensor& tensor, std::int64_t cols) {
  Shape shape = shape_of(tensor);
  shape.rank = std::min(shape.rank + 1, kMaxRank + 1);
  if (shape.rank <= kMaxRank) shape.dims[static_cast<std::size_t>(shape.rank - 1)] = cols;
  return shape;
}

constexpr std::string_view kOneASlot = "pass one for each slot of each token";

// A row of ids, or one id, for each row of x: else rows of x would take others' ids.
Result<void> check_rows(const diecast_tensor& ids, const Tensor& x, const TensorName& name) {
  const Shape shape = shape_of(ids);
  std::int64_t rows = 1;
  bool fit = x.rows() == rows;
  for (int d = 0; d < shape.rank; ++d) {
    rows = capped_product(rows, shape.dims[static_cast<std::size_t>(d)]);
    fit = fit || x.rows() == rows;
  }
  if (fit) return {};
  return Error{ErrorCode::shape_mismatch,
               cat(name.text(), " is ", shape.text(), ", x is ", x.shape.text()),
               "pass ids [.., k], where [..] are the rows of x"};
}

// Dense i32 or i64: which of the two a form of routing takes is checked with the call.
Result<const void*> read_ids(DType& type, const diecast_tensor* tensor, std::int64_t count,
                             const TensorName& name) {
  const bool wide = tensor != nullptr && dtype_of(*tensor) == DType::i64;
  type = wide ? DType::i64 : DType::i32;
  if (tensor != nullptr && dtype_of(*tensor) != type) {
    return Error{ErrorCode::dtype_mismatch, cat(name.text(), " is ", type_text(*tensor)),
                 "pass i32 or i64"};
  }
  if (wide) {
    DIECAST_TRY(const std::int64_t* const ids, integers_of(tensor, count, name));
    return static_cast<const void*>(ids);
  }
  DIECAST_TRY(const std::int32_t* const ids, indices_of(tensor, count, name));
  return static_cast<const void*>(ids);
}

Result<void> read_map(ExpertMap& to, const diecast_tensor* tensor, const TensorName& name) {
  if (tensor == nullptr) return {};
  to.experts = elements_of(*tensor);
  if (to.experts == 0) {  // whose address may be that of no map
    return Error{ErrorCode::shape_mismatch, cat(name.text(), " has no elements"),
                 "pass one for each expert that ids count, or leave it out"};
  }
  DIECAST_TRY(to.local, indices_of(tensor, to.experts, name));
  return {};
}

// A word that is added to.
Result<std::uint32_t*> unexpected_of(const diecast_tensor* tensor, std::string_view op) {
  if (tensor == nullptr) return static_cast<std::uint32_t*>(nullptr);
  if (dtype_of(*tensor) == DType::i32 && elements_of(*tensor) == 1)
    return static_cast<std::uint32_t*>(data_of(tensor));
  return Error{ErrorCode::dtype_mismatch,
               cat(op, ": out_unexpected is ", type_text(*tensor), " ", shape_of(*tensor).text()),
               "pass i32 [1]"};
}

struct BoundLinearExperts : line::linear_experts {
  using Prepared = PreparedLinearExperts;
  struct Views {
    Tensor x, out;
    PackedLinear weight;
    const float* factors = nullptr;
    ExpertRouting routing;
    LinearExpertsOptions options;
  };

  static Result<PackedLinear> read_weight(const Options& o) {
    if (o.weights > 0) return described(o, kName);
    return Error{ErrorCode::value_missing, cat(kName, ": weights = ", o.weights),
                 "pass weights, the number of experts"};
  }
  // How many indices a call must give.
  static std::int64_t indices(const Views& v) {
    const std::int64_t experts = v.weight.weights();
    return v.routing.form == RoutingForm::indexed      ? v.out.rows()
           : v.routing.form == RoutingForm::contiguous ? experts + 1
                                                       : experts;
  }
  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.weight, read_weight(o));
    DIECAST_CHECK(place(v.weight, t.packed, {kName, "packed"}));
    DIECAST_TRY(v.x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(v.out, tensor_of(t.out, {kName, "out"}));
    DIECAST_TRY(v.options.activation, read_word<Activation>(o.activation, kName, "activation"));
    const std::int64_t of_each = is_gated(v.options.activation) ? 2 : 1;
    DIECAST_TRY(v.factors,
                floats_of(t.factor, capped_product(o.weights, of_each), {kName, "factor"}));
    DIECAST_CHECK(check_count(*t.factor, capped_product(o.weights, of_each), {kName, "factor"},
                              "pass [experts], of gate and up [experts, 2]"));
    DIECAST_TRY(v.routing.form, read_word<RoutingForm>(o.form, kName, "form"));
    DIECAST_TRY(v.routing.data,
                read_ids(v.routing.type, t.routing, indices(v), {kName, "routing"}));
    const bool by_id = v.routing.form == RoutingForm::indexed;
    DIECAST_CHECK(check_count(*t.routing, indices(v), {kName, "routing"},
                              by_id ? kOneASlot : "pass offsets [experts + 1], counts [experts]"));
    if (by_id) DIECAST_CHECK(check_rows(*t.routing, v.x, {kName, "routing"}));
    DIECAST_CHECK(read_map(v.routing.map, t.expert_map, {kName, "expert_map"}));
    DIECAST_TRY(v.routing.unexpected, unexpected_of(t.out_unexpected, kName));
    DIECAST_CHECK(read_optional(v.options.bias, t.bias, {kName, "bias"}));
    DIECAST_TRY(const std::int64_t split, read_count(o.split, 8, kName, "split"));
    v.options.split = static_cast<int>(split);
    v.options.fast = o.fast != 0;
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const PackedLinear weight, read_weight(o));
    DIECAST_TRY(const Tensor x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(const FloatType type, read_word<FloatType>(o.dtype, kName, "dtype"));
    DIECAST_TRY(const auto activation, read_word<Activation>(o.activation, kName, "activation"));
    DIECAST_TRY(const auto form, read_word<RoutingForm>(o.form, kName, "form"));
    DType of_ids;
    DIECAST_CHECK(read_ids(of_ids, t.routing, 0, {kName, "routing"}));
    if (form == RoutingForm::indexed) DIECAST_CHECK(check_rows(*t.routing, x, {kName, "routing"}));
    const std::int64_t cols = linear_columns(weight, activation);
    out.add("out", *parse_dtype(word(type)),
            form == RoutingForm::indexed ? rows_for(*t.routing, cols) : with_last(x.shape, cols));
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.x, v.weight, v.routing, v.out, v.options);
  }
  static Result<void> check(const Views& v) {
    return check_linear_experts(v.x, v.weight, v.factors, v.routing, v.out, v.options);
  }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::linear_experts(runtime, v.x, v.weight, v.factors, v.routing, v.out, v.options,
                                   stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.weight, v.factors, v.routing, v.out, v.options, stream);
  }
  static void addresses(Views& v, auto&& visit) {
    each_address(v.x, visit), each_address(v.out, visit);
    visit(v.weight.data), visit(v.factors);
    visit(v.routing.data), visit(v.routing.map.local), visit(v.routing.unexpected);
    if (v.options.bias) each_address(*v.options.bias, visit);
  }
};

struct BoundCombineExperts : line::combine_experts {
  using Prepared = PreparedCombineExperts;
  struct Views {
    Tensor x, out;
    TopKExperts topk;
    CombineExpertsOptions options;
  };

  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(v.out, tensor_of(t.out, {kName, "out"}));
    DIECAST_TRY(v.topk.ids, read_ids(v.topk.type, t.topk_ids, v.x.rows(), {kName, "topk_ids"}));
    DIECAST_TRY(v.topk.weights, floats_of(t.topk_weights, v.x.rows(), {kName, "topk_weights"}));
    DIECAST_CHECK(check_count(*t.topk_ids, v.x.rows(), {kName, "topk_ids"}, kOneASlot));
    DIECAST_CHECK(check_count(*t.topk_weights, v.x.rows(), {kName, "topk_weights"}, kOneASlot));
    DIECAST_CHECK(read_map(v.topk.map, t.expert_map, {kName, "expert_map"}));
    DIECAST_TRY(v.topk.unexpected, unexpected_of(t.out_unexpected, kName));
    const Shape ids = shape_of(*t.topk_ids);
    if (ids.rows() != v.out.rows()) {
      return Error{ErrorCode::shape_mismatch,
                   cat(kName, ": out is ", v.out.shape.text(), ", topk_ids ", ids.text()),
                   "give out a row for each row of topk_ids"};
    }
    if (o.experts <= 0) {
      return Error{ErrorCode::value_missing, cat(kName, ": experts = ", o.experts),
                   "pass experts, the number of experts that topk_ids counts"};
    }
    v.topk.experts = o.experts;
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const Tensor x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(const FloatType type, read_word<FloatType>(o.dtype, kName, "dtype"));
    DType of_ids;
    DIECAST_CHECK(read_ids(of_ids, t.topk_ids, 0, {kName, "topk_ids"}));
    out.add("out", *parse_dtype(word(type)), with_last(shape_of(*t.topk_ids), x.cols()));
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.x, v.topk, v.out);
  }
  static Result<void> check(const Views& v) { return check_combine_experts(v.x, v.topk, v.out); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::combine_experts(runtime, v.x, v.topk, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.topk, v.out, stream);
  }
};

}  // namespace

const BoundOp& bound::linear_experts() { return bound_op<BoundLinearExperts>(); }
const BoundOp& bound::combine_experts() { return bound_op<BoundCombineExperts>(); }

}  // namespace diecast::c
