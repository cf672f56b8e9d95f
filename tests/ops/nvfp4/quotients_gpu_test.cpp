// The division of templates/device/numbers/quotient.h on a GPU against this processor's: edge
// values in pairs, divisors whose reciprocal a Newton step rounds wrong, random pairs, and the two
// numerators of an NVFP4 global scale over a sample of all floats, or with DIECAST_EXHAUSTIVE=1
// over all.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "how_many.h"
#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;

using Words = std::vector<std::uint32_t>;

std::uint32_t divided(std::uint32_t a, std::uint32_t b) {
  float x, y;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  const float q = x / y;
  std::uint32_t word;
  std::memcpy(&word, &q, sizeof word);
  return word;
}

bool is_nan(std::uint32_t word) { return (word & 0x7FFFFFFFu) > 0x7F800000u; }

class Quotients {
 public:
  // `divisor`: the constant one, which every b must be then, or 0.
  // `inverse`: every a is 1.
  Quotients(const std::shared_ptr<Device>& device, std::size_t most, int divisor = 0,
            bool inverse = false)
      : device_(device), a_(*device, most * 4), b_(*device, most * 4), out_(*device, most * 4) {
    runtime_ = test_runtime_with("quotients.cu");
    Bindings bindings;
    bindings.set("DIVISOR", divisor).set("INVERSE", Value::boolean(inverse));
    const auto one = runtime_->specialize_for("quotients", bindings, *device).value();
    kernel_ = runtime_->preload(one, device).value();
  }

  // The first pair whose quotient differs from this processor's; any NaN is as good as another.
  std::string difference(const Words& a, const Words& b) {
    const std::size_t bytes = a.size() * sizeof a[0];
    device_->copy_to_device(a_.data_pointer(), a.data(), bytes, {}).value();
    device_->copy_to_device(b_.data_pointer(), b.data(), bytes, {}).value();
    kernel_
        ->launch({{"a", a_.argument(DType::u32)},
                  {"b", b_.argument(DType::u32)},
                  {"out", out_.argument(DType::u32)},
                  {"count", KernelArgument::size(static_cast<std::int64_t>(a.size()))}},
                 {})
        .value();
    Words got(a.size());
    device_->copy_to_host(got.data(), out_.data_pointer(), bytes, {}).value();
    device_->synchronize({}).value();
    return first_difference(a, b, got);
  }

 private:
  static std::string first_difference(const Words& a, const Words& b, const Words& got) {
    const std::size_t shares = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::string> found(shares);
    std::vector<std::thread> threads;
    for (std::size_t share = 0; share < shares; ++share) {
      threads.emplace_back([&, share] {
        const std::size_t end = got.size() * (share + 1) / shares;
        for (std::size_t i = got.size() * share / shares; i < end && found[share].empty(); ++i) {
          const std::uint32_t wanted = divided(a[i], b[i]);
          if (got[i] == wanted || (is_nan(got[i]) && is_nan(wanted))) continue;
          found[share] = std::to_string(a[i]) + " / " + std::to_string(b[i]) + ": expected " +
                         std::to_string(wanted) + ", got " + std::to_string(got[i]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& one : found) {
      if (!one.empty()) return one;
    }
    return "";
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Kernel> kernel_;
  DeviceBuffer a_, b_, out_;
};

// Zero, the ends of the subnormals, of the binades where the way to divide changes and of all
// floats, with the neighbours of each, infinity, NaN; both signs.
Words edge_floats() {
  Words edges;
  for (const std::uint32_t exponent :
       {0u, 1u, 2u, 66u, 67u, 68u, 127u, 187u, 188u, 253u, 254u, 255u}) {
    for (const std::int32_t off : {-2, -1, 0, 1, 2, 1 << 22}) {
      const std::uint32_t word = (exponent << 23) + static_cast<std::uint32_t>(off);
      edges.push_back(word & 0x7FFFFFFFu);
      edges.push_back(word | 0x80000000u);
    }
  }
  return edges;
}

class QuotientsOnGpu : public GpuDeviceTest {};

TEST_F(QuotientsOnGpu, EqualTheProcessors) {
  const bool all = testing::exhaustive();
  const std::uint32_t count = all ? 1u << 24 : 1u << 16;
  Quotients quotients(device_, count);

  Words a, b;
  for (const std::uint32_t x : edge_floats()) {
    for (const std::uint32_t y : edge_floats()) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  ASSERT_LE(a.size(), count);
  EXPECT_EQ(quotients.difference(a, b), "");

  a.assign(count, 0);
  b.assign(count, 0x3FFFFFFFu);  // all ones: the reciprocal one Newton step does not round
  const std::uint32_t step = (1u << 23) / std::min(count, 1u << 23);
  for (std::uint32_t i = 0; i < count; ++i) a[i] = 0x3F800000u + i % (1u << 23) * step;
  EXPECT_EQ(quotients.difference(a, b), "");

  std::mt19937 random(20);
  for (int round = 0; round < (all ? 64 : 4); ++round) {
    for (std::uint32_t i = 0; i < count; ++i) {
      a[i] = static_cast<std::uint32_t>(random());
      b[i] = static_cast<std::uint32_t>(random());
      if (round % 2 == 0) {  // within the binades of ordinary numbers
        a[i] = (a[i] & 0x80FFFFFFu) + (90u << 23);
        b[i] = (b[i] & 0x81FFFFFFu) + (120u << 23);
      }
    }
    ASSERT_EQ(quotients.difference(a, b), "") << "round " << round;
  }

  // 2688 and 1, the numerators of S and of 1 / S.
  for (const std::uint32_t numerator : {0x45280000u, 0x3F800000u}) {
    a.assign(count, numerator);
    std::uint32_t first = 0;
    do {
      for (std::uint32_t i = 0; i < count; ++i) b[i] = first + i;
      ASSERT_EQ(quotients.difference(a, b), "") << "numerator " << numerator;
      first += all ? count : 1u << 26;
    } while (first != 0);
  }
}

// Every mantissa, at the ends and in the middle of the exponents that are promised.
TEST_F(QuotientsOnGpu, ByAConstantEqualTheProcessors) {
  constexpr std::uint32_t kMantissas = 1u << 23;
  for (const int divisor : {6, 1536, 2688}) {
    Quotients quotients(device_, kMantissas, divisor);
    const float by = static_cast<float>(divisor);
    std::uint32_t word;
    std::memcpy(&word, &by, sizeof word);
    const Words b(kMantissas, word);
    for (const std::uint32_t exponent : {127u - 80, 127u, 127u + 111}) {
      Words a(kMantissas);
      for (std::uint32_t i = 0; i < kMantissas; ++i) a[i] = exponent << 23 | i;
      EXPECT_EQ(quotients.difference(a, b), "") << divisor;
    }
  }
}

// Every mantissa but the last, which is not promised: quotients by an inverse rest on it.
TEST_F(QuotientsOnGpu, InversesEqualTheProcessors) {
  constexpr std::uint32_t kMantissas = (1u << 23) - 1;
  Quotients quotients(device_, kMantissas, 0, true);
  const Words a(kMantissas, 0x3F800000u);
  for (const std::uint32_t exponent : {127u - 120, 127u - 90, 127u, 127u + 119}) {
    Words b(kMantissas);
    for (std::uint32_t i = 0; i < kMantissas; ++i) b[i] = exponent << 23 | i;
    EXPECT_EQ(quotients.difference(a, b), "");
  }
}

}  // namespace
}  // namespace diecast
