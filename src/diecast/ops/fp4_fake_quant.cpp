// ModelOpt's fake quantization: a maximum where none is given, and one launch.
#include <diecast/base/text.h>
#include <diecast/ops/fp4_fake_quant.h>

#include <algorithm>
#include <bit>

namespace diecast {
namespace {

using ScalesRequest = PreparedComputeFp4Scales::Request;
using StaticRequest = PreparedStaticFp4FakeQuant::Request;

bool is_float(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}

// A dense tensor of a float type as one row. `name`: "compute_fp4_scales: amax".
Result<Tensor> flat(const Tensor& tensor, std::string_view name) {
  if (!is_float(tensor.dtype)) {
    return Error{ErrorCode::dtype_mismatch, cat(name, " is ", dtype_name(tensor.dtype)),
                 "pass bf16, f16 or f32"};
  }
  DIECAST_CHECK(tensor.check(name));
  DIECAST_CHECK(tensor.check_rows_known(name));
  if (tensor.rows() > 1 && tensor.stride() != tensor.cols()) {
    return Error{
        ErrorCode::shape_mismatch,
        cat(name, ": rows of ", tensor.cols(), " elements are ", tensor.stride(), " apart"),
        "pass a dense tensor: its blocks run over the ends of rows"};
  }
  DIECAST_TRY(const std::int64_t elements, tensor.shape.elements());
  return Tensor{tensor.data, tensor.dtype, Shape{elements}, 0, nullptr};
}

Result<Tensor> flat_f32(const Tensor& tensor, std::string_view name) {
  if (tensor.dtype != DType::f32) {
    return Error{ErrorCode::dtype_mismatch, cat(name, " is ", dtype_name(tensor.dtype)),
                 "pass f32"};
  }
  return flat(tensor, name);
}

Error other_shape(std::string_view op, std::string_view out, const Shape& have, const Shape& need) {
  return {ErrorCode::shape_mismatch, cat(op, ": ", out, " is ", have.text(), ", not ", need.text()),
          cat("pass ", out, " with shape ", need.text())};
}

bool is_block(std::int64_t block) {
  return block >= 8 && block <= 128 && std::has_single_bit(static_cast<std::uint64_t>(block));
}

Error wrong_block(std::string_view what, std::int64_t block) {
  return {ErrorCode::value_not_allowed, cat(what, block),
          "blocks have 8, 16, 32, 64 or 128 elements"};
}

Error other_count(const Tensor& x, const Tensor& amax, int block) {
  return {ErrorCode::shape_mismatch,
          cat(PreparedStaticFp4FakeQuant::kName, ": amax has ", amax.cols(), " entries for ",
              x.cols(), " elements of x in blocks of ", block),
          "numel(amax) * BLOCK = numel(x)"};
}

// Elements a block, 0 where there are none.
Result<std::int64_t> block_of(const Tensor& x, const Tensor& amax) {
  const std::int64_t elements = x.cols(), blocks = amax.cols();
  if (elements == 0 && blocks == 0) return 0;
  if (blocks == 0 || elements % blocks != 0) {
    return Error{ErrorCode::shape_mismatch,
                 cat(PreparedStaticFp4FakeQuant::kName, ": amax has ", blocks, " entries for ",
                     elements, " elements of x: no whole number of elements a block"),
                 "numel(amax) * BLOCK = numel(x)"};
  }
  const std::int64_t block = elements / blocks;
  if (is_block(block)) return block;
  return wrong_block(cat(PreparedStaticFp4FakeQuant::kName, ": amax has ", blocks, " entries for ",
                         elements, " elements of x: BLOCK = "),
                     block);
}

ScalesRequest scales_request(const Fp4ScaleOptions& options) {
  ScalesRequest request;
  request.quantize = options.quantize_block_scales;
  request.global_given = !request.quantize || options.global_amax != nullptr;
  request.fp8 = request.quantize ? options.fp8 : Fp8Conversion::eager;
  return request;
}

Result<float*> global_of(std::string_view op, const Fp4ScaleOptions& options) {
  if (!options.quantize_block_scales) return nullptr;
  if (options.global_amax != nullptr) return const_cast<float*>(options.global_amax);
  if (options.scratch != nullptr) return options.scratch;
  return Error{ErrorCode::missing_buffer, cat(op, ": neither global_amax nor scratch is given"),
               "pass global_amax, or 4 bytes of device memory as scratch to find it in"};
}

bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0;
}

std::string_view fp8_name(Fp8Conversion fp8) {
  return fp8 == Fp8Conversion::eager ? "eager" : "extension";
}

Result<std::optional<PreparedAmax>> amax_for(Runtime& runtime,
                                             const std::shared_ptr<Device>& device,
                                             const ScalesRequest& request) {
  std::optional<PreparedAmax> amax;
  if (request.global_given) return amax;
  PreparedAmax::Request largest;
  largest.in = DType::f32;
  largest.rows = RowsClass::any;
  largest.nans = AmaxNans::propagate;
  DIECAST_TRY(amax, PreparedAmax::prepare(runtime, device, largest));
  return amax;
}

// Of x and out the one that a request for both does not hold for, if any.
RequestedRows of_either(const Tensor& x, const Tensor& out, RowsClass rows) {
  if (rows_class(x) > rows) return {"x", &x, rows};
  return {"out", &out, rows};
}

KernelArgument floats(const float* data) { return KernelArgument::tensor(DType::f32, data); }

}  // namespace

