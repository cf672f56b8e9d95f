// The whole numbers of diecast/device/math/whole.h on any device, against the C library's.
#pragma once

#include <diecast/ops/reference/numbers.h>

#include <array>
#include <cmath>

#include "ops/math/functions.h"
#include "ops/test_runtime.h"

namespace diecast::math_test {

inline constexpr std::array<const char*, 5> kWholes = {"floor", "ceil", "trunc", "rint", "round"};

inline float whole_of(std::size_t function, float x) {
  switch (function) {
    case 0:
      return std::floor(x);
    case 1:
      return std::ceil(x);
    case 2:
      return std::trunc(x);
    case 3:
      return std::nearbyint(x);
    default:
      return std::round(x);
  }
}

// Each float's bits are compared, but for which NaN a NaN is. At most 2^24 numbers.
inline void expect_whole(const std::shared_ptr<Device>& device, DType type, std::size_t function,
                         const Numbers& numbers) {
  static const auto runtime = test_runtime_with("math/whole.cu");
  const auto one = runtime->specialize_for("whole", Bindings().set("T", type), *device).value();
  const auto kernel = runtime->preload(one, device).value();
  const auto width = static_cast<std::size_t>(dtype_bits(type) / 8);
  const variants::DeviceBuffer out(*device, static_cast<std::size_t>(numbers.count) * width);
  kernel
      ->launch({{"function", KernelArgument::scalar(static_cast<std::uint32_t>(function))},
                {"first", KernelArgument::scalar(numbers.first)},
                {"step", KernelArgument::scalar(numbers.step)},
                {"out", out.argument(type)},
                {"count", KernelArgument::size(numbers.count)}},
               {})
      .value();
  const std::vector<std::uint8_t> bytes = out.bytes();
  for (std::int64_t i = 0; i < numbers.count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &bytes[static_cast<std::size_t>(i) * width], width);
    const float x = number_of(numbers.first + static_cast<std::uint32_t>(i) * numbers.step, type);
    const float got = number_of(bits, type), wanted = whole_of(function, x);
    const bool same = std::isnan(wanted)
                          ? std::isnan(got)
                          : got == wanted && std::signbit(got) == std::signbit(wanted);
    ASSERT_TRUE(same) << kWholes[function] << " of " << x << " is " << got;
  }
}

}  // namespace diecast::math_test
