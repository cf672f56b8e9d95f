// Stochastic rounding on a GPU: as on the host, and a captured graph reads the state at each
// replay.
#include <diecast/base/library.h>

#include "ops/gpu_device_test.h"
#include "ops/stochastic_properties.h"

namespace diecast::testing {
namespace {

class StochasticOnGpu : public GpuDeviceTest {};

TEST_F(StochasticOnGpu, TheStateIsReadAtEachLaunch) {
  expect_state_is_read_at_each_launch(device_);
}

TEST_F(StochasticOnGpu, MeansConverge) { expect_means_converge(device_, 4096); }

TEST_F(StochasticOnGpu, ACapturedGraphReadsTheStateAtEachReplay) {
  const auto libcuda = Library::open("libcuda.so.1").value();
  const auto call = [&](const char* name, auto* function, auto... arguments) {
    function = libcuda.template function<std::remove_pointer_t<decltype(function)>>(name);
    ASSERT_NE(function, nullptr) << name;
    ASSERT_EQ(function(arguments...), 0) << name;
  };
  StochasticMatrix matrix(device_);
  matrix.quantized({3, 3});  // prepared
  const Stream stream = device_->create_stream().value();
  void *context = nullptr, *graph = nullptr, *executable = nullptr;
  // A context of this device is current here, as in an engine.
  call("cuDevicePrimaryCtxRetain", static_cast<int (*)(void**, int)>(nullptr), &context, 0);
  call("cuCtxSetCurrent", static_cast<int (*)(void*)>(nullptr), context);
  call("cuStreamBeginCapture_v2", static_cast<int (*)(void*, int)>(nullptr), stream.handle, 2);
  quantize_nvfp4(*test_runtime(), matrix.x(), matrix.out(), matrix.options(), stream).value();
  call("cuStreamEndCapture", static_cast<int (*)(void*, void**)>(nullptr), stream.handle, &graph);
  call("cuGraphInstantiateWithFlags",
       static_cast<int (*)(void**, void*, unsigned long long)>(nullptr), &executable, graph, 0ull);
  for (const std::uint64_t offset : {8u, 9u}) {
    matrix.set_state({3, offset});
    call("cuGraphLaunch", static_cast<int (*)(void*, void*)>(nullptr), executable, stream.handle);
    device_->synchronize(stream).value();
    EXPECT_EQ(matrix.codes(), matrix.expected(reference::RandomState{3, offset}).codes);
  }
}

}  // namespace
}  // namespace diecast::testing
