// What PlainNvfp4 is certain of is right by the checks that can say what is wrong, and it is
// certain of what most launches bring.
#include <diecast/ops/nvfp4/plain_nvfp4.h>
#include <gtest/gtest.h>

#include <random>

namespace diecast {
namespace {

struct PlainCase {
  Tensor x;
  QuantizedTensor out;
};

PlainCase plain_case(std::int64_t rows, std::int64_t cols, ScaleLayout layout, bool row_scaled) {
  PlainCase one;
  one.x = {reinterpret_cast<void*>(0x10000), DType::bf16, Shape{rows, cols}, 0, nullptr};
  one.out.shape = one.x.shape;
  one.out.type.layout = layout;
  one.out.type.row_scaled = row_scaled;
  one.out.rowwise = one.out.rowwise_sizes().value();
  one.out.rowwise.data = reinterpret_cast<void*>(0x20000);
  one.out.rowwise.scale = reinterpret_cast<void*>(0x30000);
  one.out.rowwise.amax = reinterpret_cast<float*>(0x40000);
  return one;
}

constexpr ScaleLayout kPlainLayouts[] = {ScaleLayout::linear, ScaleLayout::s128x4,
                                         ScaleLayout::s8x4};

TEST(PlainNvfp4, IsCertainOfWhatMostLaunchesBring) {
  for (const ScaleLayout layout : kPlainLayouts)
    for (const bool row_scaled : {false, true})
      for (const std::int64_t cols : {16, 17, 4096}) {
        const PlainNvfp4 plain(DType::bf16, {.layout = layout, .row_scaled = row_scaled});
        PlainCase one = plain_case(7, cols, layout, row_scaled);
        EXPECT_TRUE(plain.holds(one.x, one.out));
        EXPECT_FALSE(PlainNvfp4().holds(one.x, one.out));
        one.x.row_stride = cols + 8;
        EXPECT_TRUE(plain.holds(one.x, one.out));
        ++one.out.rowwise.scale_bytes;
        EXPECT_TRUE(plain.holds(one.x, one.out));
      }
}

TEST(PlainNvfp4, OneByteOrOneFieldOffIsNotCertain) {
  const PlainNvfp4 plain(DType::bf16, {.layout = ScaleLayout::s128x4});
  const PlainCase right = plain_case(7, 80, ScaleLayout::s128x4, false);
  const auto holds = [&](auto change) {
    PlainCase one = right;
    change(one.x, one.out);
    return plain.holds(one.x, one.out);
  };
  using T = Tensor&;
  using Q = QuantizedTensor&;
  EXPECT_TRUE(holds([](T, Q) {}));
  EXPECT_FALSE(holds([](T, Q q) { --q.rowwise.data_bytes; }));
  EXPECT_FALSE(holds([](T, Q q) { --q.rowwise.scale_bytes; }));
  EXPECT_FALSE(holds([](T, Q q) { q.rowwise.scale_bytes = INT64_MIN; }));
  EXPECT_FALSE(holds([](T, Q q) { q.rowwise.amax_count = 7; }));
  EXPECT_FALSE(holds([](T, Q q) { q.rowwise.data = nullptr; }));
  EXPECT_FALSE(holds([](T, Q q) { q.rowwise.scale = nullptr; }));
  EXPECT_FALSE(holds([](T, Q q) { q.rowwise.amax = nullptr; }));
  EXPECT_FALSE(holds([](T, Q q) { q.rowwise.scale_stride = 8; }));
  EXPECT_FALSE(holds([](T, Q q) { q.columnwise.scale = q.rowwise.scale; }));
  EXPECT_FALSE(holds([](T, Q q) { q.type.format = Format::mxfp4; }));
  EXPECT_FALSE(holds([](T, Q q) { q.type.profile = Profile::torchao; }));
  EXPECT_FALSE(holds([](T, Q q) { q.type.layout = ScaleLayout::linear; }));
  EXPECT_FALSE(holds([](T, Q q) { q.type.e4m3_bound = 256; }));
  EXPECT_FALSE(holds([](T, Q q) { q.type.row_scaled = true; }));
  EXPECT_FALSE(holds([](T, Q q) { q.type.square = true; }));
  EXPECT_FALSE(holds([](T, Q q) { q.shape = Shape{8, 80}; }));
  EXPECT_FALSE(holds([](T x, Q) { x.data = nullptr; }));
  EXPECT_FALSE(holds([](T x, Q) { x.data = static_cast<char*>(x.data) + 1; }));
  EXPECT_FALSE(holds([](T x, Q) { x.dtype = DType::f16; }));
  EXPECT_FALSE(holds([](T x, Q) { x.row_stride = 79; }));
  EXPECT_FALSE(holds([](T x, Q) { x.row_stride = -80; }));
  EXPECT_FALSE(holds([](T x, Q q) { x.shape = q.shape = Shape{7, -80}; }));
  EXPECT_FALSE(holds([](T x, Q q) { x.shape = q.shape = Shape{std::int64_t{1} << 40, 80}; }));
  EXPECT_FALSE(holds([](T x, Q) { x.shape = Shape{7, 80, 1}; }));
}

TEST(PlainNvfp4, IsCertainOfNothingThatTheChecksRefuse) {
  std::mt19937_64 random(23);
  const auto pick = [&](auto... values) {
    const std::int64_t all[] = {values...};
    return all[random() % sizeof...(values)];
  };
  int certain = 0;
  for (int i = 0; i < 20000; ++i) {
    const ScaleLayout layout = kPlainLayouts[random() % 3];
    const bool row_scaled = random() % 2 == 0;
    const auto profile = static_cast<Profile>(random() % 8);
    PlainCase one = plain_case(pick(1, 7, 128), pick(1, 16, 80, 97), layout, row_scaled);
    one.out.type.profile = profile;
    one.out.type.e4m3_bound = static_cast<std::uint16_t>(pick(448, 448, 256, 7));
    one.out.rowwise.data_bytes += pick(0, 0, 0, 1, -1);
    one.out.rowwise.scale_bytes += pick(0, 0, 0, 1, -1);
    one.out.rowwise.amax_count += pick(0, 0, 0, 0, 1);
    one.x.row_stride = pick(0, 0, 16, 80, 97, 200);
    if (random() % 8 == 0) one.x.dtype = DType::f32;
    if (random() % 8 == 0) one.x.data = reinterpret_cast<void*>(0x10002);
    const PlainNvfp4 plain(one.x.dtype, one.out.type);
    if (!plain.holds(one.x, one.out)) continue;
    ++certain;
    EXPECT_TRUE(one.x.check("x")) << i;
    EXPECT_TRUE(one.out.check("op", "out")) << i;
  }
  EXPECT_GT(certain, 1000);
}

}  // namespace
}  // namespace diecast
