// ModelOpt's fake quantization: a maximum where none is given, and one launch.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/fake/fp4_fake_quant.h>

#include <algorithm>
#include <bit>

namespace diecast {
namespace {

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

Result<void> check_block(std::int64_t block) {
  if (is_block(block)) return {};
  return wrong_block("fp4_fake_quant_block: block_size = ", block);
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

AmaxRequest largest_amax() {
  return {.in = DType::f32, .rows = RowsClass::any, .nans = AmaxNans::propagate};
}

std::vector<KernelWanted> kernels_with_amax(KernelWanted own, bool finds_amax,
                                            const DeviceProperties& device) {
  std::vector<KernelWanted> all = {std::move(own)};
  if (!finds_amax) return all;
  for (KernelWanted& each : largest_amax().kernels(device)) all.push_back(std::move(each));
  return all;
}

// Of x and out the one that a request for both does not hold for, if any.
RequestedRows of_either(const Tensor& x, const Tensor& out, RowsClass rows) {
  if (rows_class(x) > rows) return {"x", &x, rows};
  return {"out", &out, rows};
}

}  // namespace

ComputeFp4ScalesRequest ComputeFp4ScalesRequest::of(const Fp4ScaleOptions& options) {
  if (!options.quantize_block_scales) return {.quantize = false, .global_given = true};
  return {.fp8 = options.fp8, .global_given = options.global_amax != nullptr};
}

std::vector<KernelWanted> ComputeFp4ScalesRequest::kernels(const DeviceProperties& device) const {
  return kernels_with_amax(kernel(device), finds_amax(), device);
}

Result<PreparedAmax> prepare_largest_amax(Runtime& runtime, const std::shared_ptr<Device>& device) {
  return PreparedAmax::prepare(runtime, device, largest_amax());
}

Result<void> check_compute_fp4_scales(const Tensor& amax, const Tensor& scales) {
  DIECAST_CHECK(flat_f32(amax, "compute_fp4_scales: amax"));
  DIECAST_CHECK(flat_f32(scales, "compute_fp4_scales: scales"));
  if (amax.shape == scales.shape) return {};
  return other_shape(PreparedComputeFp4Scales::kName, "scales", scales.shape, amax.shape);
}

Result<void> PreparedComputeFp4Scales::run(const Tensor& amax, float* global_amax,
                                           const Tensor& scales, Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_compute_fp4_scales(amax, scales));
  const Tensor from{amax.data, amax.dtype, Shape{amax.rows() * amax.cols()}, 0, nullptr};
  if (amax_) DIECAST_CHECK(amax_->run(from, global_amax, false, stream));
  return launch(args::ComputeFp4Scales{.amax = amax.data,
                                       .global_amax = global_amax,
                                       .scales = scales.data,
                                       .count = from.cols()},
                stream);
}

Result<void> compute_fp4_scales(Runtime& runtime, const Tensor& amax, const Tensor& scales,
                                const Fp4ScaleOptions& options, Stream stream) {
  DIECAST_TRY(float* const global, global_of(PreparedComputeFp4Scales::kName, options));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = ComputeFp4ScalesRequest::of(options);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedComputeFp4Scales>(runtime, device, request, stream));
  return prepared->run(amax, global, scales, stream);
}

StaticFp4FakeQuantRequest StaticFp4FakeQuantRequest::of(const Tensor& x, const Tensor& out,
                                                        int block, const Fp4ScaleOptions& options) {
  const auto scales = ComputeFp4ScalesRequest::of(options);
  return {.in = x.dtype,
          .out = out.dtype,
          .aligned = is_aligned(x) && is_aligned(out),
          .scale = scales.quantize ? Fp4Scale::quantized : Fp4Scale::unquantized,
          .block = block,
          .fp8 = scales.fp8,
          .global_given = scales.global_given};
}

StaticFp4FakeQuantRequest StaticFp4FakeQuantRequest::of(const Tensor& x, const Tensor& out) {
  const bool whole_eights = x.rows() % 8 * (x.cols() % 8) % 8 == 0;
  return {.in = x.dtype,
          .out = out.dtype,
          .aligned = is_aligned(x) && is_aligned(out) && whole_eights,
          .scale = Fp4Scale::one,
          .global_given = true};
}

std::vector<KernelWanted> StaticFp4FakeQuantRequest::kernels(const DeviceProperties& device) const {
  return kernels_with_amax(kernel(device), finds_amax(), device);
}

