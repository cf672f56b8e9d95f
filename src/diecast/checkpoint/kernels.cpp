// Pieces of a checkpoint through a device; see kernels.h.
#include <diecast/checkpoint/growing_buffer.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/checkpoint/vectors/device_kernels.h>
#include <diecast/ops/amax.h>
#include <diecast/ops/dequantize_nvfp4.h>
#include <diecast/ops/quantize_nvfp4.h>
#include <diecast/ops/quantize_nvfp4_tiles.h>

namespace diecast {
namespace {

// Device memory for a side of the sizes that it states.
Result<void> allocate(QuantizedSide& side, GrowingBuffer& codes, GrowingBuffer& scales,
                      GrowingBuffer& amax) {
  DIECAST_TRY(side.data, codes.sized(static_cast<std::size_t>(side.data_bytes)));
  DIECAST_TRY(side.scale, scales.sized(static_cast<std::size_t>(side.scale_bytes)));
  DIECAST_TRY(void* const found, amax.sized(static_cast<std::size_t>(side.amax_count) * 4));
  side.amax = static_cast<float*>(found);
  return {};
}

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
    DIECAST_CHECK(allocate(out.rowwise, codes, scales, amax));
    return out;
  }
};

Result<float> amax_of(Workspace& w, ByteSpan x, DType type, std::int64_t rows, std::int64_t cols) {
  DIECAST_TRY(void* const data, w.x.holding(x));
  DIECAST_TRY(void* const result, w.amax.sized(sizeof(float)));
  AmaxOptions options;
  options.device = w.device;
  options.nans = ignores_nan(w.scheme.profile) ? AmaxNans::ignore : AmaxNans::propagate;
  DIECAST_CHECK(amax(*w.runtime, {data, type, Shape{rows, cols}, 0, nullptr},
                     static_cast<float*>(result), options));
  float found = 0;
  DIECAST_CHECK(w.fetch(&found, result, sizeof found));
  return found;
}

Result<QuantizedTensor> quantized(Workspace& w, ByteSpan x, DType type, std::int64_t rows,
                                  std::int64_t cols, const float* given, std::span<std::byte> codes,
                                  std::span<std::byte> scales) {
  DIECAST_TRY(void* const data, w.x.holding(x));
  DIECAST_TRY(const QuantizedTensor out, w.output_for(rows, cols, given == nullptr));
  if (given != nullptr) {
    DIECAST_CHECK(w.device->copy_to_device(out.rowwise.amax, given, sizeof(float), {}));
  }
  QuantizeNvfp4Options options;
  options.amax_given = given != nullptr;
  options.device = w.device;
  options.four_over_six = w.scheme.four_over_six;
  DIECAST_CHECK(
      quantize_nvfp4(*w.runtime, {data, type, Shape{rows, cols}, 0, nullptr}, out, options));
  DIECAST_CHECK(w.fetch(codes.data(), out.rowwise.data, codes.size()));
  DIECAST_CHECK(w.fetch(scales.data(), out.rowwise.scale, scales.size()));
  return out;
}

template <class T>
Result<void> fetch_all(Workspace& w, const void* from, std::int64_t count, std::vector<T>& to) {
  to.resize(static_cast<std::size_t>(count));
  return w.fetch(to.data(), from, to.size() * sizeof(T));
}

// In 16x16 blocks, or along columns too.
Result<void> quantize_sides(Workspace& w, const Nvfp4VectorInput& in, const Tensor& x,
                            QuantizedTensor& out, Nvfp4VectorOutput& got) {
  GrowingBuffer codes(w.device), scales(w.device), amaxes(w.device);
  out.block_rows = in.block_rows;
  if (in.columnwise) {
    DIECAST_TRY(out.columnwise, out.columnwise_sizes());
    DIECAST_CHECK(allocate(out.columnwise, codes, scales, amaxes));
  }
  QuantizeNvfp4TilesOptions options;
  options.device = w.device;
  options.four_over_six = in.four_over_six;
  DIECAST_CHECK(quantize_nvfp4_tiles(*w.runtime, x, out, options));
  const QuantizedSide& side = out.columnwise;
  DIECAST_CHECK(fetch_all(w, side.data, side.data_bytes, got.codes_t));
  DIECAST_CHECK(fetch_all(w, side.scale, side.scale_bytes, got.scales_t));
  return fetch_all(w, side.amax, side.amax_count, got.amax_t);
}

Result<void> quantize_rows(Workspace& w, const Nvfp4VectorInput& in, const Tensor& x,
                           const QuantizedTensor& out) {
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
  return quantize_nvfp4(*w.runtime, x, out, options);
}

Result<Nvfp4VectorOutput> quantized_vector(Workspace& w, const Nvfp4VectorInput& in) {
  w.scheme = {in.profile, in.four_over_six, in.e4m3_bound};
  DIECAST_TRY(void* const data, w.x.holding(in.x));
  DIECAST_TRY(QuantizedTensor out, w.output_for(in.rows, in.cols, in.row_scaled));
  const Tensor x{data, in.dtype, Shape{in.rows, in.cols}, 0, nullptr};
  Nvfp4VectorOutput got;
  if (in.block_rows != 1 || in.columnwise) {
    DIECAST_CHECK(quantize_sides(w, in, x, out, got));
  } else {
    DIECAST_CHECK(quantize_rows(w, in, x, out));
  }
  const QuantizedSide& side = out.rowwise;
  DIECAST_CHECK(fetch_all(w, side.data, side.data_bytes, got.codes));
  DIECAST_CHECK(fetch_all(w, side.scale, side.scale_bytes, got.scales));
  if (in.global == GlobalScale::none) return got;
  DIECAST_CHECK(fetch_all(w, side.amax, side.amax_count, got.amax));
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
                         std::span<std::byte> codes, std::span<std::byte> scales) -> Result<void> {
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
