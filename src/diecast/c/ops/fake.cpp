// Amaxes and fake quantization as the C interface has them.
#include <diecast/base/text.h>
#include <diecast/c/op.h>
#include <diecast/ops/amax/amax.h>
#include <diecast/ops/fake/fp4_fake_quant.h>

#include <algorithm>

namespace diecast::c {
namespace {

struct BoundAmax : line::amax {
  using Prepared = PreparedAmax;
  struct Views {
    Tensor x;
    float* result = nullptr;
    AmaxOptions options;
  };

  static Result<Shape> result_shape(const Tensor& x, const AmaxOptions& options) {
    switch (options.per) {
      case AmaxPer::tensor:
        return Shape{1};
      case AmaxPer::row:
        return Shape{x.rows()};
      case AmaxPer::column:
        return Shape{x.cols()};
      case AmaxPer::block:
        if (options.block > 0) return Shape{x.rows(), ceil_div(x.cols(), options.block)};
        break;
      case AmaxPer::tile:
        return Shape{ceil_div(x.rows(), 16), ceil_div(x.cols(), 16)};
    }
    return Error{ErrorCode::value_not_allowed, cat(kName, ": block = ", options.block),
                 "blocks have 8, 16, 32, 64 or 128 elements"};
  }
  static Result<AmaxOptions> read_options(const Options& o) {
    AmaxOptions out;
    DIECAST_TRY(out.per, read_word<AmaxPer>(o.per, kName, "per"));
    DIECAST_TRY(out.nans, read_word<AmaxNans>(o.nans, kName, "nans"));
    DIECAST_TRY(out.transform, read_word<AmaxTransform>(o.transform, kName, "transform"));
    DIECAST_TRY(const std::int64_t mask, read_count(o.sign_mask, 0xFFFF, kName, "sign_mask"));
    DIECAST_TRY(const std::int64_t block, read_count(o.block, 128, kName, "block"));
    out.sign_mask = static_cast<std::uint16_t>(mask);
    out.block = static_cast<int>(block);
    out.accumulate = o.accumulate != 0;
    return out;
  }
  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.x, tensor_of(t.x, {kName, "x"}, t.device_rows));
    DIECAST_TRY(v.options, read_options(o));
    DIECAST_TRY(const Shape shape, result_shape(v.x, v.options));
    DIECAST_TRY(const std::int64_t count, shape.elements());
    DIECAST_TRY(v.result, floats_of(t.out, count, {kName, "out"}));
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const Tensor x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(const AmaxOptions options, read_options(o));
    if (options.accumulate && t.out == nullptr) {
      return Error{ErrorCode::missing_buffer, cat(kName, ": there is no out to accumulate in"),
                   "pass out, or leave accumulate off"};
    }
    DIECAST_TRY(const Shape shape, result_shape(x, options));
    out.add("out", DType::f32, shape);
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.x, v.options);
  }
  static Result<void> check(const Views& v) {
    return Prepared::Request::of(v.x, v.options).check(v.x, v.result, v.options.accumulate);
  }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::amax(runtime, v.x, v.result, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.result, v.options.accumulate, stream);
  }
  static void addresses(Views& v, auto&& visit) {
    each_address(v.x, visit);
    visit(v.result);
  }
};

// Where the blocks' global amax is: given, or found in scratch.
template <class Tensors, class Options>
Result<Fp4ScaleOptions> scale_options(const Tensors& t, const Options& o, std::string_view op) {
  Fp4ScaleOptions out;
  out.quantize_block_scales = o.unrounded == 0;
  DIECAST_TRY(out.fp8, read_word<Fp8Conversion>(o.fp8, op, "fp8"));
  DIECAST_TRY(out.global_amax, floats_if_given(t.global_amax, 1, {op, "global_amax"}));
  DIECAST_TRY(out.scratch, floats_if_given(t.scratch, 1, {op, "scratch"}));
  return out;
}
// The same for a prepared op.
float* global_of(const Fp4ScaleOptions& options) {
  if (!options.quantize_block_scales) return nullptr;
  return options.global_amax != nullptr ? const_cast<float*>(options.global_amax) : options.scratch;
}
template <class Tensors, class Options>
void add_scratch(const Tensors& t, const Options& o, Outputs& out) {
  if (t.global_amax == nullptr && o.unrounded == 0) out.add("scratch", DType::f32, Shape{1});
}

