// Bundles by the command: made, verified, exported, imported and served from, also by several at
// once.
#include <diecast/cache/bundle.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::text_of;
using testing::ToolRun;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The path of a manifest.
std::string wanted(ToolRun& diecast, const std::string& lines = "amax IN=bf16,f16,f32 @ sm_90a\n") {
  testing::write_text(diecast.folder / "wanted.txt", lines);
  return diecast.folder / "wanted.txt";
}

TEST(ToolBundle, IsMadeVerifiedImportedAndServedFrom) {
  ToolRun diecast;
  const std::string bundle = diecast.folder / "k.dcb", again = diecast.folder / "again.dcb";
  const auto made = diecast({"bundle", "create", wanted(diecast), "-o", bundle});
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  EXPECT_TRUE(contains(made.output, "3 kernels")) << made.output;
  const std::string pin = made.output.substr(made.output.find("\nsha256 ") + 8, 64);
  const auto verified = diecast({"bundle", "verify", bundle, "--sha256", pin});
  EXPECT_EQ(verified.exit_code, 0) << verified.errors;
  EXPECT_TRUE(contains(verified.output, "sha256 " + pin));
  EXPECT_EQ(diecast({"bundle", "verify", bundle, "--sha256", std::string(64, '0')}).exit_code, 1);
  // From a cache of its own, compiled at another time: the same bytes.
  ASSERT_EQ(diecast({"cache", "clear"}).exit_code, 0);
  ASSERT_EQ(diecast({"bundle", "create", wanted(diecast), "-o", again}).exit_code, 0);
  EXPECT_EQ(text_of(bundle), text_of(again));
  ASSERT_EQ(diecast({"bundle", "export", "-o", again}).exit_code, 0);
  EXPECT_EQ(text_of(bundle), text_of(again));

  ASSERT_EQ(diecast({"cache", "clear"}).exit_code, 0);
  EXPECT_TRUE(
      contains(diecast({"bundle", "import", bundle}).output, "3 imported, 0 already there"));
  EXPECT_TRUE(
      contains(diecast({"bundle", "import", bundle}).output, "0 imported, 3 already there"));
  EXPECT_EQ(diecast({"warm", wanted(diecast), "--expect-no-new"}).exit_code, 0);

  diecast.set("DIECAST_CACHE", "bundle:" + bundle + "#sha256=" + pin);
  diecast.set("DIECAST_CACHE_POLICY", "require-hit");
  EXPECT_TRUE(contains(diecast({"compile", "amax IN=f16 @ sm_90a"}).output, "found on disk"));
  const auto miss = diecast({"compile", "amax COLS=64 IN=f16 @ sm_90a"});
  EXPECT_EQ(miss.exit_code, 1);
  EXPECT_TRUE(contains(miss.errors, "diecast: not_cached: ")) << miss.errors;
}

// A copy in which bytes have changed: it opens, and is what to mend, whatever the policy.
TEST(ToolBundle, IsNamedWhereItHasTheKernelDamaged) {
  ToolRun diecast;
  const std::string bundle = diecast.folder / "k.dcb";
  ASSERT_EQ(diecast({"bundle", "create", wanted(diecast, "amax IN=f16 @ sm_90a\n"), "-o", bundle})
                .exit_code,
            0);
  std::string bytes = text_of(bundle);
  bytes[bytes.size() / 2] ^= 1;
  testing::write_text(bundle, bytes);
  diecast.set("DIECAST_CACHE", "bundle:" + bundle);
  diecast.set("DIECAST_NVRTC", "/nonexistent/libnvrtc.so.13");
  for (const auto& [policy, code] :
       {std::pair{"require-hit", "not_cached"}, {"auto", "compiler_unavailable"}}) {
    diecast.set("DIECAST_CACHE_POLICY", policy);
    const auto miss = diecast({"compile", "amax IN=f16 @ sm_90a"});
    EXPECT_EQ(miss.exit_code, 1);
    EXPECT_TRUE(contains(miss.errors, std::string("diecast: ") + code)) << miss.errors;
    EXPECT_TRUE(contains(miss.errors, "the bundle \"" + bundle + "\" is damaged: entry "))
        << miss.errors;
    EXPECT_TRUE(contains(miss.errors, "fix: copy it again from where it was made")) << miss.errors;
  }
  const auto explained = diecast({"cache", "explain", "amax IN=f16 @ sm_90a"});
  EXPECT_TRUE(contains(explained.output, bundle + "\ncopy the bundle again")) << explained.output;
}

