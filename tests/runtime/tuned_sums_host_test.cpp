// A tune that only sums in another order is found out, also where a type of few bits hides it.
#include <diecast/runtime/tuner.h>
#include <diecast/runtime/tuning/trial.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/tuner_fixture.h"

namespace diecast {
namespace {

using Outcome = TuningRecord::Outcome;

// A row is summed in `lanes` sums, which then meet in pairs. A row gives, by kind, the sum of its
// numbers (0), of their squares (1), of products (2), or all its numbers divided: by the root of
// the mean square (3), by the sum of exponentials (4).
constexpr const char* kSums = R"(/* diecast
option type T {bf16, f16, f32}
tune int lanes {1, 4, 32, 64} = 32
size rows
size cols
arg x in T [rows, cols]
arg w in T [cols]
arg kind i32
arg sums out T [rows]
arg y out T [rows, cols]
arg rows
arg cols
launch grid(rows, lanes) block(1)
target host
exchange none
*/
#include <diecast/device/math/math.h>
#include <diecast/device/numbers/convert.h>

DIECAST_DEVICE f32 term(int kind, f32 x, f32 w) {
  if (kind == 0) return x;
  if (kind == 2) return x * w;
  return kind == 4 ? math::exp(x) : x * x;
}

DIECAST_KERNEL {
  if (blockIdx.y > 0) return;
  const T* const row = x + blockIdx.x * cols;
  const i64 lanes = gridDim.y;
  f32 lane[64] = {};
  for (i64 i = 0; i < cols; ++i) lane[i % lanes] += term(kind, to_f32(row[i]), to_f32(w[i]));
  for (i64 half = lanes / 2; half > 0; half /= 2)
    for (i64 i = 0; i < half; ++i) lane[i] += lane[i + half];
  sums[blockIdx.x] = from_f32<T>(kind < 3 ? lane[0] : 0.0f);
  const f32 factor = kind == 3 ? __frcp_rn(__fsqrt_rn(lane[0] / cols)) : 1 / lane[0];
  for (i64 i = 0; i < cols && kind >= 3; ++i) {
    const f32 one = kind == 3 ? to_f32(row[i]) : math::exp(to_f32(row[i]));
    y[blockIdx.x * cols + i] = from_f32<T>(one * factor * (kind == 3 ? to_f32(w[i]) : 1));
  }
}
)";

class TunedSums : public TunerOnHost {
 protected:
  void SetUp() override {
    TunerOnHost::SetUp();
    if (IsSkipped()) return;
    testing::write_text(folder_ / "sums.cu", kSums);
    ASSERT_TRUE(runtime_->add(folder_ / "sums.cu"));
  }
};

// Whether no order of such a sum can hide. Two sums in lanes differ by a last bit of f32, which a
// division of 16-bit numbers may hide.
bool shows(DType type, int kind, std::string_view tunes) {
  return type == DType::f32 || tunes == "lanes=1" || kind < 3;
}

TEST_F(TunedSums, InAnotherOrderAreFoundOutInEveryType) {
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
    for (std::int32_t kind = 0; kind < 5; ++kind) {
      TuneRequest request;
      request.name = "sums";
      request.bindings.set("T", type);
      request.sizes = {{{"rows", 64}, {"cols", 256}}};
      request.given = {{"kind", KernelArgument::scalar(kind)}};
      request.samples = 1;
      const auto records = runtime_->tune(request, device_);
      ASSERT_TRUE(records) << records.error().message();
      EXPECT_EQ(records->size(), 4u);
      for (const TuningRecord& one : *records) {
        if (one.tunes == "lanes=32")
          EXPECT_EQ(one.outcome, Outcome::timed) << one.line() << one.why;
        else if (shows(type, kind, one.tunes))
          EXPECT_EQ(one.outcome, Outcome::differs) << "kind " << kind << ": " << one.line();
        if (one.outcome != Outcome::differs) continue;
        EXPECT_NE(one.why.find("an `option`; or, where"), std::string::npos) << one.why;
        EXPECT_NE(one.why.find("end its line in `approx`"), std::string::npos) << one.why;
      }
    }
  }
}

// What is timed does not depend on how many draws there are.
TEST_F(TunedSums, LeaveTheInputsThatAreTimed) {
  const auto one = runtime_->specialize_for("sums", Bindings().set("T", DType::bf16), *device_);
  ASSERT_TRUE(one) << one.error().message();
  auto trial = Trial::make(*one, device_, {{"rows", 3}, {"cols", 40}},
                           {{"kind", KernelArgument::scalar(std::int32_t{0})}});
  ASSERT_TRUE(trial) << trial.error().message();
  EXPECT_EQ(trial->draws(), 512u);
  const auto x = [&] {
    const auto* const data = static_cast<const std::uint16_t*>(trial->arguments()[0].data);
    return std::vector<std::uint16_t>(data, data + 3 * 40);
  };
  const auto timed = x();
  for (const std::uint64_t draw : {1, 2, 3}) {
    ASSERT_TRUE(trial->draw(draw));
    EXPECT_NE(x(), timed) << draw;
  }
  ASSERT_TRUE(trial->draw(0));
  EXPECT_EQ(x(), timed);
}

}  // namespace
}  // namespace diecast
