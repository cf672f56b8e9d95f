// diecast's declarations of NVRTC against NVIDIA's header, where it is installed.
#include <diecast/compile/nvrtc_api.h>
#include <gtest/gtest.h>

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define DIECAST_HAS_NVRTC_HEADER 1
#elif __has_include("/usr/local/cuda/include/nvrtc.h")
#include "/usr/local/cuda/include/nvrtc.h"
#define DIECAST_HAS_NVRTC_HEADER 1
#else
#define DIECAST_HAS_NVRTC_HEADER 0
#endif

#include <type_traits>

namespace diecast::nvrtc {
namespace {

#if DIECAST_HAS_NVRTC_HEADER

// A type of NVIDIA's with its result type put for ours: the one difference there may be.
template <class T>
struct Ours {
  using type = T;
};
template <>
struct Ours<nvrtcResult> {
  using type = Status;
};
template <class T>
struct Signature;
template <class R, class... P>
struct Signature<R(P...)> {
  using type = typename Ours<R>::type(typename Ours<P>::type...);
};

#define DIECAST_NVRTC_FUNCTION(name, result, parameters) \
  static_assert(std::is_same_v<Signature<decltype(::name)>::type, result parameters>, #name);
DIECAST_NVRTC_FUNCTIONS(DIECAST_NVRTC_FUNCTION)
#undef DIECAST_NVRTC_FUNCTION

TEST(NvrtcDeclarations, AreThoseOfTheHeader) {
  EXPECT_TRUE((std::is_same_v<Program, nvrtcProgram>));
  EXPECT_EQ(sizeof(Status), sizeof(nvrtcResult));
  EXPECT_TRUE(
      (std::is_same_v<std::underlying_type_t<Status>, std::underlying_type_t<nvrtcResult>>));
}

TEST(NvrtcDeclarations, NumberResultsAsTheHeaderDoes) {
  const auto same = [](Status ours, nvrtcResult theirs) {
    return static_cast<unsigned>(ours) == static_cast<unsigned>(theirs);
  };
  EXPECT_TRUE(same(kSuccess, NVRTC_SUCCESS));
  EXPECT_TRUE(same(kOutOfMemory, NVRTC_ERROR_OUT_OF_MEMORY));
  EXPECT_TRUE(same(kCompilation, NVRTC_ERROR_COMPILATION));
  EXPECT_TRUE(same(kBuiltinOperationFailure, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE));
}

#else

TEST(NvrtcDeclarations, AreThoseOfTheHeader) {
  GTEST_SKIP() << "nvrtc.h is not installed (install cuda-nvrtc-dev)";
}

#endif

}  // namespace
}  // namespace diecast::nvrtc
