// Tuning through the C interface with arguments that a header alone does not tell.
#include "c/c_fixture.h"

namespace diecast {
namespace {

using testing::COnHost;
using testing::CTensor;
using testing::last_error;

constexpr const char* kGather = R"(/* diecast
tune     int   THREADS {32, 64} = 32
size     n
size     count
arg      x      in   f32  [n]
arg      index  in   i32  [count]
arg      shift  i32
arg      pair   struct Pair 8
arg      eps    f32
arg      y      out  f32  [count]
arg      n
arg      count
launch   grid(1) block(THREADS)
target   host
exchange none
*/
struct Pair { i32 first, second; };
DIECAST_KERNEL {
  for (i64 i = threadIdx.x; i < count; i += THREADS) {
    assert(index[i] < n && shift == 3 && pair.second == 5 && eps == 0.5f);
    y[i] = x[index[i]];
  }
}
)";

class CTuneGiven : public COnHost {
 protected:
  void SetUp() override {
    COnHost::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(diecast_template_add_text(runtime_, "gather", kGather), diecast_ok) << last_error();
  }
  std::vector<diecast_argument> given() const {
    return {{"index", DIECAST_TENSOR, index.get(), 0, 0, nullptr},
            {"shift", DIECAST_INTEGER, nullptr, 3, 0, nullptr},
            {"pair", DIECAST_BYTES, nullptr, sizeof pair_, 0, pair_},
            {"eps", DIECAST_NUMBER, nullptr, 0, 0.5, nullptr}};
  }
  int tune(const std::vector<diecast_argument>& given, const char* sizes = "n=8 count=5") {
    records_ = 0;
    const auto count = [](void* user, const char*) { ++*static_cast<int*>(user); };
    return diecast_tune_given(runtime_, host_, "gather", sizes, given.data(), given.size(), count,
                              &records_);
  }
  std::vector<std::int32_t> index_ = {7, 0, 3, 3, 1};
  CTensor index{index_, {5}, 0};
  const std::int32_t pair_[2] = {4, 5};
  int records_ = 0;
};

TEST_F(CTuneGiven, RunsEachConfigurationWithThem) {
  ASSERT_EQ(tune(given()), diecast_ok) << last_error();
  EXPECT_EQ(records_, 2);
}

TEST_F(CTuneGiven, IsRefusedWithoutAnyOfThemAndWithWrongOnes) {
  EXPECT_EQ(tune({}), diecast_not_supported);
  const auto with = [&](std::size_t which, diecast_argument wrong) {
    auto all = given();
    all.at(which) = wrong;
    return tune(all);
  };
  const CTensor four{index_, {4}, 0};
  EXPECT_EQ(with(0, {"index", DIECAST_TENSOR, four.get(), 0, 0, nullptr}), diecast_shape_mismatch);
  EXPECT_EQ(last_error(),
            "shape_mismatch: gather: index: it is [4], and another shape at n=8 count=5\n"
            "  fix: pass the sizes for which it is meant");
  EXPECT_EQ(tune(given(), "n=8 count=5\nn=8 count=6"), diecast_shape_mismatch);
  std::vector<float> floats(5);
  const CTensor other{floats, {5}};
  EXPECT_EQ(with(0, {"index", DIECAST_TENSOR, other.get(), 0, 0, nullptr}), diecast_dtype_mismatch);
  EXPECT_EQ(with(0, {"index", DIECAST_INTEGER, nullptr, 3, 0, nullptr}), diecast_invalid_argument);
  EXPECT_EQ(with(0, {"y", DIECAST_TENSOR, other.get(), 0, 0, nullptr}), diecast_invalid_argument);
  EXPECT_EQ(with(0, {"n", DIECAST_INTEGER, nullptr, 8, 0, nullptr}), diecast_invalid_argument);
  EXPECT_EQ(with(0, {"none", DIECAST_INTEGER, nullptr, 8, 0, nullptr}), diecast_unknown_parameter);
  EXPECT_EQ(with(0, {nullptr, DIECAST_INTEGER, nullptr, 8, 0, nullptr}), diecast_unknown_parameter);
  EXPECT_EQ(with(1, {"index", DIECAST_TENSOR, index.get(), 0, 0, nullptr}),
            diecast_invalid_argument);
  EXPECT_EQ(with(1, {"shift", DIECAST_NUMBER, nullptr, 0, 3.0, nullptr}), diecast_dtype_mismatch);
  EXPECT_EQ(with(2, {"pair", DIECAST_BYTES, nullptr, 4, 0, pair_}), diecast_invalid_argument);
  EXPECT_EQ(
      diecast_tune_given(runtime_, host_, "gather", "n=8 count=5", nullptr, 1, nullptr, nullptr),
      diecast_invalid_argument);
}

}  // namespace
}  // namespace diecast
