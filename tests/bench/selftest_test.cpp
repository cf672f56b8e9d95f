// diecast-bench selftest --device on a fake driver that is told what to do: what it says must
// follow.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "bench/run_bench.h"

namespace diecast {
namespace {

using nlohmann::json;
using testing::BenchRun;

class Selftest : public ::testing::Test {
 protected:
  Selftest() { bench_.use_fake_gpu(); }
  // What is said of each thing that was measured; the exit code must follow from all of them.
  std::map<std::string, json> facts() {
    const auto run = bench_({"selftest", "--device", "--json"});
    const json all = json::parse(run.output, nullptr, false);
    EXPECT_TRUE(all.is_array()) << run.errors;
    bool all_hold = true;
    std::map<std::string, json> out;
    for (const json& one : all) {
      all_hold = all_hold && one.at("holds");
      EXPECT_TRUE(one.at("relied_on") || one.at("holds")) << one;
      out[one.at("what")] = one;
    }
    EXPECT_EQ(run.exit_code, all_hold ? 0 : 1);
    return out;
  }
  static bool says(const json& fact, const std::string& begin) {
    const std::string found = fact.at("found");
    return found.starts_with(begin);
  }

  BenchRun bench_;
};

TEST_F(Selftest, SaysWhichCallsWaitForABusyGpu) {
  bench_.set("DIECAST_FAKE_CUDA_BUSY", "60 cuFuncLoad cuLibraryUnload");
  auto all = facts();
  EXPECT_TRUE(says(all["loading on a busy GPU"], "reading code into the driver did not wait in "));
  EXPECT_TRUE(says(all["making resident on a busy GPU"],
                   "making it resident waited until the GPU was idle in "));
  EXPECT_TRUE(says(all["unloading on a busy GPU"], "unloading waited until the GPU was idle in "));
  const json& launched = all["a launch of resident code on a busy GPU"];
  EXPECT_EQ(launched.at("relied_on"), true);
  EXPECT_EQ(launched.at("holds"), true);
}

TEST_F(Selftest, FailsWhereALaunchOfResidentCodeWaits) {
  bench_.set("DIECAST_FAKE_CUDA_BUSY", "60 cuLibraryLoadData cuLaunchKernel");
  auto all = facts();
  EXPECT_TRUE(says(all["loading on a busy GPU"], "reading code into the driver waited until "));
  EXPECT_TRUE(says(all["unloading on a busy GPU"], "unloading did not wait in "));
  EXPECT_EQ(all["a launch of resident code on a busy GPU"].at("holds"), false);
}

TEST_F(Selftest, SaysWhatACaptureDoesNotSurvive) {
  auto all = facts();
  for (const std::string mode : {"global", "thread-local", "relaxed"}) {
    for (const std::string what : {"loading", "unloading"}) {
      EXPECT_EQ(all[what + " while capturing, mode " + mode].at("found"),
                "returned CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900), and the capture was broken: "
                "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)");
    }
    EXPECT_EQ(all["resident code in a capture, mode " + mode].at("holds"), true);
  }
  EXPECT_EQ(all["unloading on a busy GPU"].at("found"),  // of a fake that is never busy
            "unloading could not be measured: the GPU was idle before the call");
  bench_.set("DIECAST_FAKE_CUDA_FAIL", "cuGraphLaunch=999");
  EXPECT_EQ(facts()["resident code in a capture, mode global"].at("holds"), false);
}

TEST_F(Selftest, SpeaksInSentencesForPeople) {
  const auto run = bench_({"selftest", "--device"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.output.find("Fake GPU (sm_90a), driver of CUDA 13.0\n"), 0u) << run.output;
  EXPECT_NE(run.output.find("holds  residency "), std::string::npos) << run.output;
}

TEST_F(Selftest, IsAnErrorWithoutAGpu) {
  bench_.set("DIECAST_LIBCUDA", "/nonexistent/libcuda.so.1");
  const auto without = bench_({"selftest", "--device"});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_EQ(without.errors.find("diecast: driver_unavailable: no CUDA driver: "), 0u);
  EXPECT_NE(without.errors.find("\n  fix: "), std::string::npos);
}

}  // namespace
}  // namespace diecast
