// The op on the host: each row of an expert is the row that `linear` makes with its weight, to the
// bit, in all three forms; and what is refused.
#include <diecast/diecast.h>
#include <diecast/ops/reference/packed_linear.h>

#include <random>

#include "ops/host_device_test.h"
#include "ops/host_matrix.h"
#include "ops/linear/linear_case.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

constexpr std::int64_t kExperts = 3, kRows = 6, kCols = 48, kDepth = 96;

class LinearExpertsOnHost : public HostDeviceTest {
 protected:
  LinearExpertsOnHost() {
    std::mt19937_64 random(5);
    for (std::int64_t i = 0; i < kExperts; ++i) {
      const auto one = variants::drawn_weight(Format::nvfp4, kCols, kDepth, random);
      const auto tiles = reference::pack_linear(one, Gated::halves).bytes;
      bytes_.insert(bytes_.end(), tiles.begin(), tiles.end());
    }
    std::normal_distribution<float> draw;
    x_.fill([&](auto, auto) { return draw(random); });
  }
  LinearExpertsOptions options() const {
    return {.activation = Activation::silu_and_mul, .fast = true, .device = device_};
  }
  PackedLinear experts() {
    return {.gated = Gated::halves,
            .shape = Shape{kExperts, kCols, kDepth},
            .data = bytes_.data(),
            .bytes = static_cast<std::int64_t>(bytes_.size())};
  }
  // Row `row` of x under one expert's weight, by `linear`.
  HostMatrix dense(std::int64_t row, std::int64_t expert) {
    const auto size = static_cast<std::int64_t>(bytes_.size()) / kExperts;
    const PackedLinear one{.gated = Gated::halves,
                           .shape = Shape{kCols, kDepth},
                           .data = bytes_.data() + expert * size,
                           .bytes = size};
    Tensor x = x_.view();
    x.data = static_cast<std::uint16_t*>(x.data) + row * kDepth, x.shape = Shape{1, kDepth};
    HostMatrix out(DType::f32, 1, kCols / 2);
    linear(*runtime_, x, one, &factors_[static_cast<std::size_t>(2 * expert)], out.view(),
           {.activation = Activation::silu_and_mul, .device = device_})
        .value();
    return out;
  }
  // owner: the expert of each row of out, -1: none.
  void expect_rows(const ExpertRouting& routing, const std::vector<std::int64_t>& owner) {
    const auto rows = static_cast<std::int64_t>(owner.size());
    HostMatrix out(DType::f32, rows, kCols / 2);
    out.fill([](auto, auto) { return -77.0f; });
    linear_experts(*runtime_, x_.view(), experts(), factors_, routing, out.view(), options())
        .value();
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t expert = owner[static_cast<std::size_t>(row)];
      for (std::int64_t col = 0; col < kCols / 2; ++col) {
        const float want = expert < 0 ? -77.0f : dense(row / (rows / kRows), expert).at(0, col);
        ASSERT_EQ(out.at(row, col), want) << row << ", " << col;
      }
    }
  }

  const std::shared_ptr<Runtime> runtime_ = test_runtime();
  std::vector<std::uint8_t> bytes_;
  HostMatrix x_ = HostMatrix(DType::bf16, kRows, kDepth);
  const float factors_[2 * kExperts] = {0.5f, 0.5f, 0.25f, 0.25f, 0.75f, 0.75f};
};

TEST_F(LinearExpertsOnHost, ARowIsTheDenseRowOfItsExpert) {
  const std::int32_t ids[2 * kRows] = {2, 0, 0, 2, -1, 2, 3, 0, INT32_MIN, INT32_MAX, 2, 2};
  expect_rows({RoutingForm::indexed, ids}, {2, 0, 0, 2, -1, 2, -1, 0, -1, -1, 2, 2});
  const std::int32_t offsets[] = {1, 4, 4, 5};
  expect_rows({RoutingForm::contiguous, offsets}, {-1, 0, 0, 0, 2, -1});
  const std::int32_t counts[] = {1, 0, 2};
  expect_rows({RoutingForm::masked, counts}, {0, -1, -1, -1, 2, 2});
}

TEST_F(LinearExpertsOnHost, IdsOf64BitsAreTakenWhole) {
  constexpr std::int64_t kHigh = std::int64_t{1} << 32;
  const std::int64_t ids[kRows] = {2, kHigh, 0, kHigh + 2, -kHigh, 1};
  expect_rows({RoutingForm::indexed, ids, DType::i64}, {2, -1, 0, -1, -1, 1});
}

