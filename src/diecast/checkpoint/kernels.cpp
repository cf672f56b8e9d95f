// Pieces of a checkpoint through a device; see kernels.h.
#include <diecast/checkpoint/growing_buffer.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/checkpoint/vectors/device_kernels.h>

#include <diecast/ops/amax.h>
#include <diecast/ops/dequantize_nvfp4.h>
#include <diecast/ops/quantize_nvfp4.h>

namespace diecast {
namespace {

struct Workspace {
  Workspace(std::shared_ptr<Runtime> r, std::shared_ptr<Device> d)
      : runtime(std::move(r)), device(d), x(d), codes(d), scales(d), amax(d), block_amax(d) {}
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<Device> device;
  Nvfp4Scheme scheme;
  GrowingBuffer x, codes, scales, amax, block_amax;

  Result<void> fetch(void* to, const void* from, std::size_t bytes) {
    DIECAST_CHECK(device->copy_to_host(to, from, bytes, {}));
    return device->synchronize({});
  }

  // x in device memory, and an output on the device of the sizes that x's codes and scales take.
  Result<QuantizedTensor> output_for(std::int64_t rows, std::int64_t cols, bool row_scaled) {
    QuantizedTensor out;
    out.shape = Shape{rows, cols};
    out.row_scaled = row_scaled;
    out.profile = scheme.profile;
    out.e4m3_bound = scheme.e4m3_bound;
    DIECAST_TRY(out.rowwise, out.rowwise_sizes());
    QuantizedSide& side = out.rowwise;
    DIECAST_TRY(side.data, codes.sized(static_cast<std::size_t>(side.data_bytes)));
    DIECAST_TRY(side.scale, scales.sized(static_cast<std::size_t>(side.scale_bytes)));
    DIECAST_TRY(void* const amaxes, amax.sized(static_cast<std::size_t>(side.amax_count) * 4));
    side.amax = static_cast<float*>(amaxes);
    return out;
  }
};

Result<float> amax_of(Workspace& w, ByteSpan x, DType type, std::int64_t rows, std::int64_t cols) {
  DIECAST_TRY(void* const data, w.x.holding(x));
  DIECAST_TRY(void* const result, w.amax.sized(sizeof(float)));
  DIECAST_CHECK(amax(*w.runtime, {data, type, Shape{rows, cols}, 0, nullptr},
                     static_cast<float*>(result), {AmaxPer::tensor, false, w.device}));
  float found = 0;
  DIECAST_CHECK(w.fetch(&found, result, sizeof found));
  return found;
}

Result<QuantizedTensor> quantized(Workspace& w, ByteSpan x, DType type, std::int64_t rows,
                                  std::int64_t cols, const float* given,
                                  std::span<std::byte> codes, std::span<std::byte> scales) {
  DIECAST_TRY(void* const data, w.x.holding(x));
  DIECAST_TRY(const QuantizedTensor out, w.output_for(rows, cols, given == nullptr));
  if (given != nullptr) {
    DIECAST_CHECK(w.device->copy_to_device(out.rowwise.amax, given, sizeof(float), {}));
  }
  QuantizeNvfp4Options options;
  options.amax_given = given != nullptr;
  options.device = w.device;
  options.four_over_six = w.scheme.four_over_six;
  DIECAST_CHECK(quantize_nvfp4(*w.runtime, {data, type, Shape{rows, cols}, 0, nullptr}, out, options));
  DIECAST_CHECK(w.fetch(codes.data(), out.rowwise.data, codes.size()));
  DIECAST_CHECK(w.fetch(scales.data(), out.rowwise.scale, scales.size()));
  return out;
}

Result<Nvfp4VectorOutput> quantized_vector(Workspace& w, const Nvfp4VectorInput& in) {
  w.scheme = {in.profile, in.four_over_six, in.e4m3_bound};
  DIECAST_TRY(void* const data, w.x.holding(in.x));
  DIECAST_TRY(const QuantizedTensor out, w.output_for(in.rows, in.cols, in.row_scaled));
  QuantizeNvfp4Options options;
  options.device = w.device;
  options.global = in.global;
  options.four_over_six = in.four_over_six;
  options.amax_given = !in.given.empty();
  if (options.amax_given) {
    const std::size_t bytes = in.given.size() * sizeof(float);
    DIECAST_CHECK(w.device->copy_to_device(out.rowwise.amax, in.given.data(), bytes, {}));
  }
  if (!in.block_amax.empty()) {
    DIECAST_TRY(void* const amaxes, w.block_amax.holding(std::as_bytes(std::span(in.block_amax))));
    options.block_amax = static_cast<const float*>(amaxes);
  }
  DIECAST_CHECK(quantize_nvfp4(*w.runtime, {data, in.dtype, Shape{in.rows, in.cols}, 0, nullptr},
                               out, options));
  Nvfp4VectorOutput got;
  got.codes.resize(static_cast<std::size_t>(out.rowwise.data_bytes));
  got.scales.resize(static_cast<std::size_t>(out.rowwise.scale_bytes));
  DIECAST_CHECK(w.fetch(got.codes.data(), out.rowwise.data, got.codes.size()));
  DIECAST_CHECK(w.fetch(got.scales.data(), out.rowwise.scale, got.scales.size()));
  if (in.global == GlobalScale::none) return got;
  got.amax.resize(static_cast<std::size_t>(out.rowwise.amax_count));
  DIECAST_CHECK(w.fetch(got.amax.data(), out.rowwise.amax, got.amax.size() * sizeof(float)));
  return got;
}

Result<void> dequantized(Workspace& w, ByteSpan codes, ByteSpan scales,
                         std::span<const float> scale_2, std::int64_t rows, std::int64_t cols,
                         DType type, std::span<std::byte> x) {
  QuantizedTensor in;
  in.shape = Shape{rows, cols};
  in.row_scaled = scale_2.size() != 1;
  DIECAST_TRY(in.rowwise, in.rowwise_sizes());
  DIECAST_TRY(in.rowwise.data, w.codes.holding(codes));
  DIECAST_TRY(in.rowwise.scale, w.scales.holding(scales));
  DIECAST_TRY(void* const factor, w.amax.holding(std::as_bytes(scale_2)));
  in.rowwise.amax = static_cast<float*>(factor);
  DIECAST_TRY(void* const out, w.x.sized(x.size()));
  DIECAST_CHECK(dequantize_nvfp4(*w.runtime, in, {out, type, Shape{rows, cols}, 0, nullptr},
                                 {GlobalForm::decode, w.device}));
  return w.fetch(x.data(), out, x.size());
}

}  // namespace

ConvertKernels device_kernels(std::shared_ptr<Runtime> runtime, std::shared_ptr<Device> device,
                              const Nvfp4Scheme& scheme) {
  auto w = std::make_shared<Workspace>(std::move(runtime), std::move(device));
  w->scheme = scheme;
  ConvertKernels kernels;
  kernels.amax = [w](ByteSpan x, DType type, std::int64_t rows, std::int64_t cols) {
    return amax_of(*w, x, type, rows, cols);
  };
  kernels.quantize = [w](ByteSpan x, DType type, std::int64_t rows, std::int64_t cols, float amax,
                         std::span<std::byte> codes,
                         std::span<std::byte> scales) -> Result<void> {
    DIECAST_CHECK(quantized(*w, x, type, rows, cols, &amax, codes, scales));
    return {};
  };
  kernels.quantize_row_scaled = [w](ByteSpan x, DType type, std::int64_t rows, std::int64_t cols,
                                    std::span<std::byte> codes, std::span<std::byte> scales,
                                    std::span<float> amax) -> Result<void> {
    DIECAST_TRY(const QuantizedTensor out,
                quantized(*w, x, type, rows, cols, nullptr, codes, scales));
    return w->fetch(amax.data(), out.rowwise.amax, amax.size_bytes());
  };
  kernels.dequantize = [w](ByteSpan codes, ByteSpan scales, std::span<const float> scale_2,
                           std::int64_t rows, std::int64_t cols, DType type,
                           std::span<std::byte> x) {
    return dequantized(*w, codes, scales, scale_2, rows, cols, type, x);
  };
  return kernels;
}

VectorKernels device_vector_kernels(std::shared_ptr<Runtime> runtime,
                                    std::shared_ptr<Device> device) {
  VectorKernels kernels;
  add_block_kernels(kernels, runtime, device);
  auto w = std::make_shared<Workspace>(std::move(runtime), std::move(device));
  kernels.quantize_nvfp4 = [w](const Nvfp4VectorInput& in) { return quantized_vector(*w, in); };
  return kernels;
}

}  // namespace diecast
