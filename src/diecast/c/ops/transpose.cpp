// Transposes of codes as the C interface has them.
#include <diecast/base/text.h>
#include <diecast/c/op.h>
#include <diecast/c/ops/shapes.h>
#include <diecast/ops/layout/transpose_nvfp4.h>

namespace diecast::c {
namespace {

struct BoundTransposeCodes : line::transpose_codes {
  using Prepared = PreparedTransposeCodes;
  struct Views {
    const void* codes = nullptr;
    void* transposed = nullptr;
    std::int64_t rows = 0, cols = 0;
    int pad = 16;
  };

  static std::int64_t padded(std::int64_t codes, int pad) {
    return capped_product(ceil_div(codes, pad), pad) / 2;
  }
  static Result<Views> read(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(const DenseBytes codes, bytes_of(t.data, {kName, "data"}));
    v.codes = codes.data;
    v.pad = o.pad == 2 ? 2 : 16;
    if (o.pad != v.pad) {
      return Error{ErrorCode::value_not_allowed, cat(kName, ": pad = ", o.pad),
                   "rows are padded to 2 or 16 codes"};
    }
    const Shape shape = shape_of(*t.data);
    v.rows = o.rows == 0 ? shape.rows() : o.rows;
    v.cols = o.cols == 0 ? packed_codes(*t.data) : o.cols;
    if (v.rows < 0 || v.cols < 0 || capped_product(v.rows, padded(v.cols, v.pad)) > codes.count) {
      return Error{ErrorCode::shape_mismatch,
                   cat(kName, ": data has ", codes.count, " bytes, too few for ", v.rows, "x",
                       v.cols, " codes"),
                   "pass the rows and cols that data has"};
    }
    DIECAST_CHECK(check_row_bytes(*t.data, padded(v.cols, v.pad), {kName, "data"}));
    return v;
  }
  static Result<Views> views(const Tensors& t, const Options& o) {
    DIECAST_TRY(Views v, read(t, o));
    DIECAST_TRY(const DenseBytes out, bytes_of(t.out, {kName, "out"}));
    const std::int64_t need = capped_product(v.cols, padded(v.rows, v.pad));
    if (out.count < need) {
      return Error{ErrorCode::shape_mismatch,
                   cat(kName, ": out has ", out.count, " bytes, not ", need),
                   cat("pass ", need, " bytes")};
    }
    DIECAST_CHECK(check_row_bytes(*t.out, padded(v.rows, v.pad), {kName, "out"}));
    v.transposed = out.data;
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const Views v, read(t, o));
    out.add("out", DType::u8, Shape{v.cols, padded(v.rows, v.pad)});
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.codes, v.rows, v.cols, v.pad, v.transposed);
  }
  static Result<void> check(const Views& v) {
    return check_transpose_codes(v.codes, v.rows, v.cols, v.pad, v.transposed);
  }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, const Views& v,
                           Stream stream) {
    return diecast::transpose_codes(runtime, v.codes, v.rows, v.cols, v.pad, v.transposed, {device},
                                    stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.codes, v.rows, v.cols, v.transposed, stream);
  }
};

struct BoundTransposeNvfp4 : line::transpose_nvfp4 {
  using Prepared = PreparedTransposeNvfp4;
  struct Views {
    QuantizedTensor x;
  };

  static Result<QuantizedTensor> read(const Tensors& t, const Options& o) {
    QuantizedTensor x;
    x.type.square = true;
    DIECAST_TRY(x.type.layout, read_word<ScaleLayout>(o.layout, kName, "layout"));
    DIECAST_CHECK(bytes_of(t.data, {kName, "data"}));
    DIECAST_TRY(x.shape, unquantized_shape(*t.data, Format::nvfp4, false, 0, o.cols, kName));
    DIECAST_CHECK(read_side(x, false, t.data, t.scale, kName, "data", "scale"));
    DIECAST_TRY(x.rowwise.amax, floats_of(t.amax, 1, {kName, "amax"}));
    x.rowwise.amax_count = 1;
    return x;
  }
  static Result<Views> views(const Tensors& t, const Options& o) {
    DIECAST_TRY(QuantizedTensor x, read(t, o));
    DIECAST_CHECK(
        read_side(x, true, t.out_data_t, t.out_scale_t, kName, "out_data_t", "out_scale_t"));
    DIECAST_TRY(x.columnwise.amax, floats_of(t.out_amax_t, 1, {kName, "out_amax_t"}));
    x.columnwise.amax_count = 1;
    return Views{x};
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const QuantizedTensor x, read(t, o));
    return add_side(out, x.type, x.shape, true, true);
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return {.layout = v.x.type.layout};
  }
  static Result<void> check(const Views& v) { return check_transpose_nvfp4(v.x); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, const Views& v,
                           Stream stream) {
    return diecast::transpose_nvfp4(runtime, v.x, {device}, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, stream);
  }
};

}  // namespace

const BoundOp& bound::transpose_codes() { return bound_op<BoundTransposeCodes>(); }
const BoundOp& bound::transpose_nvfp4() { return bound_op<BoundTransposeNvfp4>(); }

}  // namespace diecast::c
