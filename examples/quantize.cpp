// Quantizes a matrix to NVFP4 on the GPU, or on this processor where there is none, and holds the
// codes against the scalar reference.
#include <diecast/diecast.h>

#include <cstdio>
#include <vector>

using namespace diecast;

// The GPU of this thread's context; said aloud, because nobody should compute on the host
// unknowingly.
static std::shared_ptr<Device> gpu_or_host(Runtime& runtime) {
  if (auto gpu = runtime.default_device()) return *gpu;
  return open_host_device().value();
}

int main() {
  const auto runtime = Runtime::create().value();
  const auto device = gpu_or_host(*runtime);
  std::printf("on %s\n", device->properties().name.c_str());

  // Device memory for x and for what becomes of it.
  constexpr std::int64_t kRows = 256, kCols = 4096;
  std::vector<float> values(kRows * kCols);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 977) / 300 - 1.5f;
  const std::size_t bytes = values.size() * sizeof(float);
  const auto memory = DeviceMemory::allocate(device, bytes).value();
  const Tensor x{memory.data(), DType::f32, Shape{kRows, kCols}};
  device->copy_to_device(x.data, values.data(), bytes, {}).value();

  const auto buffer = QuantizedBuffer::allocate(device, x.shape).value();
  const QuantizedTensor& out = buffer.tensor();

  // Prepared: its kernels are compiled and resident; running it compiles, loads and waits for
  // nothing.
  const auto request = PreparedQuantizeNvfp4::Request::of(x, out);
  const auto quantize = PreparedQuantizeNvfp4::prepare(*runtime, device, request).value();
  runtime->freeze();
  quantize.run(x, out, {}).value();

  std::vector<std::uint8_t> codes(out.rowwise.data_bytes);
  device->copy_to_host(codes.data(), out.rowwise.data, codes.size(), {}).value();
  device->synchronize({}).value();
  Tensor host_x{values.data(), DType::f32, Shape{kRows, kCols}};
  const bool equal = codes == reference::te_quantize_nvfp4(host_x, false).value().codes;
  std::printf("%lld codes, %s the reference to the bit\n", static_cast<long long>(kRows * kCols),
              equal ? "equal to" : "DIFFERENT from");
  return equal ? 0 : 1;
}