Result<void> check_static_blockwise_fp4_fake_quant(const Tensor& x, const Tensor& amax,
                                                   const Tensor& out) {
  DIECAST_TRY(const Tensor elements, flat(x, "static_blockwise_fp4_fake_quant: x"));
  DIECAST_TRY(const Tensor blocks, flat_f32(amax, "static_blockwise_fp4_fake_quant: amax"));
  DIECAST_CHECK(block_of(elements, blocks));
  DIECAST_CHECK(flat(out, "static_blockwise_fp4_fake_quant: out"));
  if (x.shape == out.shape) return {};
  return other_shape(PreparedStaticFp4FakeQuant::kName, "out", out.shape, x.shape);
}

Result<void> PreparedStaticFp4FakeQuant::run(const Tensor& x, const Tensor& amax,
                                             float* global_amax, const Tensor& out,
                                             Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_TRY(const Tensor from, flat(x, "static_blockwise_fp4_fake_quant: x"));
  DIECAST_TRY(const Tensor to, flat(out, "static_blockwise_fp4_fake_quant: out"));
  if (x.shape != out.shape) return other_shape(kName, "out", out.shape, x.shape);
  Tensor scales;
  if (request_.scale != Fp4Scale::one) {
    DIECAST_TRY(scales, flat_f32(amax, "static_blockwise_fp4_fake_quant: amax"));
    if (checked_product(scales.cols(), request_.block) != from.cols())
      return other_count(from, scales, request_.block);
  }
  if (amax_) DIECAST_CHECK(amax_->run(scales, global_amax, false, stream));
  RequestedRows requested =
      of_either(from, to, request_.aligned ? RowsClass::apart : RowsClass::any);
  requested.length = "count", requested.any = "aligned = false";
  return launch(args::StaticBlockwiseFp4FakeQuant{.x = tensor_argument(from),
                                                  .amax = scales.data,
                                                  .global_amax = global_amax,
                                                  .out = tensor_argument(to),
                                                  .count = from.cols()},
                stream, requested);
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
  const auto request = StaticFp4FakeQuantRequest::of(x, out, static_cast<int>(block), options);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedStaticFp4FakeQuant>(runtime, device, request, stream));
  return prepared->run(x, amax, global, out, stream);
}

Result<void> static_blockwise_fp4_cast(Runtime& runtime, const Tensor& x, const Tensor& out,
                                       const Fp4CastOptions& options, Stream stream) {
  DIECAST_CHECK(flat(x, "static_blockwise_fp4_cast: x"));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = StaticFp4FakeQuantRequest::of(x, out);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedStaticFp4FakeQuant>(runtime, device, request, stream));
  return prepared->run(x, {}, nullptr, out, stream);
}

Fp4FakeQuantBlockRequest Fp4FakeQuantBlockRequest::of(const Tensor& x, const Tensor& out,
                                                      int block) {
  RowsClass rows = std::max(rows_class(x), rows_class(out));
  if (rows == RowsClass::dense && (block <= 0 || x.cols() % block != 0)) rows = RowsClass::apart;
  return {.in = x.dtype, .block = block, .rows = rows};
}

Result<void> check_fp4_fake_quant_block(const Tensor& x, const Tensor& out, std::int64_t block) {
  DIECAST_CHECK(check_block(block));
  DIECAST_CHECK(x.check("fp4_fake_quant_block: x"));
  DIECAST_CHECK(out.check("fp4_fake_quant_block: out"));
  if (x.device_rows == nullptr) DIECAST_CHECK(out.check_rows_known("fp4_fake_quant_block: out"));
  if (x.shape == out.shape) return {};
  return other_shape(PreparedFp4FakeQuantBlock::kName, "out", out.shape, x.shape);
}

Result<void> PreparedFp4FakeQuantBlock::run(const Tensor& x, const float* global_amax,
                                            const Tensor& out, Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_fp4_fake_quant_block(x, out, request_.block));
  RequestedRows requested = of_either(x, out, request_.rows);
  requested.cols = request_.cols;
  return launch(args::Fp4FakeQuantBlock{.x = tensor_argument(x),
                                        .global_amax = global_amax,
                                        .out = tensor_argument(out),
                                        .rows = rows_argument(x),
                                        .cols = x.cols()},
                stream, requested);
}

Result<void> fp4_fake_quant_block(Runtime& runtime, const Tensor& x, const float* global_amax,
                                  const Tensor& out, const Fp4FakeQuantBlockOptions& options,
                                  Stream stream) {
  DIECAST_CHECK(check_block(options.block_size));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = Fp4FakeQuantBlockRequest::of(x, out, options.block_size);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedFp4FakeQuantBlock>(runtime, device, request, stream));
  return prepared->run(x, global_amax, out, stream);
}

}  // namespace diecast
