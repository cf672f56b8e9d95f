// A template of your own: the same language, the same cache, the same tools as the built-in ones.
// Every variant of its space runs here and is held against a plain loop.
#include <diecast/diecast.h>

#include <cstdio>
#include <vector>

using namespace diecast;

static constexpr std::int64_t kRows = 5, kCols = 300;

static bool run_variant(Runtime& runtime, const std::shared_ptr<Device>& device,
                        const Specialization& variant) {
  const auto type = static_cast<DType>(variant.number("T"));
  const std::size_t bytes = static_cast<std::size_t>(kRows * kCols * dtype_bits(type) / 8);
  std::vector<std::uint8_t> x(bytes), expected(bytes), got(bytes);
  std::vector<float> factor(kRows);
  for (std::int64_t i = 0; i < kRows * kCols; ++i) {
    factor[static_cast<std::size_t>(i / kCols)] = 0.5f + static_cast<float>(i / kCols);
    reference::store(x.data(), type, i, static_cast<float>(i % 17) - 8);
    reference::store(
        expected.data(), type, i,
        reference::load(x.data(), type, i) * factor[static_cast<std::size_t>(i / kCols)]);
  }
  void* const device_x = device->allocate(bytes).value();
  void* const device_out = device->allocate(bytes).value();
  void* const device_factor = device->allocate(kRows * sizeof(float)).value();
  device->copy_to_device(device_x, x.data(), bytes, {}).value();
  device->copy_to_device(device_factor, factor.data(), kRows * sizeof(float), {}).value();

  // One argument for every `arg` line of the header, by its name and checked against it.
  const auto kernel = runtime.preload(variant, device).value();
  kernel
      ->launch({{"x", KernelArgument::tensor(type, device_x, kCols)},
                {"factor", KernelArgument::tensor(DType::f32, device_factor)},
                {"out", KernelArgument::tensor(type, device_out, kCols)},
                {"rows", KernelArgument::size(kRows)},
                {"cols", KernelArgument::size(kCols)}},
               {})
      .value();
  device->copy_to_host(got.data(), device_out, bytes, {}).value();
  device->synchronize({}).value();
  for (void* memory : {device_x, device_out, device_factor}) device->free(memory).value();
  return got == expected;
}

int main() {
  const auto runtime = Runtime::create().value();
  const auto tmpl = runtime->add(OWN_TEMPLATE).value();  // the path of scale_rows.cu
  const auto gpu = runtime->default_device();
  const auto device = gpu ? *gpu : open_host_device().value();
  const Target target = device->targets().front();
  int wrong = 0;
  for (const Bindings& bindings : tmpl->space(target).value()) {
    const auto variant = Specialization::make(tmpl, bindings, target).value();
    const bool equal = run_variant(*runtime, device, variant);
    std::printf("%s  %s\n", equal ? "equal" : "WRONG", variant.spelling().c_str());
    wrong += !equal;
  }
  return wrong == 0 ? 0 : 1;
}
