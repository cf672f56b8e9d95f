// Two ways to the same codes and scales; see fused.h.
#include "fused.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "matrix.h"

using namespace diecast;

// Numbers of every size, and what is no number: most blocks have some.
static void make_rough(Matrix& x) {
  using Of = std::numeric_limits<float>;
  constexpr float kRough[] = {0.0f,    -0.0f, 1e-30f, -1e-3f,         3e4f,
                              -1e-20f, -3e4f, -88.0f, Of::infinity(), Of::quiet_NaN()};
  for (std::int64_t i = 0; i < x.rows() * x.cols(); i += 7) x.set(i, kRough[i % 10]);
  x.send();
}

// Products next to the midpoints of two codes: a last place more or less is another code. Blocks
// have an amax of 6, which under one of 2688 has the scale 1.
static void make_ties(Matrix& x) {
  constexpr double kMidpoints[] = {0.25, -0.75, 1.25, -1.75, 2.5, -3.5, 5};
  const std::int64_t cols = x.cols() / 2;
  for (std::int64_t row = 0; row < x.rows(); ++row)
    for (std::int64_t col = 0; col < cols; ++col) {
      if (col % 16 == 0) x.set(row * x.cols() + col, 32);  // silu of it is 32
      const double gate = x.at(row, col), product = col % 16 == 0 ? 6 : kMidpoints[col % 7];
      x.set(row * x.cols() + cols + col,
            static_cast<float>(product * (1 + std::exp(-gate)) / gate));
    }
  x.send();
}

// Codes or scales, which were all ones before.
static std::vector<std::uint8_t> fetched(Device& device, const void* from, std::int64_t bytes) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(bytes));
  device.copy_to_host(out.data(), from, out.size(), {}).value();
  device.synchronize({}).value();
  return out;
}

static std::int64_t differences(Device& device, const QuantizedSide& a, const QuantizedSide& b) {
  std::int64_t found = 0;
  for (const auto& [one, other, bytes] :
       {std::tuple(a.data, b.data, a.data_bytes), std::tuple(a.scale, b.scale, a.scale_bytes)}) {
    const auto left = fetched(device, one, bytes), right = fetched(device, other, bytes);
    for (std::size_t i = 0; i < left.size(); ++i) found += left[i] != right[i];
  }
  return found;
}

std::int64_t fused_differences(Runtime& runtime, const Kernel& fused,
                               const std::shared_ptr<Device>& device) {
  const Specialization& variant = fused.specialization();
  const auto type = static_cast<DType>(variant.number("IN"));
  const auto product =
      runtime
          .preload(
              runtime.specialize_for("silu_and_mul", Bindings().set("IN", type), *device).value(),
              device)
          .value();
  QuantizedType format;
  format.layout = static_cast<ScaleLayout>(variant.number("LAYOUT"));
  const bool whole = variant.number("ALIGNED") != 0;
  const auto differ = [&](const Matrix& x, const Shape& shape, float amax) {
    const auto size = [](std::int64_t n) { return KernelArgument::size(n); };
    const Matrix y(device, type, shape.rows(), shape.cols());
    const auto one = QuantizedBuffer::allocate(device, shape, format).value();
    const auto two = QuantizedBuffer::allocate(device, shape, format).value();
    for (const QuantizedSide& side : {one.tensor().rowwise, two.tensor().rowwise}) {
      device->fill(side.data, 0xFF, static_cast<std::size_t>(side.data_bytes), {}).value();
      device->fill(side.scale, 0xFF, static_cast<std::size_t>(side.scale_bytes), {}).value();
      device->copy_to_device(side.amax, &amax, sizeof amax, {}).value();
    }
    product
        ->launch({{"x", x.argument()},
                  {"y", y.argument()},
                  {"rows", size(shape.rows())},
                  {"cols", size(shape.cols())}},
                 {})
        .value();
    quantize_nvfp4(runtime, {.data = y.data(), .dtype = type, .shape = shape}, one.tensor(),
                   {.amax_given = true, .device = device})
        .value();
    const QuantizedSide& out = two.tensor().rowwise;
    fused
        .launch({{"x", x.argument()},
                 {"amax", KernelArgument::tensor(DType::f32, out.amax)},
                 {"codes", KernelArgument::tensor(DType::u8, out.data)},
                 {"scales", KernelArgument::tensor(DType::e4m3, out.scale)},
                 {"rows", size(shape.rows())},
                 {"cols", size(shape.cols())}},
                {})
        .value();
    return differences(*device, one.tensor().rowwise, out);
  };
  std::int64_t found = 0;
  for (const Shape& shape : {Shape{0, 16}, Shape{1, whole ? 16 : 1}, Shape{7, whole ? 96 : 100},
                             Shape{130, whole ? 80 : 77}}) {
    Matrix x(device, type, shape.rows(), 2 * shape.cols());
    make_ties(x);
    found += differ(x, shape, 2688);
    make_rough(x);
    for (const float amax : {16.0f, 0.0f, 1e-20f, 3e38f}) found += differ(x, shape, amax);
  }
  return found;
}
