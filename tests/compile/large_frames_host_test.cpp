// Threads of the host device that wait for one another have small stacks: a kernel whose variables
// are larger is refused, where it would write into another thread's.
#include <diecast/base/process.h>
#include <diecast/compile/host_cxx.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

// A rendered source as far as it counts: `count` floats of each thread.
Source kernel(const std::string& exchange, int count) {
  return {"k.cu", "k",
          "namespace diecast { template <class F> void host_run_" + exchange +
              "(void*, const F& body) { body(); } }\n#line 9 \"k.cu\"\n"
              "extern \"C\" void k(void* block, void** p) { diecast::host_run_" +
              exchange + "(block, [&] { const int n = *static_cast<int*>(p[0]); volatile float a[" +
              std::to_string(count) +
              "]; a[n] = 1; *static_cast<float*>(p[1]) = a[n / 2]; }); }\n"};
}

TEST(HostCompiler, RefusesMoreVariablesThanAThreadsStackHolds) {
  for (const char* name : {"g++", "clang++"}) {
    if (find_program(name).empty()) continue;
    const auto compiler = open_host_cxx({name, ""}).value();
    for (const char* exchange : {"block", "warp"}) {
      EXPECT_TRUE(compiler->compile(kernel(exchange, 10'000), {}));
      const auto large = compiler->compile(kernel(exchange, 20'000), {});
      ASSERT_FALSE(large) << name << " " << exchange;
      EXPECT_NE(large.error().what.find("k.cu:9:"), std::string::npos) << large.error().what;
      EXPECT_EQ(large.error().fix,
                "mend k.cu at line 9: on the host a thread that may wait for others has 48 KiB for "
                "its variables; larger arrays go into shared memory");
    }
    EXPECT_TRUE(compiler->compile(kernel("none", 20'000), {})) << name;
  }
}

}  // namespace
}  // namespace diecast