std::uint64_t PreparedComputeFp4Scales::Request::word() const {
  return request_word(OpKind::compute_fp4_scales)
      .add<1>(quantize)
      .add<1>(global_given)
      .add<1>(fp8)
      .word();
}

Result<PreparedComputeFp4Scales> PreparedComputeFp4Scales::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  Bindings bindings;
  bindings.set("QUANTIZE", request.quantize).set("FP8", fp8_name(request.fp8));
  PreparedComputeFp4Scales prepared;
  DIECAST_TRY(prepared.amax_, amax_for(runtime, device, request));
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, kName, bindings));
  return prepared;
}

Result<void> PreparedComputeFp4Scales::run(const Tensor& amax, float* global_amax,
                                           const Tensor& scales, Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  DIECAST_TRY(const Tensor from, flat_f32(amax, "compute_fp4_scales: amax"));
  DIECAST_TRY(const Tensor to, flat_f32(scales, "compute_fp4_scales: scales"));
  if (amax.shape != scales.shape) return other_shape(kName, "scales", scales.shape, amax.shape);
  if (amax_) DIECAST_CHECK(amax_->run(from, global_amax, false, stream));
  const KernelArgument arguments[] = {tensor_argument(from), floats(global_amax),
                                      tensor_argument(to), cols_argument(from)};
  return launch_op(kName, *kernel_, arguments, stream);
}

Result<void> compute_fp4_scales(Runtime& runtime, const Tensor& amax, const Tensor& scales,
                                const Fp4ScaleOptions& options, Stream stream) {
  DIECAST_TRY(float* const global, global_of(PreparedComputeFp4Scales::kName, options));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  DIECAST_TRY(const auto prepared, prepared_once<PreparedComputeFp4Scales>(
                                       runtime, device, scales_request(options), stream));
  return prepared->run(amax, global, scales, stream);
}

std::uint64_t PreparedStaticFp4FakeQuant::Request::word() const {
  return request_word(OpKind::static_blockwise_fp4_fake_quant)
      .add<4>(in)
      .add<4>(out)
      .add<8>(block)
      .add<1>(aligned)
      .add<1>(scales.quantize)
      .add<1>(scales.global_given)
      .add<1>(scales.fp8)
      .word();
}

Result<PreparedStaticFp4FakeQuant> PreparedStaticFp4FakeQuant::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  Bindings bindings;
  bindings.set("ALIGNED", request.aligned).set("IN", request.in).set("OUT", request.out);
  PreparedStaticFp4FakeQuant prepared;
  prepared.block_ = request.block;
  prepared.aligned_ = request.aligned;
  if (request.block == 0) {
    bindings.set("SCALE", "one");
  } else {
    bindings.set("BLOCK", request.block).set("FP8", fp8_name(request.scales.fp8));
    bindings.set("SCALE", request.scales.quantize ? "quantized" : "unquantized");
    DIECAST_TRY(prepared.amax_, amax_for(runtime, device, request.scales));
  }
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, kName, bindings));
  return prepared;
}

