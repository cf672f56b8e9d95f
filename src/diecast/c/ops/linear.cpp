// Linear layers as the C interface has them.
#include <diecast/base/text.h>
#include <diecast/c/op.h>
#include <diecast/c/ops/packed_weight.h>
#include <diecast/c/ops/shapes.h>
#include <diecast/c/packed_linear.h>
#include <diecast/ops/linear/linear.h>
#include <diecast/ops/linear/pack_linear.h>

namespace diecast::c {
namespace {

static_assert(DIECAST_PACKED_LINEAR_VERSION == PackedLinear::kVersion);

// Dense bytes, exactly so many.
Result<void*> exactly(const diecast_tensor* tensor, std::int64_t count, const TensorName& name) {
  DIECAST_TRY(const DenseBytes bytes, bytes_of(tensor, name));
  if (bytes.count == count) return bytes.data;
  return Error{ErrorCode::shape_mismatch,
               cat(name.text(), " has ", bytes.count, " bytes, not ", count),
               cat("pass ", count, " bytes, one for every block or two codes")};
}

// Codes and scales of a weight whose format and shape are known.
Result<void> read_weight(LinearWeight& weight, const diecast_tensor* data,
                         const diecast_tensor* scale, const TensorName& data_name,
                         const TensorName& scale_name) {
  DIECAST_TRY(const std::int64_t elements, weight.shape.elements());
  DIECAST_TRY(weight.codes, exactly(data, elements / 2, data_name));
  DIECAST_TRY(weight.scales, exactly(scale, elements / block_of(weight.format), scale_name));
  return {};
}

struct BoundPackLinear : line::pack_linear {
  using Prepared = PreparedPackLinear;
  struct Views {
    LinearWeight weight;
    PackedLinear packed;
    PackLinearOptions options;
  };

  static Result<LinearWeight> read(const Tensors& t, const Options& o) {
    LinearWeight weight;
    DIECAST_TRY(const PackedFormat format, read_word<PackedFormat>(o.format, kName, "format"));
    weight.format = *parse_word<Format>(word(format));
    DIECAST_CHECK(bytes_of(t.data, {kName, "data"}));
    weight.shape = with_last(shape_of(*t.data), packed_codes(*t.data));
    if (weight.shape.rank < 2 || weight.shape.rank > 3) return weight.check(kName).error();
    DIECAST_CHECK(read_weight(weight, t.data, t.scale, {kName, "data"}, {kName, "scale"}));
    if (t.up_data != nullptr || t.up_scale != nullptr) DIECAST_CHECK(add_up(weight, t));
    DIECAST_CHECK(weight.check(kName));
    return weight;
  }
  // Up's tensors beside gate's, of whose shape they are.
  static Result<void> add_up(LinearWeight& weight, const Tensors& t) {
    LinearWeight up = weight;
    DIECAST_CHECK(read_weight(up, t.up_data, t.up_scale, {kName, "up_data"}, {kName, "up_scale"}));
    weight.up_codes = up.codes, weight.up_scales = up.scales;
    std::int64_t& rows = weight.shape.dims[static_cast<std::size_t>(weight.shape.rank - 2)];
    rows = capped_product(rows, 2);
    return {};
  }
  static Result<PackLinearStatus*> status_of(const diecast_tensor* tensor) {
    if (tensor == nullptr) return static_cast<PackLinearStatus*>(nullptr);
    if (dtype_of(*tensor) == DType::i32 && elements_of(*tensor) == 4 && row_stride_of(*tensor) == 0)
      return static_cast<PackLinearStatus*>(data_of(tensor));
    return Error{ErrorCode::dtype_mismatch,
                 cat(kName, ": out_status is ", type_text(*tensor), " ", shape_of(*tensor).text()),
                 "pass i32 [4]"};
  }
  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.weight, read(t, o));
    v.packed.format = v.weight.format;
    v.packed.shape = v.weight.shape;
    DIECAST_TRY(v.packed.gated, read_word<Gated>(o.gated, kName, "gated"));
    DIECAST_CHECK(place(v.packed, t.out_packed, {kName, "out_packed"}));
    DIECAST_TRY(v.options.status, status_of(t.out_status));
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const LinearWeight weight, read(t, o));
    DIECAST_TRY(const std::int64_t bytes, PackedLinear::bytes_for(weight.format, weight.shape));
    out.add("out_packed", DType::u8, Shape{bytes});
    if (o.status != 0) out.add("out_status", DType::i32, Shape{4});
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.weight, v.packed, v.options.status);
  }
  static Result<void> check(const Views& v) { return check_pack_linear(v.weight, v.packed); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::pack_linear(runtime, v.weight, v.packed, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.weight, v.packed, stream, v.options.status);
  }
};

