// The ops of the MX formats as the C interface has them.
#include <diecast/base/text.h>
#include <diecast/c/op.h>
#include <diecast/c/ops/mx_options.h>
#include <diecast/c/ops/shapes.h>
#include <diecast/ops/mx/dequantize_mx.h>
#include <diecast/ops/mx/quantize_mx.h>

namespace diecast::c {
namespace {

struct BoundQuantizeMx : line::quantize_mx {
  using Prepared = PreparedQuantizeMx;
  struct Views {
    Tensor x;
    QuantizedTensor out;
    QuantizeMxOptions options;
  };

  static Result<QuantizedType> type_of(const Options& o) {
    DIECAST_TRY(QuantizedType type, mx_type(o, kName));
    DIECAST_TRY(type.profile, read_word<Profile>(o.profile, kName, "profile"));
    DIECAST_CHECK(type.check());
    return type;
  }
  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.x, tensor_of(t.x, {kName, "x"}, t.device_rows));
    DIECAST_TRY(v.out.type, type_of(o));
    DIECAST_TRY(v.options.mode, read_word<MxMode>(o.mode, kName, "mode"));
    v.out.shape = v.x.shape;
    DIECAST_CHECK(read_output(v.out, t, kName));
    if (t.out_data != nullptr || t.out_data_t != nullptr) return v;
    return Error{ErrorCode::missing_buffer,
                 cat(kName, ": neither out_data nor out_data_t is given"),
                 "pass out_data and out_scale, or the columnwise ones"};
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const Tensor x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(const QuantizedType type, type_of(o));
    DIECAST_TRY(const Sides sides, read_word<Sides>(o.direction, kName, "direction"));
    if (has_rows(sides)) DIECAST_CHECK(add_side(out, type, x.shape, false, false));
    if (has_columns(sides)) DIECAST_CHECK(add_side(out, type, x.shape, true, false));
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.x, v.out, v.options.mode);
  }
  static Result<void> check(const Views& v) { return check_quantize_mx(v.x, v.out); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::quantize_mx(runtime, v.x, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.out, stream);
  }
  static void addresses(Views& v, auto&& visit) {
    each_address(v.x, visit), each_address(v.out, visit);
  }
};

struct BoundDequantizeMx : line::dequantize_mx {
  using Prepared = PreparedDequantizeMx;
  struct Views {
    QuantizedTensor x;
    Tensor out;
    DequantizeMxOptions options;
  };

  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.out, tensor_of(t.out, {kName, "out"}, t.device_rows));
    DIECAST_TRY(v.x.type, mx_type(o, kName));
    DIECAST_CHECK(read_source(v, t, o, kName));
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const FloatType type, read_word<FloatType>(o.dtype, kName, "dtype"));
    DIECAST_TRY(const QuantizedType of, mx_type(o, kName));
    DIECAST_CHECK(bytes_of(t.data, {kName, "data"}));
    DIECAST_TRY(const Shape shape,
                unquantized_shape(*t.data, of.format, o.columnwise != 0, o.rows, o.cols, kName));
    out.add("out", *parse_dtype(word(type)), shape);
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.x, v.out, v.options.columnwise);
  }
  static Result<void> check(const Views& v) {
    return check_dequantize_mx(v.x, v.out, v.options.columnwise);
  }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::dequantize_mx(runtime, v.x, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.out, stream);
  }
  static void addresses(Views& v, auto&& visit) {
    each_address(v.x, visit), each_address(v.out, visit);
  }
};

}  // namespace

const BoundOp& bound::quantize_mx() { return bound_op<BoundQuantizeMx>(); }
const BoundOp& bound::dequantize_mx() { return bound_op<BoundDequantizeMx>(); }

}  // namespace diecast::c
