// The op on the host: sums in the order of slots, each step rounded; slots of no expert; what is
// refused.
#include <diecast/diecast.h>

#include <cmath>

#include "ops/host_device_test.h"
#include "ops/host_matrix.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

class CombineExpertsOnHost : public HostDeviceTest {
 protected:
  Result<void> combine(const Tensor& x, const TopKExperts& topk, const Tensor& out) {
    return combine_experts(*runtime_, x, topk, out, {device_});
  }
  ErrorCode refused(const Tensor& x, const TopKExperts& topk, const Tensor& out) {
    const auto made = combine(x, topk, out);
    return made ? ErrorCode::internal : made.error().code;
  }

  const std::shared_ptr<Runtime> runtime_ = test_runtime();
};

TEST_F(CombineExpertsOnHost, AddsSlotsInOrder) {
  // Four tokens of three slots. The first sum is 1 if slot 1 comes last, and the second one is not
  // 0 if its product is not rounded.
  HostMatrix x(DType::f32, 12,
               {0x1p30f, 1, -0x1p30f, -(1 + 0x1p-11f), 1 + 0x1p-12f, 9, 4, 5, 6, 7, 8, 9});
  const std::int32_t ids[] = {0, 2, 1, 1, 0, 3, 2, -1, 0, -1, 3, INT32_MIN};
  const float weights[] = {1, 1, 1, 1, 1 + 0x1p-12f, 1, 0.5f, NAN, 0.25f, NAN, NAN, NAN};
  HostMatrix out(DType::f32, 4, 1);
  ASSERT_TRUE(combine(x.view(), {ids, weights, 3}, out.view()));
  const float want[] = {0.0f, 0.0f, 3.5f, 0.0f};
  for (int token = 0; token < 4; ++token) EXPECT_EQ(out.at(token, 0), want[token]) << token;
}

TEST_F(CombineExpertsOnHost, WideIdsUnderAMapAreTheSame) {
  constexpr std::int64_t kHigh = std::int64_t{1} << 32;
  HostMatrix x(DType::f32, 12, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048});
  const std::int32_t map[] = {-1, 2, 0, 3, INT32_MIN, 1};  // three experts are here
  const std::int32_t ids[] = {1, 2, 5, 0, 3, 4, 6, -1, 2, INT32_MAX, INT32_MIN, 5};
  const std::int64_t wide[] = {1, 2, 5, 0, 3, 4, kHigh + 1, -kHigh, 2, INT64_MAX, INT64_MIN, 5};
  const float weights[] = {1, 1, 1, NAN, NAN, NAN, NAN, NAN, 0.5f, NAN, NAN, 2};
  HostMatrix out(DType::f32, 4, 1);
  std::uint32_t of_ids = 0, of_wide = 100;
  for (const TopKExperts& topk : {TopKExperts{ids, weights, 3, DType::i32, {map, 6}, &of_ids},
                                  TopKExperts{wide, weights, 3, DType::i64, {map, 6}, &of_wide}}) {
    out.fill([](auto, auto) { return -77.0f; });
    ASSERT_TRUE(combine(x.view(), topk, out.view()));
    const float want[] = {7, 0, 128, 4096};
    for (int token = 0; token < 4; ++token) EXPECT_EQ(out.at(token, 0), want[token]) << token;
  }
  EXPECT_EQ(of_ids, 3u);  // an id that the map gives no expert here is expected
  EXPECT_EQ(of_wide, 104u);
}

TEST_F(CombineExpertsOnHost, AnyColumnsAndNoTokens) {
  const std::int32_t ids[] = {1, 0, 0, 1};
  const float weights[] = {0.5f, 2.0f, 1.0f, 0.25f};
  for (const std::int64_t cols : {16, 19}) {
    HostMatrix x(DType::bf16, 4, cols), out(DType::f16, 2, cols);
    x.fill([](auto row, auto col) { return static_cast<float>(8 * row + col); });
    ASSERT_TRUE(combine(x.view(), {ids, weights, 2}, out.view()));
    for (std::int64_t token = 0; token < 2; ++token)
      for (std::int64_t col = 0; col < cols; ++col)
        EXPECT_EQ(out.at(token, col), weights[2 * token] * x.at(2 * token, col) +
                                          weights[2 * token + 1] * x.at(2 * token + 1, col));
  }
  HostMatrix nothing(DType::bf16, 0, 16);
  EXPECT_TRUE(combine(nothing.view(), {}, nothing.view()));
}

TEST_F(CombineExpertsOnHost, RefusesWhatDoesNotFit) {
  const std::int32_t ids[4] = {};
  const float weights[4] = {};
  const TopKExperts topk{ids, weights, 2};
  HostMatrix x(DType::bf16, 4, 8), out(DType::bf16, 2, 8), three(DType::bf16, 3, 8);
  HostMatrix narrow(DType::bf16, 2, 7), apart(DType::bf16, 2, 8, 16);
  Tensor bytes = out.view(), counted = out.view();
  bytes.dtype = DType::u8;
  const std::int64_t rows = 2;
  counted.device_rows = &rows;
  EXPECT_EQ(refused(x.view(), topk, bytes), ErrorCode::dtype_mismatch);
  EXPECT_EQ(refused(x.view(), topk, three.view()), ErrorCode::shape_mismatch);
  EXPECT_EQ(refused(x.view(), topk, narrow.view()), ErrorCode::shape_mismatch);
  EXPECT_EQ(refused(x.view(), topk, apart.view()), ErrorCode::not_supported);
  EXPECT_EQ(refused(x.view(), topk, counted), ErrorCode::not_supported);
  EXPECT_EQ(refused(x.view(), {nullptr, weights, 2}, out.view()), ErrorCode::missing_buffer);
  EXPECT_EQ(refused(x.view(), {ids, nullptr, 2}, out.view()), ErrorCode::missing_buffer);
  EXPECT_EQ(refused(x.view(), {ids, weights, -1}, out.view()), ErrorCode::value_not_allowed);
  EXPECT_EQ(refused(x.view(), {ids, weights, 2, DType::u8}, out.view()), ErrorCode::dtype_mismatch);
  EXPECT_EQ(refused(x.view(), {ids, weights, 2, DType::i32, {ids, -1}}, out.view()),
            ErrorCode::value_not_allowed);
  const auto any = PreparedCombineExperts::prepare(*runtime_, device_, {.aligned = false}).value();
  EXPECT_TRUE(any.run(x.view(), topk, out.view(), {}));
  HostMatrix wide(DType::f32, 2, 8);
  EXPECT_EQ(any.run(x.view(), topk, wide.view(), {}).error().code, ErrorCode::not_supported);
}

}  // namespace
}  // namespace diecast
