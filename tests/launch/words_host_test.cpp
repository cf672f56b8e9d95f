// CUDA's words as this processor runs them; see words.h and types.h.
#include <diecast/base/machine.h>
#include <diecast/compile/host_cxx.h>
#include <diecast/launch/host_device.h>

#include "launch/types.h"

#if defined(DIECAST_HAS_HOST_DEVICE)

namespace diecast {
namespace {

// Both builds for this processor, where it has two.
std::vector<Target> targets() {
  std::vector<Target> out(1);
  if (has_avx2()) out.emplace_back().host_level = 3;
  return out;
}

TEST(WordsOnHost, GiveWhatCudaGives) {
  const auto compiler = open_host_cxx(HostCxxOptions::from_environment()).value();
  for (const Target& target : targets())
    testing::expect_words_equal(*open_host_device({.threads = 3}), *compiler, target);
}

TEST(WordsOnHost, ConvertEveryTypeAndComputeWithPairs) {
  const auto compiler = open_host_cxx(HostCxxOptions::from_environment()).value();
  for (const Target& target : targets())
    testing::expect_types_equal(*open_host_device({.threads = 3}), *compiler, target);
}

}  // namespace
}  // namespace diecast

#endif
