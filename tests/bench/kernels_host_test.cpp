// diecast-bench kernels: what it lists, its times on this processor, and its table beside a Python
// that prints what beside.py would.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "bench/run_bench.h"

namespace diecast {
namespace {

using nlohmann::json;
using testing::BenchRun;

TEST(BenchKernels, AreListedWithoutADevice) {
  BenchRun bench;
  const auto all = bench({"kernels", "--list"});
  EXPECT_EQ(all.exit_code, 0) << all.errors;
  for (const std::string name : {"softmax", "rms_norm", "rotary_embedding", "top_k_gate",
                                 "silu_and_mul", "scan", "histogram", "gemv"})
    EXPECT_NE(all.output.find(name + " "), std::string::npos) << name;
  EXPECT_NE(all.output.find("8192x8192, 1024x8192"), std::string::npos) << all.output;
  const auto one = bench({"kernels", "--list", "scan", "--shape", "7x96"});
  EXPECT_NE(one.output.find("scan    7x96"), std::string::npos) << one.output;
  EXPECT_EQ(bench({"kernels", "sacn"}).exit_code, 2);
  EXPECT_EQ(bench({"kernels", "--shape", "7x7"}).exit_code, 2);
}

TEST(BenchKernels, AreTimedOnThisProcessor) {
  testing::ToolRun diecast;
  if (!testing::host_works(diecast)) GTEST_SKIP() << "no compiler for this processor";
  BenchRun bench;
  const auto run = bench({"kernels", "--on", "host", "--shape", "8x32", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const json times = json::parse(run.output, nullptr, false);
  ASSERT_TRUE(times.is_array()) << run.output;
  EXPECT_EQ(times.size(), 8u);
  for (const json& one : times) {
    EXPECT_GT(one.at("us"), 0.0) << one;
    EXPECT_GT(one.at("first_ms"), one.at("us").get<double>() / 1e3) << one;
    EXPECT_LE(one.at("lines"), 60) << one;
    EXPECT_FALSE(one.contains("triton_us")) << one;
  }
}

// On a fake GPU; "python" prints lines.
class BesideTriton : public ::testing::Test {
 protected:
  BesideTriton() {
    bench_.use_fake_gpu();
    bench_.set("PRINTS", bench_.folder / "printed");
    testing::write_text(python_, "#!/bin/sh\necho \"$@\" > \"$PRINTS.words\"\ncat \"$PRINTS\"\n");
    ::chmod(python_.c_str(), 0755);
  }
  ProcessResult run(const std::string& printed) {
    testing::write_text(bench_.folder / "printed", printed);
    return bench_({"kernels", "scan", "--on", "cuda", "--shape", "8x32", "--python", python_});
  }
  std::string read_words() {
    std::ifstream words(bench_.folder / "printed.words");
    return {std::istreambuf_iterator<char>(words), {}};
  }
  BenchRun bench_;
  const std::string python_ = bench_.folder / "python";
};

TEST_F(BesideTriton, HoldsWhereOursIsAsFast) {
  const auto fast = run(R"({"kernel":"scan","rows":8,"cols":32,"us":1e9,"agrees":true})");
  EXPECT_EQ(fast.exit_code, 0) << fast.errors;
  EXPECT_NE(fast.output.find("0.00  holds"), std::string::npos) << fast.output;
  EXPECT_NE(read_words().find("/triton/beside.py --json --shape 8x32 scan"), std::string::npos);
}

TEST_F(BesideTriton, MissesWhereItIsSlowerAndIsWrongWhereResultsDiffer) {
  const auto slow = run(R"({"kernel":"scan","rows":8,"cols":32,"us":1e-9,"agrees":true})");
  EXPECT_EQ(slow.exit_code, 1) << slow.errors;
  EXPECT_NE(slow.output.find("MISSED"), std::string::npos) << slow.output;
  const auto wrong = run(R"({"kernel":"scan","rows":8,"cols":32,"us":1e9,"agrees":false})");
  EXPECT_EQ(wrong.exit_code, 1) << wrong.errors;
  EXPECT_NE(wrong.output.find("WRONG"), std::string::npos) << wrong.output;
}

TEST_F(BesideTriton, IsLeftOutWhereThereIsNone) {
  for (const char* const printed : {"no json", R"({"kernel":"scan","rows":"8"})", "[1]"}) {
    const auto odd = run(printed);
    EXPECT_EQ(odd.exit_code, 0) << odd.output;
    EXPECT_NE(odd.output.find("8x32"), std::string::npos) << odd.output;
    EXPECT_NE(odd.errors.find("parse_error: beside.py printed"), std::string::npos) << odd.errors;
  }
  testing::write_text(python_, "#!/bin/sh\necho \"No module named 'torch'\" >&2\nexit 1\n");
  const auto none = run("");
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_NE(none.errors.find("cannot measure Triton: No module named 'torch'"), std::string::npos)
      << none.errors;
}

}  // namespace
}  // namespace diecast
