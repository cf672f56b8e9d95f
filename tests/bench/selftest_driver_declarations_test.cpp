// Holds the declarations of selftest_driver.h against NVIDIA's own: as many parameters, of the same
// sizes, and the constants. Needs a CUDA toolkit's headers, nothing else.
#include <gtest/gtest.h>

#include "bench/selftest_driver.h"
#include "cuda_headers.h"

#if defined(DIECAST_HAS_CUDA_H) && CUDA_VERSION >= 12040

namespace diecast {
namespace {

template <class Result, class... Parameters>
std::vector<std::size_t> sizes(Result (*)(Parameters...)) {
  return {sizeof(Result), sizeof(Parameters)...};
}

TEST(SelftestDriverDeclarations, AreNvidias) {
#define DIECAST_SAME(name, nvidias, parameters)              \
  EXPECT_EQ(sizes(static_cast<cuda::name##_type*>(nullptr)), \
            sizes(static_cast<PFN_##nvidias>(nullptr)))      \
      << #nvidias;
  DIECAST_SELFTEST_CUDA_FUNCTIONS(DIECAST_SAME)
#undef DIECAST_SAME
  EXPECT_EQ(cuda::not_ready, CUDA_ERROR_NOT_READY);
}

}  // namespace
}  // namespace diecast

#else

TEST(SelftestDriverDeclarations, AreNvidias) {
  GTEST_SKIP() << "no cuda.h and cudaTypedefs.h of CUDA 12.4 or newer on the include path";
}

#endif
