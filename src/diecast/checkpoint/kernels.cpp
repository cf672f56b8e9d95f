// Pieces of a checkpoint through a device; see kernels.h.
#include <diecast/checkpoint/growing_buffer.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/checkpoint/vectors/device_kernels.h>
#include <diecast/ops/mx/quantize_mx.h>
#include <diecast/ops/nvfp4/dequantize_nvfp4.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/ops/quantized_buffer.h>

#include <algorithm>
#include <mutex>
#include <type_traits>

namespace diecast {
namespace {

struct Workspace {
  Workspace(std::shared_ptr<Runtime> r, std::shared_ptr<Device> d)
      : runtime(std::move(r)), device(d), x(d), codes(d), scales(d), amax(d), block_amax(d) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() {
    if (stream.handle != nullptr) (void)device->destroy_stream(stream).ok();  // nothing to do
  }
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<Device> device;
  Nvfp4Scheme scheme;
  Stream stream;
  GrowingBuffer x, codes, scales, amax, block_amax;

  // Kernels of the host work where the caller's bytes are: nothing is copied.
  bool on_host() const { return device->properties().cc == 0; }
  Result<void*> reading(GrowingBuffer& buffer, ByteSpan content) const {
    if (!on_host()) return buffer.holding(content, stream);
    return static_cast<void*>(const_cast<std::byte*>(content.data()));
  }
  Result<void*> writing(GrowingBuffer& buffer, std::span<std::byte> result) const {
    if (!on_host()) return buffer.sized(result.size());
    return static_cast<void*>(result.data());
  }

  Result<void> fetch(void* to, const void* from, std::size_t bytes) {
    if (to == from) return {};  // written there
    DIECAST_CHECK(device->copy_to_host(to, from, bytes, stream));
    return device->synchronize(stream);
  }

  // An output of x's codes and scales, which the spans hold.
  Result<QuantizedTensor> output_for(std::int64_t rows, std::int64_t cols, bool row_scaled,
                                     std::span<std::byte> to, std::span<std::byte> scales_to) {
    QuantizedTensor out{.type = scheme.type(row_scaled), .shape = Shape{rows, cols}};
    DIECAST_TRY(out.rowwise, out.rowwise_sizes());
    QuantizedSide& side = out.rowwise;
    DIECAST_TRY(side.data, writing(codes, to));
    DIECAST_TRY(side.scale, writing(scales, scales_to));
    DIECAST_TRY(void* const found, amax.sized(static_cast<std::size_t>(side.amax_count) * 4));
    side.amax = static_cast<float*>(found);
    return out;
  }
};

Result<QuantizedTensor> quantized(Workspace& w, ByteSpan x, DType type, std::int64_t rows,
                                  std::int64_t cols, const float* given, std::span<std::byte> codes,
                                  std::span<std::byte> scales) {
  DIECAST_TRY(void* const data, w.reading(w.x, x));
  DIECAST_TRY(const QuantizedTensor out, w.output_for(rows, cols, given == nullptr, codes, scales));
  if (given != nullptr) {
    DIECAST_CHECK(w.device->copy_to_device(out.rowwise.amax, given, sizeof(float), w.stream));
  }
  QuantizeNvfp4Options options;
  options.amax_given = given != nullptr;
  options.device = w.device;
  options.four_over_six = w.scheme.four_over_six;
  DIECAST_CHECK(quantize_nvfp4(*w.runtime, {data, type, Shape{rows, cols}, 0, nullptr}, out,
                               options, w.stream));
  DIECAST_CHECK(w.fetch(codes.data(), out.rowwise.data, codes.size()));
  DIECAST_CHECK(w.fetch(scales.data(), out.rowwise.scale, scales.size()));
  return out;
}

Result<void> quantized_mx(Workspace& w, ByteSpan x, DType type, std::int64_t rows,
                          std::int64_t cols, Format format, std::span<std::byte> codes,
                          std::span<std::byte> scales) {
  DIECAST_TRY(void* const data, w.reading(w.x, x));
  const QuantizedType to{.format = format, .profile = Profile::torchao};
  QuantizedTensor out{.type = to, .shape = Shape{rows, cols}};
  DIECAST_TRY(out.rowwise, out.rowwise_sizes());
  DIECAST_TRY(out.rowwise.data, w.writing(w.codes, codes));
  DIECAST_TRY(out.rowwise.scale, w.writing(w.scales, scales));
  DIECAST_CHECK(quantize_mx(*w.runtime, {data, type, Shape{rows, cols}, 0, nullptr}, out,
                            {MxMode::rceil, w.device}, w.stream));
  DIECAST_CHECK(w.fetch(codes.data(), out.rowwise.data, codes.size()));
  return w.fetch(scales.data(), out.rowwise.scale, scales.size());
}

template <class T>
Result<void> fetch_all(Workspace& w, const void* from, std::int64_t count, std::vector<T>& to) {
  to.resize(static_cast<std::size_t>(count));
  return w.fetch(to.data(), from, to.size() * sizeof(T));
}

Result<QuantizeNvfp4Options> vector_options(Workspace& w, const Nvfp4VectorInput& in,
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
    options.block_amax.rowwise = static_cast<const float*>(amaxes);
  }
  return options;
}

Result<Nvfp4VectorOutput> quantized_vector(Workspace& w, const Nvfp4VectorInput& in) {
  DIECAST_TRY(void* const data, w.x.holding(in.x));
  const Tensor x{data, in.dtype, Shape{in.rows, in.cols}, 0, nullptr};
  DIECAST_TRY(const QuantizedBuffer buffer,
              QuantizedBuffer::allocate(w.device, x.shape, in.type,
                                        in.columnwise ? Sides::both : Sides::rowwise));
  const QuantizedTensor& out = buffer.tensor();
  DIECAST_TRY(const QuantizeNvfp4Options options, vector_options(w, in, out));
  DIECAST_CHECK(quantize_nvfp4(*w.runtime, x, out, options));
  Nvfp4VectorOutput got;
  const QuantizedSide &side = out.rowwise, &columns = out.columnwise;
  DIECAST_CHECK(fetch_all(w, side.data, side.data_bytes, got.codes));
  DIECAST_CHECK(fetch_all(w, side.scale, side.scale_bytes, got.scales));
  DIECAST_CHECK(fetch_all(w, columns.data, columns.data_bytes, got.codes_t));
  DIECAST_CHECK(fetch_all(w, columns.scale, columns.scale_bytes, got.scales_t));
  if (in.global == GlobalScale::none) return got;
  DIECAST_CHECK(fetch_all(w, side.amax, side.amax_count, got.amax));
  DIECAST_CHECK(fetch_all(w, columns.amax, columns.amax_count, got.amax_t));
  return got;
}

Result<void> dequantized(Workspace& w, ByteSpan codes, ByteSpan scales,
                         std::span<const float> scale_2, std::int64_t rows, std::int64_t cols,
                         DType type, std::span<std::byte> x) {
  QuantizedTensor in{.type = {.row_scaled = scale_2.size() != 1}, .shape = Shape{rows, cols}};
  DIECAST_TRY(in.rowwise, in.rowwise_sizes());
  DIECAST_TRY(in.rowwise.data, w.reading(w.codes, codes));
  DIECAST_TRY(in.rowwise.scale, w.reading(w.scales, scales));
  DIECAST_TRY(void* const factor, w.amax.holding(std::as_bytes(scale_2), w.stream));
  in.rowwise.amax = static_cast<float*>(factor);
  DIECAST_TRY(void* const out, w.writing(w.x, x));
  DIECAST_CHECK(dequantize_nvfp4(*w.runtime, in, {out, type, Shape{rows, cols}, 0, nullptr},
                                 {GlobalForm::decode, w.device}, w.stream));
  return w.fetch(x.data(), out, x.size());
}

// A workspace, and so a stream, for each call that runs now.
class Workspaces {
 public:
  Workspaces(std::shared_ptr<Runtime> runtime, std::shared_ptr<Device> device, Nvfp4Scheme scheme)
      : runtime_(std::move(runtime)), device_(std::move(device)), scheme_(scheme) {}

