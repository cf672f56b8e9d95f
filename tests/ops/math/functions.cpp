// See functions.h.
#include "ops/math/functions.h"

#include <diecast/base/text.h>
#include <diecast/ops/reference/numbers.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "ops/test_runtime.h"

namespace diecast::math_test {
namespace {

using Wide = long double;
constexpr Wide kInfinity = std::numeric_limits<Wide>::infinity();

Wide narrow(double (*function)(double), Wide x) { return function(static_cast<double>(x)); }

// x times a share: nothing is left of -infinity.
Wide share(Wide x, Wide of) { return x == -kInfinity ? -0.0L : x * of; }

Wide gelu(Wide x, Wide) { return share(x, std::erfc(-x / std::sqrt(2.0L)) / 2); }
Wide gelu_tanh(Wide x, Wide) {
  if (x == -kInfinity) return -0.0L;
  const Wide argument = std::sqrt(8 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
  return x / (1 + std::exp(-argument));
}

}  // namespace

const std::array<Function, 14>& functions() {
  static const std::array<Function, 14> all = {{
      {"exp", [](Wide x, Wide) { return narrow(std::exp, x); }, 1.1, 1e-5f},
      {"exp2", [](Wide x, Wide) { return narrow(std::exp2, x); }, 1.0, 1e-6f},
      {"log", [](Wide x, Wide) { return narrow(std::log, x); }, 1.7, 1e-5f},
      {"log2", [](Wide x, Wide) { return narrow(std::log2, x); }, 1.0, 1e-5f},
      {"sqrt", [](Wide x, Wide) { return std::sqrt(x); }, 0.5, 1e-6f},
      {"rsqrt", [](Wide x, Wide) { return 1 / std::sqrt(x); }, 1.5, 1e-6f},
      {"sin", [](Wide x, Wide) { return narrow(std::sin, x); }, 1.7, 1e-4f},
      {"cos", [](Wide x, Wide) { return narrow(std::cos, x); }, 1.7, 1e-4f},
      {"tanh", [](Wide x, Wide) { return narrow(std::tanh, x); }, 1.6, 1e-3f},
      {"sigmoid", [](Wide x, Wide) { return 1 / (1 + narrow(std::exp, -x)); }, 2.6, 1e-5f},
      {"silu", [](Wide x, Wide) { return share(x, 1 / (1 + narrow(std::exp, -x))); }, 3.4, 1e-5f},
      {"gelu", gelu, 5.8, 1e-4f},
      {"gelu_tanh", gelu_tanh, 3.4, 1e-4f},
      {"pow",
       [](Wide x, Wide y) -> Wide {
         return std::pow(static_cast<double>(x), static_cast<double>(y));
       },
       0.51, 1e-3f},
  }};
  return all;
}

double ulps_from(float got, Wide exact, DType type) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) == std::isnan(got) ? 0 : 1e9;
  const int digits = type == DType::f32 ? 24 : type == DType::bf16 ? 8 : 11;
  const int most = type == DType::f16 ? 16 : 128, least = type == DType::f16 ? -13 : -125;
  const Wide limit = std::ldexp(1.0L, most);  // the next number, if there were one
  if (std::isinf(got)) exact = std::copysign(std::min(std::fabs(exact), limit), exact);
  const Wide result = std::isinf(got) ? std::copysign(limit, static_cast<Wide>(got)) : got;
  int exponent = 0;
  std::frexp(std::fabs(exact) == kInfinity ? limit : exact, &exponent);
  exponent = std::clamp(exponent, least, most);
  return static_cast<double>(std::fabs(result - exact) / std::ldexp(1.0L, exponent - digits));
}

float number_of(std::uint32_t bits, DType type) {
  const auto half = static_cast<std::uint16_t>(bits);
  if (type != DType::f32)
    return type == DType::bf16 ? reference::decode_bf16(half) : reference::decode_f16(half);
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

std::vector<std::uint32_t> exponents(std::size_t count, DType type) {
  std::mt19937 random;
  std::vector<std::uint32_t> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    float y = static_cast<float>(static_cast<int>(random() % 400) - 200) / (i % 2 != 0 ? 10 : 1);
    std::memcpy(&out[i], &y, sizeof y);
    if (type == DType::bf16) out[i] = reference::encode_bf16(y);
    if (type == DType::f16) out[i] = reference::encode_f16(y);
    if (i % 3 == 0) out[i] = random() & (type == DType::f32 ? ~0u : 0xFFFFu);
  }
  return out;
}

Functions::Functions(std::shared_ptr<Device> device, DType type, bool fast)
    : device_(std::move(device)), type_(type) {
  runtime_ = test_runtime_with("math/functions.cu");
  const Bindings bindings = Bindings().set("T", type).set("FAST", Value::boolean(fast));
  const auto one = runtime_->specialize_for("functions", bindings, *device_).value();
  kernel_ = runtime_->preload(one, device_).value();
}

std::vector<float> Functions::run(std::size_t function, std::uint32_t first, std::uint32_t step,
                                  const std::vector<std::uint32_t>& y) {
  const variants::DeviceBuffer exponents(*device_, y.data(), y.size() * 4),
      out(*device_, y.size() * 4);
  kernel_
      ->launch({{"function", KernelArgument::scalar(static_cast<std::uint32_t>(function))},
                {"first", KernelArgument::scalar(first)},
                {"step", KernelArgument::scalar(step)},
                {"y", exponents.argument(DType::u32)},
                {"out", out.argument(DType::u32)},
                {"count", KernelArgument::size(static_cast<std::int64_t>(y.size()))}},
               {})
      .value();
  std::vector<std::uint32_t> bits(y.size());
  device_->copy_to_host(bits.data(), out.data_pointer(), y.size() * 4, {}).value();
  device_->synchronize({}).value();
  std::vector<float> numbers(y.size());
  std::ranges::transform(bits, numbers.begin(), [&](std::uint32_t one) {
    const float number = number_of(one, type_);
    return std::isnan(number) ? std::numeric_limits<float>::quiet_NaN() : number;
  });
  return numbers;
}

std::string worst_error(Functions& on, std::size_t function, DType type, std::uint32_t first,
                        std::uint32_t step, const std::vector<std::uint32_t>& y) {
  const Function& of = functions()[function];
  const auto got = on.run(function, first, step, y);
  const double bound = type == DType::f32 ? of.ulps : 0.5 + of.ulps / 4096;
  const std::size_t shares = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::string> found(shares);
  std::vector<std::thread> threads;
  for (std::size_t share = 0; share < shares; ++share) {
    threads.emplace_back([&, share] {
      double worst = bound;
      for (std::size_t i = share; i < got.size(); i += shares) {
        const float x = number_of(first + static_cast<std::uint32_t>(i) * step, type);
        const Wide exact = of.exact(x, number_of(y[i], type));
        const double ulps = ulps_from(got[i], exact, type);
        const bool sign = got[i] == 0 && exact == 0 && std::signbit(got[i]) != std::signbit(exact);
        if (ulps <= worst && !sign) continue;
        worst = std::max(worst, ulps);
        found[share] = cat(of.name, " of ", x, ", ", number_of(y[i], type), " is ", got[i],
                           ", not ", static_cast<double>(exact), ": ", ulps, " ulp");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : found)
    if (!one.empty()) return one;
  return "";
}

}  // namespace diecast::math_test
