// The ops of NVFP4 as the C interface has them.
#include <diecast/base/text.h>
#include <diecast/c/op.h>
#include <diecast/c/ops/nvfp4_options.h>
#include <diecast/c/ops/shapes.h>
#include <diecast/ops/nvfp4/dequantize_nvfp4.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>

namespace diecast::c {
namespace {

struct BoundQuantizeNvfp4 : line::quantize_nvfp4 {
  using Prepared = PreparedQuantizeNvfp4;
  struct Views {
    Tensor x;
    QuantizedTensor out;
    QuantizeNvfp4Options options;
  };

  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.x, tensor_of(t.x, {kName, "x"}, t.device_rows));
    DIECAST_TRY(v.out.type, nvfp4_type(o, kName));
    v.out.shape = v.x.shape;
    DIECAST_CHECK(read_output(v.out, t, kName));
    if (t.out_data == nullptr && t.out_data_t == nullptr) return no_output();
    DIECAST_CHECK(read_nvfp4_options(v.options, t, o, kName));
    DIECAST_CHECK(read_scales(v, t, o));
    return v;
  }
  static Error no_output() {
    return {ErrorCode::missing_buffer, cat(kName, ": neither out_data nor out_data_t is given"),
            "pass out_data and out_scale, or those of the transpose"};
  }

  // The global scales: given, or found and written.
  static Result<void> read_scales(Views& v, const Tensors& t, const Options& o) {
    DIECAST_TRY(const GivenScale given, given_scale(t.amax, t.encode, t.decode, kName));
    DIECAST_TRY(GivenScale given_t, given_scale(t.amax_t, t.encode_t, t.decode_t, kName));
    v.options.global = o.block_scales_alone != 0 ? GlobalScale::none : given.global;
    if (given_t.tensor == nullptr) given_t = given;  // one for both
    const bool of_columns_alone = t.out_data == nullptr && given.tensor == nullptr;
    if (of_columns_alone && o.block_scales_alone == 0) v.options.global = given_t.global;
    v.options.amax_given = (of_columns_alone ? given_t : given).tensor != nullptr;
    if (v.options.amax_given && o.block_scales_alone != 0) {
      return Error{ErrorCode::invalid_argument,
                   cat(kName, ": a global scale is given with block_scales_alone"),
                   "pass one or the other"};
    }
    if (given_t.global != given.global && !of_columns_alone) {
      return Error{ErrorCode::invalid_argument,
                   cat(kName, ": the sides' global scales are of two kinds"),
                   "pass amax and amax_t, encode and encode_t, or decode and decode_t"};
    }
    if (v.options.global == GlobalScale::encode || v.options.global == GlobalScale::decode)
      v.options.amax_given = false;
    if (t.out_data != nullptr)
      DIECAST_CHECK(read_amax(v, false, given.tensor, t.out_amax, "out_amax"));
    if (t.out_data_t != nullptr)
      DIECAST_CHECK(read_amax(v, true, given_t.tensor, t.out_amax_t, "out_amax_t"));
    return read_block_amaxes(v, t);
  }
  static Result<void> read_amax(Views& v, bool of_columns, const diecast_tensor* given,
                                const diecast_tensor* found, std::string_view found_name) {
    QuantizedSide& side = of_columns ? v.out.columnwise : v.out.rowwise;
    const std::int64_t rows = of_columns ? v.x.cols() : v.x.rows();
    side.amax_count = v.out.type.row_scaled ? rows : 1;
    if (v.options.global == GlobalScale::none) {  // an address, and neither read nor written
      side.amax = static_cast<float*>(side.data);
      return {};
    }
    const TensorName name{kName, given != nullptr ? "amax" : found_name};
    DIECAST_TRY(side.amax, floats_of(given != nullptr ? given : found, side.amax_count, name));
    return {};
  }
  static Result<void> read_block_amaxes(Views& v, const Tensors& t) {
    const std::int64_t rows = v.x.rows(), cols = v.x.cols();
    const bool square = v.out.type.square;
    const auto count = [&](std::int64_t along, std::int64_t across) {
      return capped_product(square ? ceil_div(along, 16) : along, ceil_div(across, 16));
    };
    BlockAmaxes& to = v.options.block_amax;
    DIECAST_TRY(to.rowwise,
                floats_if_given(t.block_amax, count(rows, cols), {kName, "block_amax"}));
    DIECAST_TRY(to.columnwise,
                floats_if_given(t.block_amax_t, count(cols, rows), {kName, "block_amax_t"}));
    return {};
  }

  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const Tensor x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(const QuantizedType type, nvfp4_type(o, kName));
    DIECAST_TRY(const Sides sides, read_word<Sides>(o.direction, kName, "direction"));
    const bool given = t.amax != nullptr || t.encode != nullptr || t.decode != nullptr;
    const bool given_t =
        given || t.amax_t != nullptr || t.encode_t != nullptr || t.decode_t != nullptr;
    const bool finds = o.block_scales_alone == 0;
    if (has_rows(sides)) DIECAST_CHECK(add_side(out, type, x.shape, false, finds && !given));
    if (has_columns(sides)) DIECAST_CHECK(add_side(out, type, x.shape, true, finds && !given_t));
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties& device) {
    auto request = Prepared::Request::of(v.x, v.out, v.options);
    if (device.cc == 0) request.cols = 0;
    return request;
  }
  static Result<void> check(const Views& v) { return check_quantize_nvfp4(v.x, v.out); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::quantize_nvfp4(runtime, v.x, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.out, stream, v.options.block_amax, v.options.rng_state);
  }
  static void addresses(Views& v, auto&& visit) {
    each_address(v.x, visit), each_address(v.out, visit);
    visit(v.options.block_amax.rowwise), visit(v.options.block_amax.columnwise);
    visit(v.options.rng_state);
  }
};

