// CUDA's words as this processor runs them; see words.h and types.h.
#include <diecast/compile/host_cxx.h>
#include <diecast/launch/host_device.h>

#include "launch/types.h"

#if defined(DIECAST_HAS_HOST_DEVICE)

namespace diecast {
namespace {

TEST(WordsOnHost, GiveWhatCudaGives) {
  const auto compiler = open_host_cxx(HostCxxOptions::from_environment()).value();
  testing::expect_words_equal(*open_host_device({.threads = 3}), *compiler, Target{});
}

TEST(WordsOnHost, ConvertEveryTypeAndComputeWithPairs) {
  const auto compiler = open_host_cxx(HostCxxOptions::from_environment()).value();
  testing::expect_types_equal(*open_host_device({.threads = 3}), *compiler, Target{});
}

}  // namespace
}  // namespace diecast

#endif
