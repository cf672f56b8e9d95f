// CUDA's words on a GPU; see words.h and types.h.
#include <diecast/launch/cuda_device.h>

#include "compiled_kernel.h"
#include "launch/types.h"

namespace diecast {
namespace {

TEST(WordsOnGpu, GiveWhatTheHostGives) {
  const auto count = cuda_device_count();
  if (!count || *count == 0) GTEST_SKIP() << "no CUDA device";
  if (!testing::nvrtc()) GTEST_SKIP() << testing::nvrtc().error().message();
  const auto device = open_cuda_device(0).value();
  const auto targets = Target::for_device(device->properties().cc);
  testing::expect_words_equal(device, **testing::nvrtc(), targets.at(0));
  testing::expect_types_equal(device, **testing::nvrtc(), targets.at(0));
}

}  // namespace
}  // namespace diecast
