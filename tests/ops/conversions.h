// The device conversions of templates/device against the reference, on any device: a sample of all
// floats, or with DIECAST_EXHAUSTIVE=1 all 2^32 of them.
#pragma once

#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "how_many.h"
#include "ops/device_buffer.h"
#include "ops/test_runtime.h"

namespace diecast::variants {

using Encode = std::uint32_t (*)(float);

inline Encode reference_encode(const std::string& to) {
  using namespace reference;
  if (to == "e2m1") return [](float x) -> std::uint32_t { return encode_e2m1(x); };
  if (to == "e4m3") return [](float x) -> std::uint32_t { return encode_e4m3(x); };
  if (to == "e5m2") return [](float x) -> std::uint32_t { return encode_e5m2(x); };
  if (to == "e8m0") return [](float x) -> std::uint32_t { return encode_e8m0(x); };
  if (to == "bf16") return [](float x) -> std::uint32_t { return encode_bf16(x); };
  return [](float x) -> std::uint32_t { return encode_f16(x); };
}

// The floats of `got`, which begin with bits `first`; how many differ, and the first of them.
inline std::string difference(const std::vector<std::uint32_t>& got, std::uint32_t first,
                              Encode encode) {
  const unsigned shares = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::string> found(shares);
  std::vector<std::thread> threads;
  for (unsigned share = 0; share < shares; ++share) {
    threads.emplace_back([&, share] {
      for (std::size_t i = share; i < got.size() && found[share].empty(); i += shares) {
        const std::uint32_t bits = first + static_cast<std::uint32_t>(i);
        float x;
        std::memcpy(&x, &bits, sizeof x);
        if (encode(x) != got[i]) {
          found[share] = std::to_string(bits) + ": expected " + std::to_string(encode(x)) +
                         ", got " + std::to_string(got[i]);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : found) {
    if (!one.empty()) return one;
  }
  return "";
}

// To a format, in one of the ways that templates have: with the target's instruction, without, and
// E2M1 as quantizers make it of a block and of what is rounded already.
struct Conversion {
  const char *to, *form;
};
inline void PrintTo(const Conversion& one, std::ostream* to) { *to << one.to << ' ' << one.form; }
inline std::vector<Conversion> conversions() {
  std::vector<Conversion> out = {{"e2m1", "block"}, {"e2m1", "magnitude"}};
  for (const char* to : {"e2m1", "e4m3", "e5m2", "e8m0", "bf16", "f16"}) {
    out.push_back({to, "target"}), out.push_back({to, "plain"});
  }
  return out;
}
inline std::string conversion_name(const ::testing::TestParamInfo<Conversion>& info) {
  return std::string(info.param.to).append("_").append(info.param.form);
}

inline void expect_conversion_equal(const std::shared_ptr<Device>& device,
                                    const Conversion& conversion) {
  const bool all = testing::exhaustive();
  const auto runtime = test_runtime_with("conversions.cu");
  Bindings bindings;
  bindings.set("TO", std::string(conversion.to)).set("FORM", std::string(conversion.form));
  const auto one = runtime->specialize_for("conversions", bindings, *device).value();
  const auto kernel = runtime->preload(one, device).value();
  // A stretch of 2^12 floats at every 2^22, or stretches of 2^24 that are all floats.
  const std::uint32_t count = all ? 1u << 24 : 1u << 12, step = all ? 1u << 24 : 1u << 22;
  DeviceBuffer out(*device, count * sizeof(std::uint32_t));
  std::vector<std::uint32_t> got(count);
  std::uint32_t first = 0;
  do {
    // The sample's stretches lie around the ends of binades, where formats begin and end.
    const std::uint32_t from = all ? first : first - count / 2;
    kernel
        ->launch({{"first", KernelArgument::scalar(from)},
                  {"out", out.argument(DType::u32)},
                  {"count", KernelArgument::size(count)},
                  {"one", KernelArgument::scalar(1.0f)}},
                 {})
        .value();
    device->copy_to_host(got.data(), out.data_pointer(), got.size() * 4, {}).value();
    device->synchronize({}).value();
    ASSERT_EQ(difference(got, from, reference_encode(conversion.to)), "");
    first += step;
  } while (first != 0);
}

}  // namespace diecast::variants
