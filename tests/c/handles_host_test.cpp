// Handles: closed, invented, of another kind, in use, in a forked child.
#include <atomic>
#include <chrono>
#include <thread>

#include "c/c_fixture.h"
#include "child_process.h"

namespace diecast {
namespace {

using testing::COnHost;
using testing::CTensor;
using testing::Handle;
using testing::last_error;

class CHandles : public COnHost {
 protected:
  int amax(diecast_handle runtime, diecast_handle device) {
    diecast_amax_tensors tensors{};
    tensors.size = sizeof tensors;
    tensors.x = x_.get();
    tensors.out = out_.get();
    return diecast_amax(runtime, device, &tensors, nullptr, nullptr);
  }
  std::vector<float> values_ = std::vector<float>(64, -2.5f), result_ = {0};
  CTensor x_{values_, {4, 16}}, out_{result_, {1}};
};

TEST_F(CHandles, ThatAreClosedAreAnErrorForEverAfter) {
  diecast_handle runtime = 0;
  ASSERT_EQ(testing::open_test_runtime(&runtime), diecast_ok);
  EXPECT_EQ(diecast_close(runtime), diecast_ok);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(amax(runtime, host_), diecast_invalid_argument);
    EXPECT_EQ(last_error(),
              "invalid_argument: amax: the handle is of no open runtime\n"
              "  fix: pass the handle of an open runtime");
    EXPECT_EQ(diecast_close(runtime), diecast_invalid_argument);
    Handle next;  // in the same place of the table
    ASSERT_EQ(testing::open_test_runtime(next.to()), diecast_ok);
    EXPECT_NE(next, runtime);
  }
}

TEST_F(CHandles, OfAnotherKindOrInventedAreAnError) {
  EXPECT_EQ(amax(host_, host_), diecast_invalid_argument);
  EXPECT_EQ(amax(runtime_, runtime_), diecast_invalid_argument);
  for (const diecast_handle invented :
       {diecast_handle{1}, ~diecast_handle{0}, diecast_handle{1} << 32,
        runtime_ ^ diecast_handle{1} << 63, diecast_handle{0xFFFFFFFF}}) {
    EXPECT_EQ(amax(runtime_, invented), diecast_invalid_argument) << invented;
    EXPECT_EQ(diecast_close(invented), diecast_invalid_argument) << invented;
  }
  EXPECT_EQ(diecast_close(0), diecast_invalid_argument);
}

TEST_F(CHandles, OfADeviceAreGivenBackByEachCall) {
  diecast_handle device = 0;
  ASSERT_EQ(diecast_device_open_host(1, &device), diecast_ok);
  EXPECT_EQ(amax(runtime_, device), diecast_ok);
  EXPECT_EQ(diecast_close(device), diecast_ok);
  EXPECT_EQ(amax(runtime_, device), diecast_invalid_argument);
}

// What was made of a runtime goes on without it.
TEST_F(CHandles, OfAnOpOutliveItsRuntimeAndDevice) {
  Handle op;
  diecast_amax_tensors tensors{};
  tensors.size = sizeof tensors;
  tensors.x = x_.get();
  {
    Handle runtime, device;
    ASSERT_EQ(testing::open_test_runtime(runtime.to()), diecast_ok);
    ASSERT_EQ(diecast_device_open_host(1, device.to()), diecast_ok);
    ASSERT_EQ(diecast_op_prepare(runtime, device, diecast_op_amax, &tensors, nullptr, op.to()),
              diecast_ok)
        << last_error();
  }
  tensors.out = out_.get();
  EXPECT_EQ(diecast_op_run(op, &tensors, nullptr, nullptr), diecast_ok) << last_error();
  EXPECT_EQ(result_[0], 2.5f);
}

// An event callback that is inside a call of the runtime.
struct Inside {
  diecast_handle runtime = 0;
  std::atomic<bool> entered = false, leave = false;
  std::atomic<int> closed = diecast_ok;
};
void on_event(void* user, const char*, const char*, const char*, double) {
  auto& inside = *static_cast<Inside*>(user);
  if (inside.entered.exchange(true)) return;
  inside.closed = diecast_close(inside.runtime);
  while (!inside.leave) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(CHandles, AreClosedWhenTheCallsOfOtherThreadsHaveReturned) {
  Inside inside;
  ASSERT_EQ(testing::open_test_runtime(&inside.runtime, on_event, &inside), diecast_ok);
  std::atomic<bool> closed = false;
  std::thread caller([&] { EXPECT_EQ(amax(inside.runtime, host_), diecast_ok) << last_error(); });
  while (!inside.entered) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::thread closer([&] {
    EXPECT_EQ(diecast_close(inside.runtime), diecast_ok) << last_error();
    EXPECT_EQ(result_[0], 2.5f);  // the call has done its work
    closed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(closed);
  inside.leave = true;
  caller.join();
  closer.join();
  EXPECT_EQ(inside.closed, diecast_invalid_argument);  // from within the callback
}

// Neither the parent's calls in flight nor its threads are there.
TEST_F(CHandles, ServeAForkedChildThatClosesThem) {
  Inside inside;
  ASSERT_EQ(amax(runtime_, host_), diecast_ok) << last_error();  // a child compiles nothing
  ASSERT_EQ(testing::open_test_runtime(&inside.runtime, on_event, &inside), diecast_ok);
  std::thread caller([&] { EXPECT_EQ(amax(inside.runtime, host_), diecast_ok) << last_error(); });
  while (!inside.entered) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const int code = testing::in_child([&] {
    ::alarm(60);
    result_[0] = 0;
    if (amax(runtime_, host_) != diecast_ok || result_[0] != 2.5f) return 1;
    return diecast_close(inside.runtime) == diecast_ok ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
  inside.leave = true;
  caller.join();
  EXPECT_EQ(diecast_close(inside.runtime), diecast_ok) << last_error();
}

TEST_F(CHandles, AreUsedAndClosedByManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        diecast_handle device = 0;
        wrong += diecast_device_open_host(1, &device) != diecast_ok;
        diecast_device_info info{};
        info.size = sizeof info;
        wrong += diecast_device_info_read(device, &info) != diecast_ok;
        wrong += diecast_close(device) != diecast_ok;
        wrong += diecast_device_info_read(device, &info) != diecast_invalid_argument;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace diecast
