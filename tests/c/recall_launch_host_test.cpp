// Launches of kernels that repeat: what is kept of the last ones changes nothing of what a launch
// does and says.
#include <functional>
#include <thread>

#include "c/c_fixture.h"

namespace diecast {
namespace {

using testing::COnHost;
using testing::CTensor;
using testing::Handle;
using testing::last_error;

constexpr const char* kAffine = R"(/* diecast
size rows
size cols
arg x in f32 [rows, cols] stride
arg shift in f32 [cols] optional
arg out out f32 [rows, cols]
arg rows
arg cols
arg factor f32
arg times i8
arg pair struct Pair 8
launch grid(1) block(1)
target host
exchange none
*/
struct Pair { f32 first, second; };
DIECAST_KERNEL {
  for (i64 i = 0; i < rows * cols; ++i) {
    out[i] = x[i / cols * x_stride + i % cols] * factor * times + pair.first - pair.second;
    if constexpr (HAS_SHIFT) out[i] += shift[i % cols];
  }
}
)";

// A launch with memory of its own.
struct Launch {
  explicit Launch(float seed = 1) {
    for (float& value : x_) value = seed++;
  }
  std::vector<float> x_ = std::vector<float>(64), shift_ = std::vector<float>(8, 0.5F),
                     out_ = std::vector<float>(64);
  std::int64_t strides[2] = {3, 1};
  CTensor x{x_, {4, 3}}, shift{shift_, {3}}, out{out_, {4, 3}};
  float pair[2] = {7, 5};
  std::vector<diecast_argument> arguments = {{"x", DIECAST_TENSOR, x.get(), 0, 0, nullptr},
                                             {"shift", DIECAST_TENSOR, shift.get(), 0, 0, nullptr},
                                             {"factor", DIECAST_NUMBER, nullptr, 0, 0.5, nullptr},
                                             {"times", DIECAST_INTEGER, nullptr, 2, 0, nullptr},
                                             {"pair", DIECAST_BYTES, nullptr, sizeof pair, 0, pair},
                                             {"rows", DIECAST_SIZE, nullptr, 4, 0, nullptr},
                                             {"out", DIECAST_TENSOR, out.get(), 0, 0, nullptr}};
};

class CRecalledLaunch : public COnHost {
 protected:
  using Change = std::function<void(Launch&)>;
  struct Outcome {
    std::int32_t code;
    std::string error;
    std::vector<float> out;
    bool operator==(const Outcome&) const = default;
  };
  void SetUp() override {
    COnHost::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(diecast_template_add_text(runtime_, "affine", kAffine), diecast_ok) << last_error();
    ASSERT_EQ(diecast_kernel_prepare(runtime_, host_, "affine", kernel_.to()), diecast_ok)
        << last_error();
  }
  Outcome run(const Change& change) {
    Launch launch;
    change(launch);
    const auto code =
        diecast_kernel_launch(kernel_, launch.arguments.data(), launch.arguments.size(), nullptr);
    return {code, code == diecast_ok ? "" : last_error(), launch.out_};
  }
  // In a thread that keeps nothing yet.
  Outcome run_first(const Change& change) {
    Outcome outcome;
    std::thread([&] { outcome = run(change); }).join();
    return outcome;
  }
  Handle kernel_;
};

TEST_F(CRecalledLaunch, DoesAndSaysWhatAFirstOneDoes) {
  const Change changes[] = {
      [](Launch&) {},
      [](Launch& of) { of.x_.assign(64, -2); },
      [](Launch& of) { of.arguments[2].number = -1.5; },
      [](Launch& of) { of.arguments[2] = {"factor", DIECAST_INTEGER, nullptr, 3, 0, nullptr}; },
      [](Launch& of) { of.arguments[2].kind = DIECAST_BYTES; },
      [](Launch& of) { of.arguments[3].integer = -7; },
      [](Launch& of) { of.arguments[3].integer = 128; },
      [](Launch& of) { of.arguments[3].kind = DIECAST_NUMBER; },
      [](Launch& of) { of.pair[0] = 70; },
      [](Launch& of) { of.arguments[4].integer = 4; },
      [](Launch& of) { of.arguments[5].integer = 3; },
      [](Launch& of) { of.arguments[5].name = "cols"; },
      [](Launch& of) { of.arguments[5].name = nullptr; },
      [](Launch& of) { of.arguments[0].tensor = nullptr; },
      [](Launch& of) { of.arguments[6].tensor = nullptr; },
      [](Launch& of) { of.arguments.pop_back(); },
      [](Launch& of) { of.arguments.erase(of.arguments.begin() + 5); },
      [](Launch& of) { of.arguments.push_back(of.arguments[0]); },
      [](Launch& of) { std::swap(of.arguments[0], of.arguments[6]); },
      [](Launch& of) { of.x->data = nullptr; },
      [](Launch& of) { of.x->byte_offset = 16; },
      [](Launch& of) { of.x->byte_offset = 4; },
      [](Launch& of) { of.x->byte_offset = 2; },
      [](Launch& of) { of.x->shape[0] = 3; },
      [](Launch& of) { of.x->shape[1] = 2; },
      [](Launch& of) { of.x->shape[0] = -1; },
      [](Launch& of) { of.x->shape = nullptr; },
      [](Launch& of) { of.x->ndim = 1; },
      [](Launch& of) { of.x->ndim = 9; },
      [](Launch& of) { of.x->type_bits = 16; },
      [](Launch& of) { of.x->device_type = 2; },
      [](Launch& of) { of.x->device_id = 1; },
      [](Launch& of) { of.strides[0] = 5, of.x->strides = of.strides; },
      [](Launch& of) { of.x->strides = of.strides; },
      [](Launch& of) { of.out->data = of.x->data; },
      [](Launch& of) { of.out->data = of.x_.data() + 11; },
      [](Launch& of) { of.out->data = of.x_.data() + 12; },
      [](Launch& of) { of.shift->data = of.out_.data() + 8; },
      [](Launch& of) { of.shift->data = of.x->data; },
      [](Launch& of) { of.shift->data = nullptr; },
      [](Launch& of) { of.shift->shape[0] = 4; },
  };
  int number = 0;
  for (const Change& change : changes) {
    const Outcome good = run_first(changes[0]);
    ASSERT_EQ(good.code, diecast_ok) << good.error;
    for (int again = 0; again < 3; ++again) EXPECT_EQ(run(changes[0]), good);
    const Outcome wanted = run_first(change);
    for (int again = 0; again < 2; ++again) {
      const Outcome got = run(change);
      EXPECT_EQ(got.code, wanted.code) << number << ": " << got.error;
      EXPECT_EQ(got.error, wanted.error) << number;
      EXPECT_EQ(got.out, wanted.out) << number;
    }
    ++number;
  }
}

TEST_F(CRecalledLaunch, IsOfItsOwnKernel) {
  Launch launch;
  const auto run = [&](diecast_handle kernel) {
    return diecast_kernel_launch(kernel, launch.arguments.data(), launch.arguments.size(), nullptr);
  };
  ASSERT_EQ(run(kernel_), diecast_ok);
  diecast_handle other = 0;
  ASSERT_EQ(diecast_kernel_prepare(runtime_, host_, "affine", &other), diecast_ok);
  EXPECT_EQ(run(other), diecast_ok);
  EXPECT_EQ(run(other), diecast_ok);
  EXPECT_EQ(diecast_close(other), diecast_ok);
  EXPECT_EQ(run(other), diecast_invalid_argument);
  EXPECT_EQ(run(kernel_), diecast_ok);
}

}  // namespace
}  // namespace diecast