struct BoundUnpackLinear : line::unpack_linear {
  using Prepared = PreparedUnpackLinear;
  struct Views {
    PackedLinear packed;
    LinearWeight weight;
  };

  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.packed, described(o, kName));
    DIECAST_CHECK(place(v.packed, t.packed, {kName, "packed"}));
    v.weight.format = v.packed.format;
    v.weight.shape = v.packed.shape;
    DIECAST_CHECK(
        read_weight(v.weight, t.out_data, t.out_scale, {kName, "out_data"}, {kName, "out_scale"}));
    return v;
  }
  static Result<void> outputs(const Tensors&, const Options& o, Outputs& out) {
    DIECAST_TRY(const PackedLinear packed, described(o, kName));
    DIECAST_CHECK(PackedLinear::bytes_for(packed.format, packed.shape));
    out.add("out_data", DType::u8, with_last(packed.shape, packed.cols() / 2));
    out.add("out_scale", packed.format == Format::nvfp4 ? DType::e4m3 : DType::e8m0,
            with_last(packed.shape, packed.cols() / block_of(packed.format)));
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return {v.packed.format, v.packed.gated};
  }
  static Result<void> check(const Views& v) { return check_unpack_linear(v.packed, v.weight); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, const Views& v,
                           Stream stream) {
    return diecast::unpack_linear(runtime, v.packed, v.weight, device, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.packed, v.weight, stream);
  }
};

struct BoundLinear : line::linear {
  using Prepared = PreparedLinear;
  static constexpr std::string_view kInPlace = "residual";
  struct Views {
    Tensor x, out;
    PackedLinear weight;
    const float* factor = nullptr;
    LinearOptions options;
  };

  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.weight, described(o, kName));
    DIECAST_CHECK(place(v.weight, t.packed, {kName, "packed"}));
    DIECAST_TRY(v.x, tensor_of(t.x, {kName, "x"}, t.device_rows));
    v.options.settled = o.settled != 0;
    v.options.fast = o.fast != 0;
    DIECAST_TRY(v.out, tensor_of(t.out, {kName, "out"}));
    DIECAST_CHECK(read_optional(v.options.bias, t.bias, {kName, "bias"}));
    DIECAST_CHECK(read_optional(v.options.residual, t.residual, {kName, "residual"}));
    DIECAST_TRY(v.options.activation, read_word<Activation>(o.activation, kName, "activation"));
    const bool parts = t.factor != nullptr && elements_of(*t.factor) != 1;
    v.options.factors = parts ? Factors::parts : Factors::one;
    const std::int64_t of_parts = is_gated(v.options.activation) ? 2 : v.weight.rows();
    if (parts)
      DIECAST_CHECK(check_count(*t.factor, of_parts, {kName, "factor"},
                                "pass one element, or one for each part: for gate and up, or for "
                                "each row of the weight"));
    DIECAST_TRY(v.factor, floats_of(t.factor, parts ? of_parts : 1, {kName, "factor"}));
    DIECAST_TRY(const std::int64_t split, read_count(o.split, 8, kName, "split"));
    v.options.split = static_cast<int>(split);
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const PackedLinear weight, described(o, kName));
    DIECAST_TRY(const Tensor x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(const FloatType type, read_word<FloatType>(o.dtype, kName, "dtype"));
    DIECAST_TRY(const Activation activation,
                read_word<Activation>(o.activation, kName, "activation"));
    out.add("out", *parse_dtype(word(type)),
            with_last(x.shape, linear_columns(weight, activation)));
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.x, v.weight, v.out, v.options);
  }
  static Result<void> check(const Views& v) {
    return check_linear(v.x, v.weight, v.factor, v.out, v.options);
  }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::linear(runtime, v.x, v.weight, v.factor, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.weight, v.factor, v.out, v.options, stream);
  }
  static void addresses(Views& v, auto&& visit) {
    each_address(v.x, visit), each_address(v.out, visit);
    visit(v.weight.data), visit(v.factor);
    if (v.options.bias) each_address(*v.options.bias, visit);
    if (v.options.residual) each_address(*v.options.residual, visit);
  }
};

}  // namespace

const BoundOp& bound::pack_linear() { return bound_op<BoundPackLinear>(); }
const BoundOp& bound::unpack_linear() { return bound_op<BoundUnpackLinear>(); }
const BoundOp& bound::linear() { return bound_op<BoundLinear>(); }

}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" std::int32_t diecast_packed_linear_size(const diecast_packed_linear* weight,
                                                   std::int64_t* bytes) {
  constexpr std::string_view kSize = "diecast_packed_linear_size";
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(weight, kSize, "weight"));
    DIECAST_CHECK(check_given(bytes, kSize, "bytes"));
    DIECAST_TRY(const auto given, read_structure(weight, diecast_packed_linear{}, "weight"));
    DIECAST_TRY(PackedLinear packed, described(given, kSize));
    DIECAST_TRY(*bytes, PackedLinear::bytes_for(packed.format, packed.shape));
    packed.data = reinterpret_cast<void*>(std::uintptr_t{4096});  // only described
    packed.bytes = *bytes;
    return packed.check(kSize);
  });
}
