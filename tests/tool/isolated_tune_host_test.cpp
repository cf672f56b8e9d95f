// The library with the diecast command as its measuring process: it goes by the options that the
// runtime was given, of which its environment knows nothing, and on a device like the caller's.
#include <diecast/launch/host_device.h>
#include <diecast/runtime/tuner.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "temporary_directory.h"

namespace diecast {
namespace {

constexpr const char* kOnlyHere = R"(/* diecast
tune int THREADS {32, 64} = 32
size count
arg y out f32 [count]
arg count
launch grid(1) block(THREADS)
target host
exchange none
*/
DIECAST_KERNEL {
  for (i64 i = threadIdx.x; i < count; i += THREADS) y[i] = 1.0f;
}
)";

TEST(IsolatedTune, MeasuresWithTheOptionsAndTheDeviceOfTheRuntime) {
  const testing::TemporaryDirectory folder, cache;
  std::filesystem::copy(DIECAST_SOURCE_DIR "/templates/device", folder / "device",
                        std::filesystem::copy_options::recursive);
  testing::write_text(folder / "only_here.cu", kOnlyHere);
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.template_directory = folder.path();
  options.cache = cache.path();
  options.isolated.program = DIECAST_TOOL;
  const auto runtime = Runtime::create(options).value();
  HostDeviceOptions alone;
  alone.threads = 1;
  const auto device = open_host_device(alone);
  if (!device || !runtime->compiler(Target::parse("host").value()))
    GTEST_SKIP() << "no host device or compiler";
  TuneRequest request;
  request.name = "only_here";
  request.sizes = {{{"count", 8}}};
  request.samples = 3;
  const auto records = runtime->tune(request, *device);
  ASSERT_TRUE(records) << records.error().message();
  EXPECT_EQ(records->size(), 2u);
  for (const TuningRecord& one : *records) {
    EXPECT_EQ(one.outcome, TuningRecord::Outcome::timed) << one.why;
    EXPECT_EQ(one.device, device_fingerprint((*device)->properties()));
  }
  const auto plain = runtime->specialize_for("only_here", {}, **device).value();
  EXPECT_TRUE(runtime->holds(plain).value());  // what it compiled is in this runtime's cache
}

}  // namespace
}  // namespace diecast
