// The compiler that a runtime opens on first use, where the process cannot at first.
#include <diecast/runtime/runtime.h>
#include <gtest/gtest.h>

#include "child_process.h"
#include "few_descriptors.h"

namespace diecast {
namespace {

TEST(RuntimeCompiler, IsOpenedOnceThereAreDescriptors) {
  const int outcome = testing::in_child([] {
    RuntimeOptions options;
    options.cache = "off";
    const auto runtime = Runtime::create(options).value();
    const Target host = Target::parse("host").value();
    rlimit before{};
    if (::getrlimit(RLIMIT_NOFILE, &before) != 0 || !testing::leave_descriptors(0)) return 2;
    const auto without = runtime->compiler(host);
    if (without || without.error().code != ErrorCode::io_error) return 3;
    if (::setrlimit(RLIMIT_NOFILE, &before) != 0) return 2;
    const auto with = runtime->compiler(host);
    if (!with) return 4;
    return *runtime->compiler(host) == *with ? 0 : 5;
  });
  EXPECT_EQ(outcome, 0);
}

}  // namespace
}  // namespace diecast
