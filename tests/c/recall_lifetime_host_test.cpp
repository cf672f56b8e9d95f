// Calls like a thread's last one when something behind them has ended or changed: a runtime, a
// device or an op whose handle's place is used again, options, the thread, the process.
#include <atomic>

#include "c/recall_fixture.h"
#include "child_process.h"

namespace diecast {
namespace {

using testing::CRecall;
using testing::Handle;
using testing::last_error;
using testing::Memory;

std::uint32_t place_of(diecast_handle handle) { return static_cast<std::uint32_t>(handle); }

TEST_F(CRecall, ARuntimeInAClosedOnesPlacePreparesForItself) {
  Memory memory(0.1F);
  Handle first;
  ASSERT_EQ(testing::open_test_runtime(first.to()), diecast_ok);
  const auto tensors = memory.tensors();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(diecast_quantize_nvfp4(first, host_, &tensors, &options_, nullptr), diecast_ok);
  ASSERT_EQ(diecast_close(first), diecast_ok);
  Handle next;
  ASSERT_EQ(testing::open_test_runtime(next.to()), diecast_ok);
  ASSERT_EQ(place_of(next), place_of(first));
  EXPECT_EQ(found(first, host_, memory), diecast_invalid_argument);
  EXPECT_EQ(found(next, host_, memory), DIECAST_NOT_PREPARED);
  ASSERT_EQ(diecast_quantize_nvfp4(next, host_, &tensors, &options_, nullptr), diecast_ok);
  EXPECT_EQ(found(next, host_, memory), diecast_ok);
  *first.to() = 0;
}

TEST_F(CRecall, ADeviceInAClosedOnesPlaceIsAnother) {
  Memory memory(0.2F);
  Handle runtime, first;
  ASSERT_EQ(testing::open_test_runtime(runtime.to()), diecast_ok);
  ASSERT_EQ(diecast_device_open_host(3, first.to()), diecast_ok);
  const auto tensors = memory.tensors();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(diecast_quantize_nvfp4(runtime, first, &tensors, &options_, nullptr), diecast_ok);
  const diecast_handle closed = first;
  ASSERT_EQ(diecast_close(closed), diecast_ok);
  ASSERT_EQ(diecast_device_open_host(2, first.to()), diecast_ok);
  ASSERT_EQ(place_of(first), place_of(closed));
  EXPECT_EQ(found(runtime, closed, memory), diecast_invalid_argument);
  EXPECT_EQ(found(runtime, first, memory), DIECAST_NOT_PREPARED);
}

// The form of a call that one prepared op ran is another one's too, but not what it was prepared
// for.
TEST_F(CRecall, AnOpInAClosedOnesPlaceRunsWhatItWasPreparedFor) {
  Memory memory(0.3F);
  const auto tensors = memory.tensors();
  const auto prepare = [&](const diecast_quantize_nvfp4_options& options, Handle& op) {
    return diecast_op_prepare(runtime_, host_, diecast_op_quantize_nvfp4, &tensors, &options,
                              op.to());
  };
  Handle first, next;
  ASSERT_EQ(prepare(options_, first), diecast_ok) << last_error();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(diecast_op_run(first, &tensors, &options_, nullptr), diecast_ok) << last_error();
  ASSERT_EQ(diecast_close(first), diecast_ok);
  auto other = options_;
  other.profile = "modelopt";
  ASSERT_EQ(prepare(other, next), diecast_ok) << last_error();
  ASSERT_EQ(place_of(next), place_of(first));
  EXPECT_EQ(diecast_op_run(first, &tensors, &options_, nullptr), diecast_invalid_argument);
  EXPECT_EQ(diecast_op_run(next, &tensors, &options_, nullptr), diecast_not_supported);
  EXPECT_EQ(diecast_op_run(next, &tensors, &other, nullptr), diecast_ok) << last_error();
  *first.to() = 0;
}

TEST_F(CRecall, OptionsThatChangedAreRead) {
  const auto expect_as_first = [&](const diecast_quantize_nvfp4_options* options) {
    const auto call = [&](Memory& of) {
      const auto tensors = of.tensors();
      return diecast_quantize_nvfp4(runtime_, host_, &tensors, options, nullptr);
    };
    Memory again(0.4F), alone(0.4F);
    repeat(again);  // with the defaults
    ASSERT_EQ(call(again), diecast_ok) << last_error();
    ASSERT_EQ(first(call, alone), diecast_ok);
    EXPECT_TRUE(again.same_as(alone));
  };
  auto other = options_;
  other.four_over_six = "mse";
  expect_as_first(&other);
  other.e4m3_bound = 256;
  expect_as_first(&other);
  other = options_;
  other.profile = "modelopt";
  expect_as_first(&other);
  other.size = sizeof(std::size_t) + sizeof other.direction;  // an earlier program's
  expect_as_first(&other);
  expect_as_first(nullptr);
}

TEST_F(CRecall, ScalesThatAreGivenAreReadWhereTheyLie) {
  expect_same([&](Memory& m) {
    m.amax_[0] = 2 + m.x_[0];
    auto tensors = m.tensors();
    tensors.amax = m.amax.get(), tensors.out_amax = nullptr;
    return diecast_quantize_nvfp4(runtime_, host_, &tensors, &options_, nullptr);
  });
}

TEST_F(CRecall, ThreadsKeepTheirOwn) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (const float seed : {0.5F, 0.6F, 0.7F}) {
    threads.emplace_back([&, seed] {
      Memory alone(seed);
      wrong += first([&](Memory& m) { return quantize(m); }, alone) != diecast_ok;
      for (int i = 0; i < 50; ++i) {
        Memory again(seed);
        wrong += quantize(again) != diecast_ok || !again.same_as(alone);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// What a thread keeps has ended before this, which was made before it.
TEST_F(CRecall, ACallAsTheThreadEndsIsAsAFirstOne) {
  struct AtEnd {
    std::function<void()> call;
    ~AtEnd() {
      if (call) call();
    }
  };
  Memory last(0.8F), alone(0.8F);
  int code = -1;
  std::thread([&] {
    static thread_local AtEnd at_end;
    at_end.call = [&] {
      for (int i = 0; i < 3; ++i) code = quantize(last);
    };
    Memory before(0.9F);
    repeat(before);
  }).join();
  EXPECT_EQ(code, diecast_ok);
  ASSERT_EQ(first([&](Memory& m) { return quantize(m); }, alone), diecast_ok);
  EXPECT_TRUE(last.same_as(alone));
}

TEST_F(CRecall, AForkedChildGoesOnAlike) {
  Memory memory(0.8F);
  repeat(memory);
  const int code = testing::in_child([&] {
    ::alarm(60);
    Memory again(0.8F);
    if (quantize(again) != diecast_ok || !again.same_as(memory)) return 1;
    again.x->data = nullptr;
    return quantize(again) == diecast_missing_buffer ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace diecast