struct BoundDequantizeNvfp4 : line::dequantize_nvfp4 {
  using Prepared = PreparedDequantizeNvfp4;
  struct Views {
    QuantizedTensor x;
    Tensor out;
    DequantizeNvfp4Options options;
  };

  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.out, tensor_of(t.out, {kName, "out"}, t.device_rows));
    DIECAST_TRY(v.x.type, nvfp4_type(o, kName));
    DIECAST_CHECK(read_source(v, t, o, kName));
    if ((t.amax == nullptr) == (t.decode == nullptr)) {
      return Error{ErrorCode::invalid_argument,
                   cat(kName, ": ", t.amax == nullptr ? "neither" : "both", " of amax and decode",
                       t.amax == nullptr ? " is given" : " are given"),
                   "pass the amax that the codes were made with, or the decode scale"};
    }
    v.options.form = t.amax != nullptr ? GlobalForm::amax : GlobalForm::decode;
    QuantizedSide& side = v.options.columnwise ? v.x.columnwise : v.x.rowwise;
    side.amax_count = !v.x.type.row_scaled ? 1 : v.options.columnwise ? v.out.cols() : v.out.rows();
    DIECAST_TRY(side.amax, floats_of(t.amax != nullptr ? t.amax : t.decode, side.amax_count,
                                     {kName, t.amax != nullptr ? "amax" : "decode"}));
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const FloatType type, read_word<FloatType>(o.dtype, kName, "dtype"));
    DIECAST_CHECK(bytes_of(t.data, {kName, "data"}));
    DIECAST_TRY(const Shape shape, unquantized_shape(*t.data, Format::nvfp4, o.columnwise != 0,
                                                     o.rows, o.cols, kName));
    out.add("out", *parse_dtype(word(type)), shape);
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.x, v.out, v.options);
  }
  static Result<void> check(const Views& v) {
    return check_dequantize_nvfp4(v.x, v.out, v.options.columnwise);
  }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::dequantize_nvfp4(runtime, v.x, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.out, stream);
  }
  static void addresses(Views& v, auto&& visit) {
    each_address(v.x, visit), each_address(v.out, visit);
  }
};

struct BoundFp4Dequantize : line::fp4_dequantize {
  using Prepared = PreparedDequantizeNvfp4;
  struct Views {
    Tensor packed, scale, out;
    const float* decode = nullptr;
    Fp4DequantizeOptions options;
  };

  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.packed, view_as(t.data, DType::u8, {kName, "data"}));
    DIECAST_TRY(v.scale, view_as(t.scale, DType::e4m3, {kName, "scale"}));
    DIECAST_TRY(v.decode, floats_of(t.decode, 1, {kName, "decode"}));
    DIECAST_TRY(v.out, tensor_of(t.out, {kName, "out"}));
    DIECAST_TRY(const std::int64_t block, read_count(o.block_size, 1024, kName, "block_size"));
    DIECAST_TRY(const std::int64_t tile, read_count(o.tile_size, 1024, kName, "tile_size"));
    v.options.block_size = static_cast<int>(block);
    v.options.tile_size = static_cast<int>(tile);
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const FloatType type, read_word<FloatType>(o.dtype, kName, "dtype"));
    DIECAST_TRY(const Tensor packed, view_as(t.data, DType::u8, {kName, "data"}));
    out.add("out", *parse_dtype(word(type)), with_last(packed.shape, packed_codes(*t.data)));
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.packed, v.scale, v.out, v.options);
  }
  static Result<void> check(const Views& v) {
    return check_fp4_dequantize(v.packed, v.scale, v.decode, v.out, v.options);
  }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::fp4_dequantize(runtime, v.packed, v.scale, v.decode, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.packed, v.scale, v.decode, v.out, stream);
  }
};

}  // namespace

const BoundOp& bound::fp4_dequantize() { return bound_op<BoundFp4Dequantize>(); }
const BoundOp& bound::quantize_nvfp4() { return bound_op<BoundQuantizeNvfp4>(); }
const BoundOp& bound::dequantize_nvfp4() { return bound_op<BoundDequantizeNvfp4>(); }

}  // namespace diecast::c
