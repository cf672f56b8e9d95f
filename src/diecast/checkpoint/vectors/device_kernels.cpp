// See device_kernels.h.
#include <diecast/checkpoint/growing_buffer.h>
#include <diecast/checkpoint/vectors/device_kernels.h>
#include <diecast/ops/fake/fp4_fake_quant.h>
#include <diecast/ops/quantized_buffer.h>

#include <span>

namespace diecast {
namespace {

struct Staging {
  Staging(const std::shared_ptr<Runtime>& r, const std::shared_ptr<Device>& d)
      : runtime(r), device(d), x(d), out(d), scales(d), amax(d), global(d) {}
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<Device> device;
  GrowingBuffer x, out, scales, amax, global;

  Result<void> fetch(void* to, const void* from, std::size_t bytes) {
    DIECAST_CHECK(device->copy_to_host(to, from, bytes, {}));
    return device->synchronize({});
  }
  Result<Tensor> floats(GrowingBuffer& buffer, const std::vector<float>& values) {
    DIECAST_TRY(void* const data, buffer.holding(std::as_bytes(std::span(values))));
    return Tensor{data, DType::f32, Shape{static_cast<std::int64_t>(values.size())}, 0, nullptr};
  }
};

Result<MxVectorOutput> quantized(Staging& w, const MxVectorInput& in) {
  DIECAST_TRY(void* const data, w.x.holding(in.x));
  const Tensor x{data, in.dtype, Shape{in.rows, in.cols}, 0, nullptr};
  const QuantizedType type{.format = in.format, .profile = Profile::torchao};
  DIECAST_TRY(const QuantizedBuffer buffer, QuantizedBuffer::allocate(w.device, x.shape, type));
  DIECAST_CHECK(quantize_mx(*w.runtime, x, buffer.tensor(), {in.mode, w.device}));
  const QuantizedSide& side = buffer.tensor().rowwise;
  MxVectorOutput got;
  got.data.resize(static_cast<std::size_t>(side.data_bytes));
  got.scales.resize(static_cast<std::size_t>(side.scale_bytes));
  DIECAST_CHECK(w.fetch(got.data.data(), side.data, got.data.size()));
  DIECAST_CHECK(w.fetch(got.scales.data(), side.scale, got.scales.size()));
  return got;
}

Result<Fp4ScaleOptions> scale_options(Staging& w, bool quantize) {
  Fp4ScaleOptions options;
  DIECAST_TRY(void* const scratch, w.global.sized(Fp4ScaleOptions::scratch_bytes()));
  options.scratch = static_cast<float*>(scratch);
  options.quantize_block_scales = quantize;
  options.device = w.device;
  return options;
}

Result<std::vector<float>> scales_of(Staging& w, const std::vector<float>& amaxes) {
  DIECAST_TRY(const Tensor amax, w.floats(w.amax, amaxes));
  Tensor scales = amax;
  DIECAST_TRY(scales.data, w.scales.sized(amaxes.size() * sizeof(float)));
  DIECAST_TRY(const Fp4ScaleOptions options, scale_options(w, true));
  DIECAST_CHECK(compute_fp4_scales(*w.runtime, amax, scales, options));
  std::vector<float> got(amaxes.size());
  DIECAST_CHECK(w.fetch(got.data(), scales.data, got.size() * sizeof(float)));
  return got;
}

Result<Bytes> fake_quantized(Staging& w, const FakeVectorInput& in) {
  DIECAST_TRY(void* const data, w.x.holding(in.x));
  const Tensor x{data, in.dtype, Shape{in.rows, in.cols}, 0, nullptr};
  Tensor out = x;
  DIECAST_TRY(out.data, w.out.sized(in.x.size()));
  if (in.block_amax.empty()) {
    DIECAST_TRY(const Tensor global, w.floats(w.global, {in.global_amax}));
    DIECAST_CHECK(fp4_fake_quant_block(*w.runtime, x, static_cast<const float*>(global.data), out,
                                       {16, w.device}));
  } else {
    DIECAST_TRY(const Tensor amax, w.floats(w.amax, in.block_amax));
    DIECAST_TRY(const Fp4ScaleOptions options, scale_options(w, in.quantize_block_scales));
    DIECAST_CHECK(static_blockwise_fp4_fake_quant(*w.runtime, x, amax, out, options));
  }
  Bytes got(in.x.size());
  DIECAST_CHECK(w.fetch(got.data(), out.data, got.size()));
  return got;
}

}  // namespace

void add_block_kernels(VectorKernels& kernels, const std::shared_ptr<Runtime>& runtime,
                       const std::shared_ptr<Device>& device) {
  auto w = std::make_shared<Staging>(runtime, device);
  kernels.quantize_mx = [w](const MxVectorInput& in) { return quantized(*w, in); };
  kernels.fp4_scales = [w](const std::vector<float>& amax) { return scales_of(*w, amax); };
  kernels.fake_quantize = [w](const FakeVectorInput& in) { return fake_quantized(*w, in); };
}

}  // namespace diecast