struct BoundComputeFp4Scales : line::compute_fp4_scales {
  using Prepared = PreparedComputeFp4Scales;
  struct Views {
    Tensor amax, out;
    Fp4ScaleOptions options;
  };

  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.amax, tensor_of(t.amax, {kName, "amax"}));
    DIECAST_TRY(v.out, tensor_of(t.out, {kName, "out"}));
    DIECAST_TRY(v.options, scale_options(t, o, kName));
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const Tensor amax, tensor_of(t.amax, {kName, "amax"}));
    out.add("out", DType::f32, amax.shape);
    add_scratch(t, o, out);
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.options);
  }
  static Result<void> check(const Views& v) { return check_compute_fp4_scales(v.amax, v.out); }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::compute_fp4_scales(runtime, v.amax, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.amax, global_of(v.options), v.out, stream);
  }
};

struct BoundStaticFakeQuant : line::static_blockwise_fp4_fake_quant {
  using Prepared = PreparedStaticFp4FakeQuant;
  struct Views {
    Tensor x, amax, out;
    Fp4ScaleOptions options;
  };

  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.x, tensor_of(t.x, {kName, "x"}));
    DIECAST_TRY(v.amax, tensor_of(t.amax, {kName, "amax"}));
    DIECAST_TRY(v.out, tensor_of(t.out, {kName, "out"}));
    DIECAST_TRY(v.options, scale_options(t, o, kName));
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options& o, Outputs& out) {
    DIECAST_TRY(const Tensor x, tensor_of(t.x, {kName, "x"}));
    out.add("out", x.dtype, x.shape);
    add_scratch(t, o, out);
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    const std::int64_t blocks = elements(v.amax);
    const std::int64_t block = blocks == 0 ? 16 : elements(v.x) / blocks;
    return Prepared::Request::of(v.x, v.out, static_cast<int>(std::min(block, std::int64_t{256})),
                                 v.options);
  }
  static std::int64_t elements(const Tensor& tensor) {
    return capped_product(tensor.rows(), tensor.cols());
  }
  static Result<void> check(const Views& v) {
    return check_static_blockwise_fp4_fake_quant(v.x, v.amax, v.out);
  }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::static_blockwise_fp4_fake_quant(runtime, v.x, v.amax, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.amax, global_of(v.options), v.out, stream);
  }
};

struct BoundFakeQuantBlock : line::fp4_fake_quant_block {
  using Prepared = PreparedFp4FakeQuantBlock;
  struct Views {
    Tensor x, out;
    const float* global_amax = nullptr;
    Fp4FakeQuantBlockOptions options;
  };

  static Result<Views> views(const Tensors& t, const Options& o) {
    Views v;
    DIECAST_TRY(v.x, tensor_of(t.x, {kName, "x"}, t.device_rows));
    DIECAST_TRY(v.out, tensor_of(t.out, {kName, "out"}));
    DIECAST_TRY(v.global_amax, floats_of(t.global_amax, 1, {kName, "global_amax"}));
    DIECAST_TRY(const std::int64_t block, read_count(o.block_size, 128, kName, "block_size"));
    v.options.block_size = static_cast<int>(block);
    return v;
  }
  static Result<void> outputs(const Tensors& t, const Options&, Outputs& out) {
    DIECAST_TRY(const Tensor x, tensor_of(t.x, {kName, "x"}));
    out.add("out", x.dtype, x.shape);
    return {};
  }
  static Prepared::Request request(const Views& v, const DeviceProperties&) {
    return Prepared::Request::of(v.x, v.out, v.options.block_size);
  }
  static Result<void> check(const Views& v) {
    return check_fp4_fake_quant_block(v.x, v.out, v.options.block_size);
  }
  static Result<void> call(Runtime& runtime, const std::shared_ptr<Device>& device, Views& v,
                           Stream stream) {
    v.options.device = device;
    return diecast::fp4_fake_quant_block(runtime, v.x, v.global_amax, v.out, v.options, stream);
  }
  static Result<void> run(const Prepared& prepared, const Views& v, Stream stream) {
    return prepared.run(v.x, v.global_amax, v.out, stream);
  }
};

}  // namespace

const BoundOp& bound::amax() { return bound_op<BoundAmax>(); }
const BoundOp& bound::compute_fp4_scales() { return bound_op<BoundComputeFp4Scales>(); }
const BoundOp& bound::static_blockwise_fp4_fake_quant() { return bound_op<BoundStaticFakeQuant>(); }
const BoundOp& bound::fp4_fake_quant_block() { return bound_op<BoundFakeQuantBlock>(); }

}  // namespace diecast::c
