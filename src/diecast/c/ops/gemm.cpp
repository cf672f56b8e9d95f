// Products and layouts as the C interface has them.
#include <diecast/base/text.h>
#include <diecast/c/op.h>
#include <diecast/c/ops/shapes.h>
#include <diecast/ops/gemm/cublaslt/gemm_cublaslt.h>
#include <diecast/ops/gemm/gemm_nvfp4.h>
#include <diecast/ops/gemm/gemm_unpacked.h>
#include <diecast/ops/layout/arrange_scales.h>

#include <algorithm>
#include <cmath>

namespace diecast::c {
namespace {

// An operand of codes [rows, K / 2].
struct OperandNames {
  std::string_view data, scale, amax;
};
Result<QuantizedTensor> operand(const diecast_tensor* data, const diecast_tensor* scale,
                                const diecast_tensor* amax, const QuantizedType& type,
                                const OperandNames& names, std::string_view op) {
  QuantizedTensor out;
  out.type = type;
  DIECAST_CHECK(type.check());
  DIECAST_CHECK(bytes_of(data, {op, names.data}));
  DIECAST_TRY(out.shape, unquantized_shape(*data, type.format, false, 0, 0, op));
  DIECAST_CHECK(read_side(out, false, data, scale, op, names.data, names.scale));
  out.rowwise.amax_count = type.row_scaled ? out.rows() : 1;
  DIECAST_TRY(out.rowwise.amax, floats_of(amax, out.rowwise.amax_count, {op, names.amax}));
  return out;
}

struct BoundGemmNvfp4 : line::gemm_nvfp4 {
  using Prepared = PreparedGemmNvfp4;
  struct Views {
    QuantizedTensor a, b;
    Tensor out;
    GemmNvfp4Options options;
  };

  static Result<void> read_operands(Views& v, const Tensors& t, const Options& o) {
    QuantizedType type;
    DIECAST_TRY(type.layout, read_word<ScaleLayout>(o.layout, kName, "layout"));
    const auto of = [&](bool row_scaled, std::int64_t bound) {
      QuantizedType one = type;
      one.row_scaled = row_scaled;
      one.e4m3_bound = static_cast<std::uint16_t>(bound);
      return one;
    };
    DIECAST_TRY(const std::int64_t a_bound, read_count(o.a_bound, 448, kName, "a_bound"));
    DIECAST_TRY(const std::int64_t b_bound, read_count(o.b_bound, 448, kName, "b_bound"));
    DIECAST_TRY(v.a, operand(t.a, t.a_scale, t.a_amax, of(o.a_row_scaled != 0, a_bound),
                             {"a", "a_scale", "a_amax"}, kName));
    DIECAST_TRY(v.b, operand(t.b, t.b_scale, t.b_amax, of(o.b_row_scaled != 0, b_bound),
                             {"b", "b_scale", "b_amax"}, kName));
    DIECAST_TRY(const GemmPath path, read_word<GemmPath>(o.path, kName, "path"));
    v.options.path = word(path);
    if (std::isnan(o.alpha))
      return Error{ErrorCode::value_not_allowed, cat(kName, ": alpha is NaN"), "pass a number"};
    v.options.alpha = static_cast<float>(o.alpha);
    v.options.accumulate = o.accumulate != 0;
    if (t.bias == nullptr) return {};
    DIECAST_TRY(v.options.bias, tensor_of(t.bias, {kName, "bias"}));
    return {};
  }
  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_CHECK(read_operands(v, t, o));
    DIECAST_TRY(v.out, tensor_of(t.out, {kName, "out"}));
    if (t.scratch != nullptr) {
      DIECAST_TRY(const DenseBytes scratch, bytes_of(t.scratch, {kName, "scratch"}));
      v.options.scratch = scratch.data;
      v.options.scratch_bytes = scratch.count;
    }
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    Views v;
    DIECAST_CHECK(read_operands(v, t, o));
    DIECAST_TRY(const FloatType type, read_word<FloatType>(o.dtype, kName, "dtype"));
    if (v.options.accumulate && t.out == nullptr) {
      return Error{ErrorCode::missing_buffer, cat(kName, ": there is no out to accumulate in"),
                   "pass out, or leave accumulate off"};
    }
    v.out.dtype = *parse_dtype(word(type));
    v.out.shape = Shape{v.a.rows(), v.b.rows()};
    out.add("out", v.out.dtype, v.out.shape);
    if (v.options.path == "own") return {};
    if (t.out != nullptr) v.out.dtype = dtype_of(*t.out).value_or(v.out.dtype);
    out.add("scratch", DType::u8, Shape{scratch_bytes(v)});
    return {};
  }
  // As many as the paths want that may be taken.
  static std::int64_t scratch_bytes(const Views& v) {
    const std::int64_t rows = v.out.rows(), cols = v.out.cols();
    const auto library = GemmCublasltRequest::of(v.a, v.b, v.out, v.options);
    const std::int64_t by_library = library.scratch_bytes(rows, cols);
    const std::int64_t unpacked = GemmUnpackedRequest::scratch_bytes(rows, cols, v.a.cols());
    if (v.options.path == "cublaslt") return by_library;
    return v.options.path == "unpacked" ? unpacked : std::max(by_library, unpacked);
  }
  static Prepared::Request request(const Views& v, const DeviceProperties& device) {
    return Prepared::Request::of(v.a, v.b, v.out, v.options, device);
  }
  static Result<void> check(const Views& v) { return check_gemm(v.a, v.b, v.out, v.options); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::gemm_nvfp4(runtime, v.a, v.b, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.a, v.b, v.out, v.options, stream);
  }
};

struct BoundArrangeScales : line::arrange_scales {
  using Prepared = PreparedArrangeScales;
  struct Views {
    ScaleArray from, to;
    ArrangeScalesOptions options;
  };

