// The global scales of templates/device/nvfp4/nvfp4.h on a GPU against this processor's: every
// mantissa, every exponent, and the ends of the range that has a way of its own.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;

std::vector<std::uint32_t> amaxes() {
  std::vector<std::uint32_t> words;
  for (std::uint32_t mantissa = 0; mantissa < 1u << 23; ++mantissa) {
    words.push_back(127u << 23 | mantissa);
  }
  for (std::uint32_t exponent = 0; exponent < 512; ++exponent) {  // the upper half is negative
    for (std::uint32_t off = 0; off < 64; ++off) words.push_back((exponent << 23) + off - 32);
    for (std::uint32_t m = 1; m < 1u << 23; m += 99991) words.push_back(exponent << 23 | m);
  }
  return words;
}

struct Scales {
  float encode_sixth, decode;
};

Scales expected(float amax) {
  float encode = std::fmin(2688.0f / amax, std::numeric_limits<float>::max());
  if (amax == 0.0f || encode == 0.0f) encode = 1.0f;
  return {encode * 0x1.555556p-3f, 1.0f / encode};
}

bool equal(std::uint32_t word, float wanted) {
  return std::isnan(wanted) ? std::isnan(std::bit_cast<float>(word))
                            : word == std::bit_cast<std::uint32_t>(wanted);
}

class Nvfp4Globals : public GpuDeviceTest {};

TEST_F(Nvfp4Globals, EqualTheProcessorsOnGpu) {
  const auto runtime = test_runtime_with("nvfp4_globals.cu");
  const auto one = runtime->specialize_for("nvfp4_globals", Bindings{}, *device_).value();
  const auto kernel = runtime->preload(one, device_).value();

  const std::vector<std::uint32_t> amax = amaxes();
  const std::size_t count = amax.size(), bytes = count * sizeof amax[0];
  DeviceBuffer in(*device_, bytes), sixths(*device_, bytes), decodes(*device_, bytes);
  device_->copy_to_device(in.data_pointer(), amax.data(), bytes, {}).value();
  kernel
      ->launch({{"amax", in.argument(DType::u32)},
                {"encode_sixth", sixths.argument(DType::u32)},
                {"decode", decodes.argument(DType::u32)},
                {"count", KernelArgument::size(static_cast<std::int64_t>(count))}},
               {})
      .value();
  std::vector<std::uint32_t> sixth(count), decode(count);
  device_->copy_to_host(sixth.data(), sixths.data_pointer(), bytes, {}).value();
  device_->copy_to_host(decode.data(), decodes.data_pointer(), bytes, {}).value();
  device_->synchronize({}).value();
  for (std::size_t i = 0; i < count; ++i) {
    const Scales wanted = expected(std::bit_cast<float>(amax[i]));
    ASSERT_TRUE(equal(sixth[i], wanted.encode_sixth) && equal(decode[i], wanted.decode)) << amax[i];
  }
}

}  // namespace
}  // namespace diecast
