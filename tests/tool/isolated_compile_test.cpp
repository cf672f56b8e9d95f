// The library with the diecast command as its compiler process: it goes by the options that the
// runtime was given, of which its environment knows nothing.
#include <diecast/runtime/runtime.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fake/nvrtc_script.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

TEST(IsolatedCompile, UsesTheNvrtcThatWasFoundInAFolderOfTheOptions) {
  constexpr char kName[] = "libnvrtc-of-this-test.so";  // no other place has it
  testing::FakeNvrtc nvrtc;
  const testing::TemporaryDirectory cache;
  std::filesystem::create_symlink(nvrtc.path(), nvrtc.directory() + "/" + kName);
  RuntimeOptions options;
  options.cache = cache.path();
  options.nvrtc.names = {kName};
  options.nvrtc.directories = {nvrtc.directory()};
  options.isolated.program = DIECAST_TOOL;
  const auto runtime = Runtime::create(options).value();
  const auto resolved = runtime->resolve(runtime->specialize("amax IN=bf16 @ sm_90a").value());
  ASSERT_TRUE(resolved) << resolved.error().message();
  EXPECT_EQ(resolved->origin, Resolved::Origin::compiled);
  EXPECT_EQ(nvrtc.compiles().size(), 1u);
}

}  // namespace
}  // namespace diecast