TEST_F(LinearExpertsOnHost, UnexpectedIdsAreCountedOnce) {
  std::uint32_t word = 7;
  const std::int32_t ids[2 * kRows] = {2, 0, -1,        kExperts,  -2, 0,
                                       1, 1, INT32_MIN, INT32_MAX, -1, 2};
  const std::vector<std::int64_t> owner = {2, 0, -1, -1, -1, 0, 1, 1, -1, -1, -1, 2};
  expect_rows({.data = ids, .unexpected = &word}, owner);
  EXPECT_EQ(word, 11u);
  const std::int32_t map[] = {0, 1, 2, -1};
  expect_rows({.data = ids, .map = {map, 4}, .unexpected = &word}, owner);
  EXPECT_EQ(word, 14u);  // kExperts is one that the map counts
}

TEST_F(LinearExpertsOnHost, AMapSaysWhichExpertsAreHere) {
  const std::int32_t map[] = {-1, 2, 0, kExperts, -1, 1};
  const std::int32_t ids[2 * kRows] = {1, 2, 5, 0, 3, 4, 6, -1, INT32_MIN, INT32_MAX, 1, 1};
  const std::vector<std::int64_t> owner = {2, 0, 1, -1, -1, -1, -1, -1, -1, -1, 2, 2};
  expect_rows({RoutingForm::indexed, ids, DType::i32, {map, 6}}, owner);
  const std::vector<std::int64_t> wide(std::begin(ids), std::end(ids));
  expect_rows({RoutingForm::indexed, wide.data(), DType::i64, {map, 6}}, owner);
  expect_rows({RoutingForm::indexed, ids, DType::i32, {map, 0}}, std::vector(12, std::int64_t{-1}));
}

TEST_F(LinearExpertsOnHost, RefusesWhatDoesNotFit) {
  const std::int32_t ids[kRows] = {};
  HostMatrix out(DType::f32, kRows, kCols / 2), short_out(DType::f32, kRows - 1, kCols / 2);
  const auto refused = [&](const PackedLinear& weight, const ExpertRouting& routing,
                           const Tensor& x, const Tensor& to) {
    const auto made = linear_experts(*runtime_, x, weight, factors_, routing, to, options());
    return made ? ErrorCode::internal : made.error().code;
  };
  const ExpertRouting by_id{RoutingForm::indexed, ids};
  PackedLinear one = experts(), plain = experts();
  one.shape = Shape{kCols, kDepth}, plain.gated = Gated::none;
  Tensor five = x_.view(), counted = x_.view();
  five.shape = Shape{5, kDepth};
  const std::int64_t rows = kRows;
  counted.device_rows = &rows;
  EXPECT_EQ(refused(one, by_id, x_.view(), out.view()), ErrorCode::not_supported);
  EXPECT_EQ(refused(plain, by_id, x_.view(), out.view()), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(experts(), {}, x_.view(), out.view()), ErrorCode::missing_buffer);
  EXPECT_EQ(refused(experts(), by_id, x_.view(), short_out.view()), ErrorCode::shape_mismatch);
  EXPECT_EQ(refused(experts(), by_id, counted, out.view()), ErrorCode::not_supported);
  EXPECT_EQ(refused(experts(), {RoutingForm::masked, ids}, five, out.view()),
            ErrorCode::shape_mismatch);
  const auto routing_refused = [&](const ExpertRouting& routing) {
    return refused(experts(), routing, x_.view(), out.view());
  };
  EXPECT_EQ(routing_refused({static_cast<RoutingForm>(9), ids}), ErrorCode::value_not_allowed);
  EXPECT_EQ(routing_refused({RoutingForm::indexed, ids, DType::u8}), ErrorCode::dtype_mismatch);
  EXPECT_EQ(routing_refused({RoutingForm::masked, ids, DType::i64}), ErrorCode::dtype_mismatch);
  EXPECT_EQ(routing_refused({RoutingForm::masked, ids, DType::i32, {ids, 4}}),
            ErrorCode::not_supported);
  std::uint32_t word = 0;
  EXPECT_EQ(routing_refused({RoutingForm::masked, ids, DType::i32, {}, &word}),
            ErrorCode::not_supported);
  EXPECT_EQ(routing_refused({RoutingForm::indexed, ids, DType::i32, {ids, -1}}),
            ErrorCode::value_not_allowed);
  const auto prepared = PreparedLinearExperts::prepare(*runtime_, device_, {}).value();
  EXPECT_EQ(
      prepared.run(x_.view(), experts(), factors_, by_id, out.view(), options(), {}).error().code,
      ErrorCode::not_supported);
}

}  // namespace
}  // namespace diecast
