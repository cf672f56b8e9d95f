// Templates of a kernel engineer through the command and the real compilers: NVRTC, and what of it
// the host's compiler has to say too.
#include <diecast/compile/nvrtc.h>
#include <gtest/gtest.h>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::ToolRun;

class OwnTemplate : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto nvrtc = open_nvrtc({}); !nvrtc) GTEST_SKIP() << nvrtc.error().what;
    const char* const named = std::getenv("DIECAST_NVRTC");
    diecast_.set("DIECAST_NVRTC", named == nullptr ? "" : named);
    if (const char* path = std::getenv("LD_LIBRARY_PATH")) diecast_.set("LD_LIBRARY_PATH", path);
  }
  ProcessResult compile(const std::string& name, const std::string& text,
                        const std::string& spelling) {
    const std::string path = diecast_.folder / (name + ".cu");
    testing::write_text(path, text);
    return diecast_({"compile", spelling, "--add", path});
  }
  ToolRun diecast_;
};

TEST_F(OwnTemplate, WaitsLateWithAnArgumentItself) {
  const auto run = compile("late", R"(/* diecast
size n
arg x in f32 [n]
arg y out f32 [n]
arg n
launch grid(1) block(32) dependent(late)
*/
#include <diecast/device/threads/dependent.h>
DIECAST_KERNEL {
  launch_before_ended(x);
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x];
}
)",
                           "late @ sm_90a sm_80 host");
  EXPECT_EQ(run.exit_code, 0) << run.errors;
}

// Where rows cannot be apart their distance is an expression of the header, in the source's words.
TEST_F(OwnTemplate, RowsThatAreNotApartHaveALengthThatTypesAndTargetsDecide) {
  const auto run = compile("strided", R"(/* diecast
option bool APART = false
option type IN {bf16, f32} = f32
size rows
size cols
arg x in IN [rows, IN == f32 && bits(IN) == 32 ? cols : host || cc > 80 ? 8 : 1] stride (APART)
arg y out i64 [1]
arg rows
arg cols
launch grid(1) block(1)
*/
DIECAST_KERNEL { y[0] = x_stride; }
)",
                           "strided APART=* IN=* @ sm_90a host");
  EXPECT_EQ(run.exit_code, 0) << run.errors;
}

TEST_F(OwnTemplate, ThatTakesTooMuchStaticSharedMemoryIsToldSo) {
  const auto run = compile("huge", R"(/* diecast
size n
arg y out f32 [n]
arg n
launch grid(1) block(32)
*/
DIECAST_KERNEL {
  __shared__ f32 values[60000];
  values[threadIdx.x * 7] = static_cast<f32>(n);
  __syncthreads();
  y[threadIdx.x] = values[n];
}
)",
                           "huge @ sm_90a");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("uses too much shared data (0x3a980 bytes"), std::string::npos)
      << run.errors;
}

// Both compilers name the arg line of a structure that has another size or none.
TEST_F(OwnTemplate, AStructureOfAnotherSizeIsToldAtItsLine) {
  const std::string text = R"(/* diecast
size n
arg y out i64 [n]
arg n
arg group struct Group 20
require 1 == 1
launch grid(1) block(1)
*/
struct Group { i64 first, last; };
DIECAST_KERNEL { y[0] = group.first; }
)";
  const auto run = compile("k", text, "k @ host");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("arg group struct Group 20"), std::string::npos) << run.errors;
  EXPECT_NE(run.errors.find("mend k.cu at line 5"), std::string::npos) << run.errors;
}

// As one writes it in CUDA; on a GPU it is what it is there.
TEST_F(OwnTemplate, DynamicSharedMemoryOfCudasOwnIsToldWhatItIsHere) {
  const std::string text = R"(/* diecast
size n
arg y out f32 [n]
arg n
launch grid(1) block(32) shared(n * 4)
*/
DIECAST_KERNEL {
  extern __shared__ float values[];
  values[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = values[threadIdx.x];
}
)";
  EXPECT_EQ(compile("k", text, "k @ sm_90a").exit_code, 0);
  const auto run = compile("k", text, "k @ host");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("mend k.cu at line 8: dynamic shared memory is dynamic_shared<T>(), "
                            "not `extern __shared__`"),
            std::string::npos)
      << run.errors;
}

TEST_F(OwnTemplate, ThatIsCalledAsAFunctionOfCudaIsToldSo) {
  const auto run = compile("round", R"(/* diecast
arg y out f32 [1]
launch grid(1) block(1)
*/
DIECAST_KERNEL { y[0] = 1; }
)",
                           "round @ sm_90a");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("mend round.cu at line 5: CUDA has a function of the kernel's name, so "
                            "give the file another"),
            std::string::npos)
      << run.errors;
}

TEST_F(OwnTemplate, OfLargeLocalArraysIsToldWhatTheHostsThreadsHave) {
  const std::string text = R"(/* diecast
size n
arg y out f32 [n]
arg n
launch grid(1) block(32)
*/
DIECAST_KERNEL {
  f32 values[20000];
  for (i64 i = 0; i < n; ++i) values[i * 7 % 20000] = static_cast<f32>(i);
  __syncthreads();
  y[threadIdx.x] = values[n * threadIdx.x % 20000];
}
)";
  EXPECT_EQ(compile("k", text, "k @ sm_90a").exit_code, 0);
  const auto run = compile("k", text, "k @ host");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("on the host a thread that may wait for others has 48 KiB for its "
                            "variables; larger arrays go into shared memory"),
            std::string::npos)
      << run.errors;
}

TEST_F(OwnTemplate, ThatConvertsToATypeOfAnotherHeaderIsToldWhich) {
  const std::string text = R"(/* diecast
size n
arg y out i32 [n]
arg n
launch grid(1) block(1)
*/
#include <diecast/device/numbers/convert.h>
DIECAST_KERNEL { y[0] = from_f32<i32>(1.5f); }
)";
  for (const char* target : {"host", "sm_90a"}) {
    const auto run = compile("convert", text, std::string("convert @ ") + target);
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_NE(run.errors.find("#include <diecast/device/numbers/every_type.h>"), std::string::npos)
        << run.errors;
  }
  std::string with = text;
  with.replace(with.find("convert.h"), 9, "every_type.h");
  EXPECT_EQ(compile("every", with, "every @ host sm_90a").exit_code, 0);
}

TEST_F(OwnTemplate, OnTheHostSumsNoFloatsInTheOrderOfBlocks) {
  const std::string text = R"(/* diecast
option type T {f32, u32}
size n
arg y inout T [n]
arg n
launch grid(4) block(32)
*/
DIECAST_KERNEL { atomicAdd(&y[0], T(1)); }
)";
  EXPECT_EQ(compile("sums", text, "sums T=u32 @ host sm_90a").exit_code, 0);
  EXPECT_EQ(compile("sums", text, "sums T=f32 @ sm_90a").exit_code, 0);
  const auto run = compile("sums", text, "sums T=f32 @ host");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("atomicAdd is of integers on the host"), std::string::npos)
      << run.errors;
}

}  // namespace
}  // namespace diecast