Result<void> PreparedStaticFp4FakeQuant::run(const Tensor& x, const Tensor& amax,
                                             float* global_amax, const Tensor& out,
                                             Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  DIECAST_TRY(const Tensor from, flat(x, "static_blockwise_fp4_fake_quant: x"));
  DIECAST_TRY(const Tensor to, flat(out, "static_blockwise_fp4_fake_quant: out"));
  if (x.shape != out.shape) return other_shape(kName, "out", out.shape, x.shape);
  Tensor scales;
  if (block_ != 0) {
    DIECAST_TRY(scales, flat_f32(amax, "static_blockwise_fp4_fake_quant: amax"));
    if (checked_product(scales.cols(), block_) != from.cols())
      return other_count(from, scales, block_);
  }
  if (amax_) DIECAST_CHECK(amax_->run(scales, global_amax, false, stream));
  const KernelArgument arguments[] = {
      tensor_argument(from), floats(static_cast<const float*>(scales.data)), floats(global_amax),
      tensor_argument(to), cols_argument(from)};
  RequestedRows requested = of_either(from, to, aligned_ ? RowsClass::apart : RowsClass::any);
  requested.length = "count", requested.any = "aligned = false";
  return launch_op(kName, *kernel_, arguments, stream, requested);
}

Result<void> static_blockwise_fp4_fake_quant(Runtime& runtime, const Tensor& x, const Tensor& amax,
                                             const Tensor& out, const Fp4ScaleOptions& options,
                                             Stream stream) {
  DIECAST_TRY(float* const global, global_of(PreparedStaticFp4FakeQuant::kName, options));
  DIECAST_TRY(const Tensor elements, flat(x, "static_blockwise_fp4_fake_quant: x"));
  DIECAST_TRY(const Tensor blocks, flat_f32(amax, "static_blockwise_fp4_fake_quant: amax"));
  DIECAST_TRY(const std::int64_t block, block_of(elements, blocks));
  if (block == 0) return {};
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const StaticRequest request{x.dtype, out.dtype, static_cast<int>(block),
                              is_aligned(x) && is_aligned(out), scales_request(options)};
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedStaticFp4FakeQuant>(runtime, device, request, stream));
  return prepared->run(x, amax, global, out, stream);
}

Result<void> static_blockwise_fp4_cast(Runtime& runtime, const Tensor& x, const Tensor& out,
                                       const Fp4CastOptions& options, Stream stream) {
  DIECAST_TRY(const Tensor elements, flat(x, "static_blockwise_fp4_cast: x"));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const bool aligned = is_aligned(x) && is_aligned(out) && elements.cols() % 8 == 0;
  const StaticRequest request{x.dtype, out.dtype, 0, aligned, {false, true, Fp8Conversion::eager}};
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedStaticFp4FakeQuant>(runtime, device, request, stream));
  return prepared->run(x, {}, nullptr, out, stream);
}

std::uint64_t PreparedFp4FakeQuantBlock::Request::word() const {
  return request_word(OpKind::fp4_fake_quant_block)
      .add<4>(in)
      .add<8>(block)
      .add<2>(rows)
      .add<40>(cols)
      .word();
}

Result<PreparedFp4FakeQuantBlock> PreparedFp4FakeQuantBlock::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  Bindings bindings;
  bindings.set("COLS", request.cols).set("IN", request.in).set("BLOCK", request.block);
  bindings.set("ROWS", rows_class_name(request.rows));
  PreparedFp4FakeQuantBlock prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, kName, bindings));
  return prepared;
}

Result<void> PreparedFp4FakeQuantBlock::run(const Tensor& x, const float* global_amax,
                                            const Tensor& out, Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  DIECAST_CHECK(x.check("fp4_fake_quant_block: x"));
  DIECAST_CHECK(out.check("fp4_fake_quant_block: out"));
  if (x.device_rows == nullptr) DIECAST_CHECK(out.check_rows_known("fp4_fake_quant_block: out"));
  if (x.shape != out.shape) return other_shape(kName, "out", out.shape, x.shape);
  const KernelArgument arguments[] = {tensor_argument(x), floats(global_amax), tensor_argument(out),
                                      rows_argument(x), cols_argument(x)};
  RequestedRows requested = of_either(x, out, request_.rows);
  requested.cols = request_.cols;
  return launch_op(kName, *kernel_, arguments, stream, requested);
}

Result<void> fp4_fake_quant_block(Runtime& runtime, const Tensor& x, const float* global_amax,
                                  const Tensor& out, const Fp4FakeQuantBlockOptions& options,
                                  Stream stream) {
  if (!is_block(options.block_size)) {
    return wrong_block("fp4_fake_quant_block: block_size = ", options.block_size);
  }
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  RowsClass rows = std::max(rows_class(x), rows_class(out));
  if (rows == RowsClass::dense && x.cols() % options.block_size != 0) rows = RowsClass::apart;
  const PreparedFp4FakeQuantBlock::Request request{x.dtype, options.block_size, 0, rows};
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedFp4FakeQuantBlock>(runtime, device, request, stream));
  return prepared->run(x, global_amax, out, stream);
}

}  // namespace diecast
