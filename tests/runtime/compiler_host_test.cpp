// The compiler that a runtime opens on first use, where the process cannot at first.
#include <diecast/runtime/runtime.h>
#include <gtest/gtest.h>

#include "child_process.h"
#include "fake/nvrtc_script.h"
#include "few_descriptors.h"

namespace diecast {
namespace {

TEST(RuntimeCompiler, IsOpenedOnceThereAreDescriptors) {
  testing::FakeNvrtc nvrtc;
  for (const char* name : {"host", "sm_90a"}) {
    const int outcome = testing::in_child([&] {
      RuntimeOptions options;
      options.cache = "off";
      options.nvrtc = nvrtc.search();
      const auto runtime = Runtime::create(options).value();
      const Target target = Target::parse(name).value();
      rlimit before{};
      if (::getrlimit(RLIMIT_NOFILE, &before) != 0 || !testing::leave_descriptors(0)) return 2;
      const auto without = runtime->compiler(target);
      if (without || without.error().code != ErrorCode::io_error) return 3;
      if (::setrlimit(RLIMIT_NOFILE, &before) != 0) return 2;
      const auto with = runtime->compiler(target);
      if (!with) return 4;
      return *runtime->compiler(target) == *with ? 0 : 5;
    });
    EXPECT_EQ(outcome, 0) << name;
  }
}

}  // namespace
}  // namespace diecast
