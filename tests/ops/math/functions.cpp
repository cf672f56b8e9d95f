// See functions.h.
#include "ops/math/functions.h"

#include <diecast/base/text.h>
#include <diecast/ops/reference/numbers.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <random>
#include <regex>
#include <sstream>

#include "ops/test_runtime.h"

namespace diecast::math_test {
namespace {

// What the headers of the functions say.
std::string headers() {
  std::ostringstream all;
  for (const char* name : {"activations", "exp", "log", "pow", "roots", "trig"}) {
    const std::string folder = DIECAST_SOURCE_DIR "/templates/device/math/";
    all << std::ifstream(cat(folder, name, ".h")).rdbuf();
  }
  return all.str();
}

}  // namespace

const std::array<Function, 14>& functions() {
  static const std::array<Function, 14> all = {{
      {"exp", 1e-5f, 0x73BE8202810ADC6Fu},
      {"exp2", 1e-6f, 0x3CD25BDB590F1D96u},
      {"log", 1e-5f, 0x2EA02EA961218186u},
      {"log2", 1e-5f, 0x50335341ED6A94D7u},
      {"sqrt", 1e-6f, 0xAF0730C909630BB8u},
      {"rsqrt", 1e-6f, 0x0366438059B3A700u},
      {"sin", 1e-4f, 0x290C271DBA4A9A80u},
      {"cos", 1e-4f, 0xBB7238BE15B9BF50u},
      {"tanh", 1e-3f, 0xA8A1FA15B10546D4u},
      {"sigmoid", 1e-5f, 0xB4E304D4343D326Eu},
      {"silu", 1e-5f, 0x00ADAA7313A0565Bu},
      {"gelu", 1e-4f, 0x30ABE31962BB893Fu},
      {"gelu_tanh", 1e-4f, 0x851EFFE57B00240Fu},
      {"pow", 1e-3f, 0xA6CE412BB64D51A1u},
  }};
  return all;
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

double bound_of(std::size_t function, DType type) {
  static const std::string said = headers();
  std::smatch found;
  const std::regex bound(cat("\\b", functions()[function].name, " (\\d+\\.\\d+)"));
  if (!std::regex_search(said, found, bound)) return 0;
  const double ulps = std::stod(found[1]);
  return type == DType::f32 ? ulps : 0.5 + ulps / 4096;
}

Functions::Functions(std::shared_ptr<Device> device, DType type, bool fast)
    : device_(std::move(device)),
      runtime_(test_runtime_with("math/functions.cu")),
      type_(type),
      fast_(fast) {}

void Functions::launch(const char* gives, std::size_t function, const Numbers& numbers,
                       const std::vector<std::uint32_t>& y, const variants::DeviceBuffer& to) {
  const Bindings bindings =
      Bindings().set("T", type_).set("FAST", Value::boolean(fast_)).set("GIVES", gives);
  const auto one = runtime_->specialize_for("functions", bindings, *device_).value();
  const auto kernel = runtime_->preload(one, device_).value();
  const variants::DeviceBuffer exponents(*device_, y.data(), y.size() * 4);
  const auto given = [&](const char* name, DType type) {
    return std::string_view(gives) == name ? to.argument(type)
                                           : KernelArgument::tensor(type, nullptr);
  };
  kernel
      ->launch({{"function", KernelArgument::scalar(static_cast<std::uint32_t>(function))},
                {"first", KernelArgument::scalar(numbers.first)},
                {"step", KernelArgument::scalar(numbers.step)},
                {"y", exponents.argument(DType::u32)},
                {"out", given("results", DType::u32)},
                {"sum", given("sum", DType::u64)},
                {"worst", given("worst", DType::u64)},
                {"count", KernelArgument::size(numbers.count)},
                {"exponents", KernelArgument::size(static_cast<std::int64_t>(y.size()))}},
               {})
      .value();
  device_->synchronize({}).value();
}

std::uint64_t Functions::told(const char* gives, std::size_t function, const Numbers& numbers,
                              const std::vector<std::uint32_t>& y) {
  std::uint64_t word = 0;
  const variants::DeviceBuffer of_device(*device_, &word, sizeof word);
  launch(gives, function, numbers, y, of_device);
  device_->copy_to_host(&word, of_device.data_pointer(), sizeof word, {}).value();
  device_->synchronize({}).value();
  return word;
}

std::uint64_t Functions::sum_of_all(std::size_t function) {
  return told("sum", function, kAllFloats, {0});
}

Worst Functions::worst_error(std::size_t function, const Numbers& numbers,
                             const std::vector<std::uint32_t>& y) {
  const std::uint64_t word = told("worst", function, numbers, y);
  const auto place = static_cast<std::uint32_t>(word);
  const float ulps = std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32));
  const float x = number_of(numbers.first + place * numbers.step, type_),
              under = number_of(y[place % y.size()], type_);
  const std::string name = functions()[function].name;
  return {ulps, cat(name, " of ", x, name == "pow" ? cat(", ", under) : "", ": ", ulps, " ulp")};
}

std::vector<float> Functions::results(std::size_t function, const Numbers& numbers,
                                      const std::vector<std::uint32_t>& y) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(numbers.count));
  const variants::DeviceBuffer out(*device_, bits.size() * 4);
  launch("results", function, numbers, y, out);
  device_->copy_to_host(bits.data(), out.data_pointer(), bits.size() * 4, {}).value();
  device_->synchronize({}).value();
  std::vector<float> floats(bits.size());
  std::ranges::transform(bits, floats.begin(), [&](std::uint32_t one) {
    const float number = number_of(one, type_);
    return std::isnan(number) ? std::numeric_limits<float>::quiet_NaN() : number;
  });
  return floats;
}

void expect_within_bounds(Functions& on, std::size_t function, const Numbers& numbers, bool tell) {
  const Worst worst = on.worst_error(function, numbers, exponents(1 << 16, on.type()));
  EXPECT_LE(worst.ulps, bound_of(function, on.type())) << worst.what;
  if (tell) std::cout << worst.what << '\n';
}

}  // namespace diecast::math_test