  // Result<...> call(Workspace&).
  template <class Call>
  std::invoke_result_t<Call, Workspace&> with(Call call) {
    DIECAST_TRY(auto workspace, take());
    auto result = call(*workspace);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
    return result;
  }

 private:
  Result<std::unique_ptr<Workspace>> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto last = std::move(idle_.back());
        idle_.pop_back();
        return last;
      }
    }
    auto made = std::make_unique<Workspace>(runtime_, device_);
    made->scheme = scheme_;
    DIECAST_TRY(made->stream, device_->create_stream());
    return made;
  }

  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Device> device_;
  Nvfp4Scheme scheme_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace

ConvertKernels device_kernels(std::shared_ptr<Runtime> runtime, std::shared_ptr<Device> device,
                              const Nvfp4Scheme& scheme) {
  auto all = std::make_shared<Workspaces>(std::move(runtime), std::move(device), scheme);
  ConvertKernels kernels;
  kernels.quantize = [all](ByteSpan x, DType type, std::int64_t rows, std::int64_t cols, float amax,
                           std::span<std::byte> codes, std::span<std::byte> scales) {
    return all->with([&](Workspace& w) -> Result<void> {
      DIECAST_CHECK(quantized(w, x, type, rows, cols, &amax, codes, scales));
      return {};
    });
  };
  kernels.quantize_row_scaled = [all](ByteSpan x, DType type, std::int64_t rows, std::int64_t cols,
                                      std::span<std::byte> codes, std::span<std::byte> scales,
                                      std::span<float> amax) {
    return all->with([&](Workspace& w) -> Result<void> {
      DIECAST_TRY(const QuantizedTensor out,
                  quantized(w, x, type, rows, cols, nullptr, codes, scales));
      return w.fetch(amax.data(), out.rowwise.amax, amax.size_bytes());
    });
  };
  kernels.quantize_mx = [all](ByteSpan x, DType type, std::int64_t rows, std::int64_t cols,
                              WeightFormat format, std::span<std::byte> codes,
                              std::span<std::byte> scales) {
    const Format to = format == WeightFormat::mxfp8 ? Format::mxfp8_e4m3 : Format::mxfp4;
    return all->with(
        [&](Workspace& w) { return quantized_mx(w, x, type, rows, cols, to, codes, scales); });
  };
  kernels.dequantize = [all](ByteSpan codes, ByteSpan scales, std::span<const float> scale_2,
                             std::int64_t rows, std::int64_t cols, DType type,
                             std::span<std::byte> x) {
    return all->with(
        [&](Workspace& w) { return dequantized(w, codes, scales, scale_2, rows, cols, type, x); });
  };
  return kernels;
}

// One that reads, one that writes and two whose pieces take turns on a GPU; on the host each does
// all of it, and one alone would leave the disks idle while it computes.
std::size_t default_jobs(const Device& device) {
  if (device.properties().cc != 0) return 4;
  return static_cast<std::size_t>(std::clamp(device.properties().sm_count, 2, 8));
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
