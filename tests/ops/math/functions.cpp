// See functions.h.
#include "ops/math/functions.h"

#include <diecast/base/text.h>
#include <diecast/ops/reference/numbers.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "ops/test_runtime.h"

namespace diecast::math_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// x times a share: nothing is left of -infinity.
double share(double x, double of) { return x == -kInfinity ? -0.0 : x * of; }

double gelu(double x, double) { return share(x, std::erfc(x * -0x1.6a09e667f3bcdp-1) / 2); }
double gelu_tanh(double x, double) {
  if (x == -kInfinity) return -0.0;
  const double argument = 0x1.9884533d43651p+0 * (x + 0.044715 * x * x * x);  // sqrt(8 / pi)
  return x / (1 + std::exp(-argument));
}

// 2^n of normal numbers.
double power_of_2(int n) { return std::bit_cast<double>(std::uint64_t(1023 + n) << 52); }

}  // namespace

const std::array<Function, 14>& functions() {
  static const std::array<Function, 14> all = {{
      {"exp", [](double x, double) { return std::exp(x); }, 1.1, 1e-5f, 0x73BE8202810ADC6Fu},
      {"exp2", [](double x, double) { return std::exp2(x); }, 1.0, 1e-6f, 0x3CD25BDB590F1D96u},
      {"log", [](double x, double) { return std::log(x); }, 1.7, 1e-5f, 0x2EA02EA961218186u},
      {"log2", [](double x, double) { return std::log2(x); }, 1.06, 1e-5f, 0x50335341ED6A94D7u},
      {"sqrt", [](double x, double) { return std::sqrt(x); }, 0.5, 1e-6f, 0xAF0730C909630BB8u},
      {"rsqrt", [](double x, double) { return 1 / std::sqrt(x); }, 0.51, 1e-6f,
       0x0366438059B3A700u},
      {"sin", [](double x, double) { return std::sin(x); }, 1.7, 1e-4f, 0x290C271DBA4A9A80u},
      {"cos", [](double x, double) { return std::cos(x); }, 1.7, 1e-4f, 0xBB7238BE15B9BF50u},
      {"tanh", [](double x, double) { return std::tanh(x); }, 2.6, 1e-3f, 0xA8A1FA15B10546D4u},
      {"sigmoid", [](double x, double) { return 1 / (1 + std::exp(-x)); }, 2.6, 1e-5f,
       0xB4E304D4343D326Eu},
      {"silu", [](double x, double) { return share(x, 1 / (1 + std::exp(-x))); }, 3.4, 1e-5f,
       0x00ADAA7313A0565Bu},
      {"gelu", gelu, 5.8, 1e-4f, 0x30ABE31962BB893Fu},
      {"gelu_tanh", gelu_tanh, 3.4, 1e-4f, 0x851EFFE57B00240Fu},
      {"pow", [](double x, double y) { return std::pow(x, y); }, 0.51, 1e-3f, 0xA6CE412BB64D51A1u},
  }};
  return all;
}

double ulps_from(float got, double exact, DType type) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) == std::isnan(got) ? 0 : 1e9;
  const int digits = type == DType::f32 ? 24 : type == DType::bf16 ? 8 : 11;
  const int most = type == DType::f16 ? 16 : 128, least = type == DType::f16 ? -13 : -125;
  const double limit = power_of_2(most);  // the next number, if there were one
  if (std::isinf(got)) exact = std::copysign(std::min(std::fabs(exact), limit), exact);
  const double result = std::isinf(got) ? std::copysign(limit, got) : got;
  // |exact| is at least half of 2^exponent and below it.
  const auto bits = std::bit_cast<std::uint64_t>(std::min(std::fabs(exact), limit));
  const int exponent = std::clamp(static_cast<int>(bits >> 52) - 1022, least, most);
  return std::fabs(result - exact) * power_of_2(digits - exponent);
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

std::uint64_t sum_of_all(const std::shared_ptr<Device>& device, std::size_t function) {
  const auto runtime = test_runtime_with("math/functions.cu");
  const Bindings bindings = Bindings().set("T", DType::f32).set("SUM", Value::boolean(true));
  const auto kernel =
      runtime->preload(runtime->specialize_for("functions", bindings, *device).value(), device)
          .value();
  std::uint64_t sum = 0;
  const variants::DeviceBuffer of_device(*device, &sum, sizeof sum);
  kernel
      ->launch({{"function", KernelArgument::scalar(static_cast<std::uint32_t>(function))},
                {"first", KernelArgument::scalar(std::uint32_t{0})},
                {"step", KernelArgument::scalar(std::uint32_t{1})},
                {"y", KernelArgument::tensor(DType::u32, nullptr)},
                {"out", KernelArgument::tensor(DType::u32, nullptr)},
                {"sum", of_device.argument(DType::u64)},
                {"count", KernelArgument::size(std::int64_t{1} << 32)}},
               {})
      .value();
  device->copy_to_host(&sum, of_device.data_pointer(), sizeof sum, {}).value();
  device->synchronize({}).value();
  return sum;
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
                {"sum", KernelArgument::tensor(DType::u64, nullptr)},
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

double bound_of(std::size_t function, DType type) {
  const double ulps = functions()[function].ulps;
  return type == DType::f32 ? ulps : 0.5 + ulps / 4096;
}

Worst worst_error(Functions& on, std::size_t function, DType type, std::uint32_t first,
                  std::uint32_t step, const std::vector<std::uint32_t>& y) {
  const Function& of = functions()[function];
  const auto got = on.run(function, first, step, y);
  const std::size_t shares = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Worst> found(shares);
  std::vector<std::thread> threads;
  for (std::size_t share = 0; share < shares; ++share) {
    threads.emplace_back([&, share] {
      for (std::size_t i = share; i < got.size(); i += shares) {
        const float x = number_of(first + static_cast<std::uint32_t>(i) * step, type);
        const double exact = of.exact(x, number_of(y[i], type));
        const bool sign = got[i] == 0 && exact == 0 && std::signbit(got[i]) != std::signbit(exact);
        const double ulps = sign ? 1e9 : ulps_from(got[i], exact, type);
        if (ulps <= found[share].ulps) continue;
        found[share] = {ulps, cat(of.name, " of ", x, ", ", number_of(y[i], type), " is ", got[i],
                                  ", not ", exact, ": ", ulps, " ulp")};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::ranges::max_element(found, {}, &Worst::ulps);
}

}  // namespace diecast::math_test