// N-06: a bundle is not begun with a kernel that hangs its compiler, and nothing is kept.
TEST(ToolBundle, BoundsItsCompilesAsWarmingDoes) {
  ToolRun diecast;
  const std::string bundle = diecast.folder / "k.dcb";
  const std::string one = wanted(diecast, "amax IN=bf16 @ sm_90a\n");
  diecast.set("DIECAST_FAKE_NVRTC_SLEEP_MS", "60000");
  const auto hung = diecast({"bundle", "create", one, "-o", bundle, "--time-limit", "0.5"});
  EXPECT_EQ(hung.exit_code, 1);
  EXPECT_TRUE(contains(hung.errors,
                       "diecast: timed_out: compiling amax.cu for sm_90a took longer "
                       "than 0.5 s and was ended\n"))
      << hung.errors;
  EXPECT_FALSE(std::filesystem::exists(bundle));
  diecast.set("DIECAST_FAKE_NVRTC_SLEEP_MS", "700");
  EXPECT_EQ(diecast({"bundle", "create", one, "-o", bundle, "--in-process"}).exit_code, 0);
}

TEST(ToolBundle, BoundsTheMemoryOfItsCompiles) {
#ifdef DIECAST_SANITIZER
  GTEST_SKIP() << "a sanitizer takes terabytes of address space, so that it cannot be limited";
#endif
  ToolRun diecast;
  const std::string bundle = diecast.folder / "k.dcb";
  const std::string one = wanted(diecast, "amax IN=bf16 @ sm_90a\n");
  diecast.set("DIECAST_FAKE_NVRTC_ALLOCATE", std::to_string(1u << 30));
  const auto run = diecast({"bundle", "create", one, "-o", bundle, "--memory-limit", "512M"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(contains(run.errors, "diecast: process_failed: the compiler of amax.cu for sm_90a "))
      << run.errors;
  EXPECT_FALSE(std::filesystem::exists(bundle));
}

// What is only read can be exported too; of what two roots have the first one's stands in it.
TEST(ToolBundle, IsExportedFromEveryRoot) {
  ToolRun diecast, other;
  ASSERT_EQ(diecast({"warm", wanted(diecast)}).exit_code, 0);
  const std::string whole = diecast.folder / "whole.dcb", again = diecast.folder / "again.dcb";
  ASSERT_EQ(diecast({"bundle", "export", "-o", whole}).exit_code, 0);
  ASSERT_EQ(other({"warm", wanted(other, "amax IN=bf16 @ sm_90a\n")}).exit_code, 0);
  diecast.set("DIECAST_CACHE", "ro:" + other.cache_path() + ",bundle:" + whole);
  const auto run = diecast({"bundle", "export", "-o", again});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(text_of(whole), text_of(again));
}

// One that was packed of nothing serves nothing.
TEST(ToolBundle, WithoutAKernelIsNotGood) {
  ToolRun diecast;
  const std::string bundle = diecast.folder / "k.dcb";
  ASSERT_TRUE(BundleWriter::create(bundle).value().commit());
  const auto run = diecast({"bundle", "verify", bundle});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(contains(run.errors, "diecast: not_cached: the bundle \"" + bundle + "\" has no "))
      << run.errors;
}

// B-07: whoever comes second finds what the first has imported.
TEST(ToolBundle, ImportsOfOneBundleAtOnceAgree) {
  ToolRun diecast, other;
  const std::string bundle = diecast.folder / "k.dcb";
  const std::string lines = wanted(diecast, "amax IN=bf16,f16,f32 COLS=0,64,128,4096 @ sm_90a\n");
  ASSERT_EQ(diecast({"bundle", "create", lines, "-o", bundle}).exit_code, 0);
  std::vector<std::thread> importing;
  std::atomic<int> imported = 0, failures = 0;
  for (int i = 0; i < 4; ++i) {
    importing.emplace_back([&] {
      const auto run = other({"bundle", "import", bundle});
      failures += run.exit_code != 0 || !contains(run.output, "0 damaged, 0 not written");
      imported += std::atoi(run.output.c_str() + run.output.find(": ") + 2);
    });
  }
  for (std::thread& thread : importing) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(imported, 12);
  EXPECT_EQ(other({"cache", "verify"}).output, "12 good, 0 damaged\n");
  EXPECT_EQ(other({"warm", lines, "--expect-no-new"}).exit_code, 0);
}

// B-09: a bundle of what there is while others publish and remove.
TEST(ToolBundle, ExportsWholeEntriesWhileOthersPublishAndClear) {
  ToolRun diecast;
  const std::string lines = wanted(diecast), bundle = diecast.folder / "k.dcb";
  std::atomic<bool> stop = false;
  std::thread load([&] {
    while (!stop) {
      (void)diecast({"warm", lines, "--in-process"});
      (void)diecast({"cache", "clear"});
    }
  });
  int exported = 0;
  for (int i = 0; exported < 8 && i < 200; ++i) {
    const auto run = diecast({"bundle", "export", "-o", bundle});
    if (contains(run.errors, "not_cached: nothing to export")) continue;  // between the two
    EXPECT_EQ(run.exit_code, 0) << run.output << run.errors;
    ++exported;
    const auto verified = diecast({"bundle", "verify", bundle});
    EXPECT_EQ(verified.exit_code, 0) << run.output << verified.errors;
  }
  stop = true;
  load.join();
  EXPECT_EQ(exported, 8);
}

}  // namespace
}  // namespace diecast