  static Result<ScaleArray> read_from(const Tensors& t, const Options& o) {
    ScaleArray from;
    DIECAST_TRY(from.layout, read_word<ScaleLayout>(o.from_layout, kName, "from_layout"));
    DIECAST_TRY(const ScaleBytes bytes, scales_of(t.scale, from.layout, {kName, "scale"}));
    const Shape shape = shape_of(*t.scale);
    DIECAST_TRY(from.batch, read_count(o.batch, std::int64_t{1} << 31, kName, "batch"));
    const bool known = from.layout == ScaleLayout::linear;
    from.cols = o.cols != 0 || !known ? o.cols : shape.cols();
    from.rows =
        o.rows != 0 || !known ? o.rows : shape.rows() / std::max(from.batch, std::int64_t{1});
    from.data = bytes.data;
    from.stride = bytes.stride;
    if (known) DIECAST_CHECK(check_row_bytes(*t.scale, from.cols, {kName, "scale"}));
    DIECAST_CHECK(holds(from, bytes.count, "scale"));
    return from;
  }
  static Result<std::int64_t> bytes_for(const ScaleArray& array) {
    DIECAST_TRY(const std::int64_t one, quantized_scale_bytes(array.layout, array.rows,
                                                              capped_product(array.cols, 16), 16));
    return capped_product(one, array.batch);
  }
  static Result<void> holds(const ScaleArray& array, std::int64_t count, std::string_view name) {
    DIECAST_TRY(const std::int64_t need, bytes_for(array));
    if (count >= need) return {};
    return Error{ErrorCode::shape_mismatch,
                 cat(kName, ": ", name, " has ", count, " bytes; ", array.batch, " matrices of ",
                     array.rows, "x", array.cols, " scales need ", need),
                 cat("pass ", need, " bytes, and the rows and cols that they hold")};
  }
  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.from, read_from(t, o));
    DIECAST_TRY(const TiledFirst layout, read_word<TiledFirst>(o.layout, kName, "layout"));
    v.to = v.from;
    v.to.layout = *parse_word<ScaleLayout>(word(layout));
    DIECAST_TRY(const ScaleBytes out, scales_of(t.out, v.to.layout, {kName, "out"}));
    v.to.data = out.data;
    v.to.stride = out.stride;
    if (v.to.layout == ScaleLayout::linear)
      DIECAST_CHECK(check_row_bytes(*t.out, v.to.cols, {kName, "out"}));
    DIECAST_CHECK(holds(v.to, out.count, "out"));
    DIECAST_TRY(v.options.old_decode,
                floats_if_given(t.old_decode, v.from.batch, {kName, "old_decode"}));
    DIECAST_TRY(v.options.new_decode,
                floats_if_given(t.new_decode, v.from.batch, {kName, "new_decode"}));
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(ScaleArray to, read_from(t, o));
    DIECAST_TRY(const TiledFirst layout, read_word<TiledFirst>(o.layout, kName, "layout"));
    to.layout = *parse_word<ScaleLayout>(word(layout));
    const std::int64_t rows = scale_tile_rows(to.layout), cols = scale_tile_cols(to.layout);
    out.add("out", dtype_of(*t.scale).value_or(DType::u8) == DType::e8m0 ? DType::e8m0 : DType::u8,
            Shape{to.batch * ceil_div(to.rows, rows) * rows, ceil_div(to.cols, cols) * cols});
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return {.from = v.from.layout,
            .to = v.to.layout,
            .tiles = false,
            .rescale = v.options.old_decode != nullptr || v.options.new_decode != nullptr};
  }
  static Result<void> check(const Views& v) { return check_arrange_scales(v.from, v.to, false); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::arrange_scales(runtime, v.from, v.to, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.from, v.to, stream, v.options.old_decode, v.options.new_decode);
  }
};

}  // namespace

const BoundOp& bound::gemm_nvfp4() { return bound_op<BoundGemmNvfp4>(); }
const BoundOp& bound::arrange_scales() { return bound_op<BoundArrangeScales>(); }

}  // namespace diecast::c
