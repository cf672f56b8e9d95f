// Pieces of a checkpoint through a device; see kernels.h.
#include <diecast/checkpoint/kernels.h>

#include <diecast/ops/amax.h>
#include <diecast/ops/dequantize_nvfp4.h>
#include <diecast/ops/quantize_nvfp4.h>

namespace diecast {
namespace {

// One device buffer that only grows.
class GrowingBuffer {
 public:
  explicit GrowingBuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;
  ~GrowingBuffer() { release(); }

  Result<void*> sized(std::size_t bytes) {
    if (bytes > size_) {
      release();
      DIECAST_TRY(memory_, device_->allocate(bytes));
      size_ = bytes;
    }
    return memory_;
  }
  Result<void*> holding(ByteSpan content) {
    DIECAST_TRY(void* const memory, sized(content.size()));
    DIECAST_CHECK(device_->copy_to_device(memory, content.data(), content.size(), {}));
    return memory;
  }

 private:
  void release() {
    // A failure to free leaves nothing to do: the device is gone, or the process is ending.
    if (memory_ != nullptr) (void)device_->free(memory_).ok();
    memory_ = nullptr;
    size_ = 0;
  }
  std::shared_ptr<Device> device_;
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

struct Workspace {
  Workspace(std::shared_ptr<Runtime> r, std::shared_ptr<Device> d)
      : runtime(std::move(r)), device(d), x(d), codes(d), scales(d), amax(d) {}
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<Device> device;
  GrowingBuffer x, codes, scales, amax;

  Result<void> fetch(void* to, const void* from, std::size_t bytes) {
    DIECAST_CHECK(device->copy_to_host(to, from, bytes, {}));
    return device->synchronize({});
  }

  // x in device memory, and an output on the device of the sizes that x's codes and scales take.
  Result<QuantizedTensor> output_for(std::int64_t rows, std::int64_t cols, bool row_scaled) {
    QuantizedTensor out;
    out.shape = Shape{rows, cols};
    out.row_scaled = row_scaled;
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
                     static_cast<float*>(result), {false, false, w.device}));
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
  DIECAST_CHECK(quantize_nvfp4(*w.runtime, {data, type, Shape{rows, cols}, 0, nullptr}, out,
                               {given != nullptr, w.device}));
  DIECAST_CHECK(w.fetch(codes.data(), out.rowwise.data, codes.size()));
  DIECAST_CHECK(w.fetch(scales.data(), out.rowwise.scale, scales.size()));
  return out;
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

ConvertKernels device_kernels(std::shared_ptr<Runtime> runtime, std::shared_ptr<Device> device) {
  auto w = std::make_shared<Workspace>(std::move(runtime), std::move(device));
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

}  // namespace diecast
