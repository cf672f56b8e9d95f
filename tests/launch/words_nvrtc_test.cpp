// The words compile for every kind of target without a warning.
#include <gtest/gtest.h>

#include "compiled_kernel.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

TEST(WordsByNvrtc, CompileForEveryKindOfTarget) {
  if (!testing::nvrtc()) GTEST_SKIP() << testing::nvrtc().error().message();
  for (const char* name : {"words", "types", "grid_barrier"}) {
    const std::string path = std::string(DIECAST_SOURCE_DIR "/tests/launch/") + name + ".cu";
    const auto tmpl = Template::parse(name, testing::text_of(path)).value();
    for (const char* target : {"sm_80", "sm_90a", "sm_100a", "sm_120a"}) {
      const auto one = Specialization::make(tmpl, {}, Target::parse(target).value()).value();
      const auto compiled = testing::compile(one);
      ASSERT_TRUE(compiled) << compiled.error().message();
      EXPECT_EQ((*compiled)->log, "") << name << " @ " << target;
    }
  }
}

}  // namespace
}  // namespace diecast
