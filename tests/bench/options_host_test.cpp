// diecast-bench options on this processor, a fake GPU and a fake NVRTC: each option's cells are
// measured on both and compiled, beside a bound. What a fake takes says nothing.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "bench/run_bench.h"

namespace diecast {
namespace {

using nlohmann::json;

TEST(BenchOptions, AreMeasuredOnEveryDeviceAndCompiledAgainstTheirBounds) {
  testing::ToolRun diecast;
  if (!testing::host_works(diecast)) GTEST_SKIP() << "no compiler for this processor";
  testing::BenchRun bench;
  bench.use_fake_gpu();
  const auto run = bench(
      {"options", "--template", "dequantize_nvfp4", "--template", "compute_fp4_scales", "--json"});
  const json figures = json::parse(run.output, nullptr, false);
  ASSERT_TRUE(figures.is_array()) << run.errors << run.output;
  std::map<std::string, double> bounds;
  for (const json& figure : figures) {
    EXPECT_GT(figure.at("value"), 0.0) << figure;
    EXPECT_TRUE(bounds.emplace(figure.at("what"), figure.at("bound")).second) << figure;
  }
  for (const std::string cell :
       {"dequantize_nvfp4", "dequantize_nvfp4 LAYOUT=s128x4", "dequantize_nvfp4 ROW_SCALE=1",
        "dequantize_nvfp4 GLOBAL=decode", "dequantize_nvfp4 BOUND=256", "dequantize_nvfp4 OUT=f32",
        "compute_fp4_scales", "compute_fp4_scales QUANTIZE=0"}) {
    EXPECT_EQ(bounds.count("host: " + cell), 1u) << cell;
    EXPECT_EQ(bounds.count("GPU: " + cell), 1u) << cell;
    EXPECT_EQ(bounds["compile: " + cell], cell == "dequantize_nvfp4" ? 4.0 : 10.0) << cell;
  }
  EXPECT_EQ(bounds["compile: dequantize_nvfp4, the slowest of 47"], 10.0);
  for (const auto& [on, begin] : {std::pair("cuda", "GPU: "), std::pair("compiler", "compile: ")}) {
    const auto alone = bench({"options", "--on", on, "--template", "compute_fp4_scales", "--json"});
    const json named = json::parse(alone.output, nullptr, false);
    ASSERT_TRUE(named.is_array() && !named.empty()) << alone.errors;
    for (const json& figure : named) {
      EXPECT_EQ(figure.at("what").get<std::string>().rfind(begin, 0), 0u) << figure;
    }
  }
  bench.set("DIECAST_LIBCUDA", "/nonexistent");
  EXPECT_EQ(bench({"options", "--on", "cuda"}).exit_code, 1);
  EXPECT_EQ(bounds["compile: compute_fp4_scales, the slowest of 6"], 10.0);
}

// Each cell here, on the GPU of a fake driver, and its compile.
TEST(BenchOptions, AreMeasuredOnThisProcessorAndOnAGpuWhereThereIsOne) {
  testing::ToolRun diecast;
  if (!testing::host_works(diecast)) GTEST_SKIP() << "no compiler for this processor";
  testing::BenchRun bench;
  const auto measured = [&] {
    const auto run = bench({"options", "--template", "transpose_codes", "--json"});
    std::vector<std::string> out;
    const auto figures = json::parse(run.output, nullptr, false);
    EXPECT_TRUE(figures.is_array()) << run.errors;
    for (const auto& figure : figures) {
      EXPECT_GT(figure.at("value"), 0.0) << figure;
      out.push_back(figure.at("what"));
    }
    return out;
  };
  EXPECT_EQ(measured(), (std::vector<std::string>{
                            "host: transpose_codes", "compile: transpose_codes, the slowest of 16",
                            "compile: transpose_codes", "host: transpose_codes PAD=2",
                            "compile: transpose_codes PAD=2"}));
  bench.use_fake_gpu();
  EXPECT_EQ(measured(), (std::vector<std::string>{
                            "host: transpose_codes", "GPU: transpose_codes",
                            "compile: transpose_codes, the slowest of 16",
                            "compile: transpose_codes", "host: transpose_codes PAD=2",
                            "GPU: transpose_codes PAD=2", "compile: transpose_codes PAD=2"}));
}

}  // namespace
}  // namespace diecast
