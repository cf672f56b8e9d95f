// diecast-bench's parts of a GPU on a fake one: every row is measured, beside its loads and stores
// alone. What a fake takes says nothing, so only what is said is looked at.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/run_bench.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using nlohmann::json;
using testing::BenchRun;

class BenchGpu : public ::testing::Test {
 protected:
  BenchGpu() { bench_.use_fake_gpu(); }
  json figures(std::vector<std::string> words) {
    words.emplace_back("--json");
    const auto run = bench_(words);
    const json out = json::parse(run.output, nullptr, false);
    EXPECT_TRUE(out.is_array()) << run.errors;
    bool all_hold = true;
    for (const json& figure : out) {
      EXPECT_GT(figure.at("value"), 0.0) << figure;
      all_hold = all_hold && figure.at("holds");
    }
    EXPECT_EQ(run.exit_code, all_hold ? 0 : 1);
    return out;
  }

  BenchRun bench_;
};

int count(const json& figures, const std::string& begin) {
  return static_cast<int>(std::count_if(figures.begin(), figures.end(), [&](const json& figure) {
    return figure.at("what").get<std::string>().starts_with(begin);
  }));
}

TEST_F(BenchGpu, HoldsOpsAgainstTheirAccessesInThreeMemoryPatterns) {
  const json all = figures({"gpu", "--shape", "256x1024", "--shape", "128x512"});
  for (const std::string what :
       {"quantize_nvfp4 bf16, amax given", "amax bf16",
        "quantize_nvfp4_tiles bf16, rows and columns",
        "quantize_nvfp4_tiles bf16, 16x16 blocks, rows", "dequantize_nvfp4 to bf16",
        "fp4_fake_quant_block bf16", "quantize_mx bf16 to E4M3", "quantize_nvfp4 bf16, s128x4"}) {
    EXPECT_EQ(count(all, what + ", 256x1024"), 1) << what;
    EXPECT_EQ(count(all, what + ", 128x512"), 1) << what;
    for (const std::string pattern : {"direct", "persistent", "bulk"}) {
      const bool tiled = what.ends_with("s128x4") && pattern == "bulk";  // no runs of bytes
      EXPECT_EQ(count(all, what + ", accesses alone, " + pattern), tiled ? 0 : 2) << what;
    }
  }
}

TEST_F(BenchGpu, HasNoBulkCopiesBeforeHopper) {
  bench_.set("DIECAST_FAKE_CUDA_CC", "80");
  const json all = figures({"gpu", "--shape", "128x512"});
  for (const std::string what :
       {"quantize_nvfp4 bf16, amax given", "quantize_nvfp4_tiles bf16, rows and columns"}) {
    EXPECT_EQ(count(all, what + ", accesses alone, direct"), 1) << what;
    EXPECT_EQ(count(all, what + ", accesses alone, persistent"), 1) << what;
    EXPECT_EQ(count(all, what + ", accesses alone, bulk"), 0) << what;
  }
}

// Patterns of tiles are of whole ones: where there is none, the copy's rate alone bounds.
TEST_F(BenchGpu, HoldsRowsAndColumnsAgainstTheCopyAloneWhereTilesAreNotWhole) {
  const json all = figures({"gpu", "--shape", "192x544"});
  const std::string what = "quantize_nvfp4_tiles bf16, rows and columns";
  EXPECT_EQ(count(all, what), 1);
  for (const json& figure : all) {
    if (figure.at("what") != what + ", 192x544") continue;
    EXPECT_EQ(figure.at("unit"), "% of copy");
    EXPECT_EQ(figure.at("bound"), 88.0);
  }
}

// A bound is met by the copy's rate or by the accesses' own.
TEST_F(BenchGpu, WhatMissesItsBoundIsHeldAgainstTheBestOfItsAccesses) {
  for (const json& figure : figures({"gpu", "--shape", "128x512"})) {
    const std::string unit = figure.at("unit");
    if (unit.find("accesses") != std::string::npos) {
      EXPECT_EQ(figure.at("bound"), 98.0);
      EXPECT_EQ(figure.at("holds"), figure.at("value") >= 98.0);
    } else if (unit == "% of copy" && figure.at("bound") != 0.0 && !figure.at("holds")) {
      const std::string what = figure.at("what");  // those that do more than one plain pass
      EXPECT_TRUE(what.find("row-scaled") != std::string::npos ||
                  what.find("tensor amax") != std::string::npos)
          << what;
    }
  }
}

TEST_F(BenchGpu, HoldsSmallLaunchesInAGraphAgainstTheirAccessesAndEveryConfiguration) {
  const json all = figures({"small", "--shape", "8x2048", "--shape", "512x7168"});
  for (const std::string what : {"amax given, 8x2048", "amax given, 512x7168", "row-scaled, 8x2048",
                                 "row-scaled, 512x7168"}) {
    EXPECT_EQ(count(all, "quantize_nvfp4 bf16, " + what), 2) << what;
  }
  for (const json& figure : all) {
    EXPECT_EQ(figure.at("bound"), figure.at("unit") == "x its accesses alone" ? 1.10 : 1.05);
    const std::string detail = figure.at("detail");
    EXPECT_EQ(detail.find('=') != std::string::npos, figure.at("bound") == 1.05) << detail;
  }
}

TEST_F(BenchGpu, HoldsOtherTypesAgainstBf16AndOddShapesAgainstEvenOnes) {
  const json all = figures({"inputs", "--shape", "7x480"});
  EXPECT_EQ(all.size(), 2u * 4u + 5u);
  for (const std::string type : {"f16", "f32"}) {
    EXPECT_EQ(count(all, "quantize_nvfp4 " + type), 3);
    EXPECT_EQ(count(all, "amax " + type), 1);
  }
  for (const json& figure : all) {
    const bool odd = figure.at("unit") == "x 8x512";
    EXPECT_TRUE(odd || figure.at("unit") == "% of bf16's share of a copy") << figure;
    EXPECT_EQ(figure.at("bound"), odd ? 1.15 : 97.0);
  }
}

TEST_F(BenchGpu, ShowsWhatEachShapeParameterGains) {
  const json all = figures({"specialization", "--shape", "64x512"});
  const std::map<std::string, std::vector<std::string>> want = {
      {"amax", {"COLS", "ROWS", "COLS, ROWS"}},
      {"quantize_nvfp4", {"COLS", "ROWS", "SCALES_APART", "COLS, ROWS, SCALES_APART"}},
      {"quantize_nvfp4_tiles", {"COLS", "ROWS", "COLS, ROWS"}},
      {"static_blockwise_fp4_fake_quant", {"ALIGNED"}},
      {"amax_grouped", {}}};  // members are no matrix
  for (const auto& [name, opened] : want) {
    for (const std::string& open : opened) {
      EXPECT_EQ(count(all, name + ", 64x512, " + open + " open"), 1) << name << open;
    }
    EXPECT_EQ(count(all, name + ", 64x512"), static_cast<int>(opened.size())) << name;
  }
  for (const json& figure : all) {
    const std::string detail = figure.at("detail");
    EXPECT_NE(detail.find(" registers, "), std::string::npos) << detail;
    EXPECT_NE(detail.find(" instructions against "), std::string::npos) << detail;
  }
}

// A matrix that a template's grid has no room for leaves that template out, and no other.
TEST_F(BenchGpu, ShowsNoGainOfWhatIsTooLargeForAGrid) {
  const testing::TemporaryDirectory folder;
  std::filesystem::copy(DIECAST_SOURCE_DIR "/templates", folder.path(),
                        std::filesystem::copy_options::recursive);
  const std::string once = folder / "nvfp4/quantize_nvfp4_few.cu", grid = "launch   grid(1, ";
  std::string text = testing::text_of(once);
  const std::size_t at = text.find(grid);
  ASSERT_NE(at, text.npos);
  testing::write_text(once, text.insert(at + grid.size(), "65536 * "));
  bench_.set("DIECAST_TEMPLATE_DIR", folder.path());
  const json all = figures({"specialization", "--shape", "64x512"});
  EXPECT_EQ(count(all, "quantize_nvfp4_few, 64x512"), 0);
  EXPECT_EQ(count(all, "quantize_nvfp4, 64x512"), 4);
}

// A figure where a GPU and the library can, and why not elsewhere.
TEST_F(BenchGpu, MultipliesByCuBlasLtToo) {
  const std::string by_library = "gemm_nvfp4 to bf16, cuBLASLt";
  const auto line = [&] {
    const std::string output = bench_({"gemm"}).output;
    const std::size_t begin = std::min(output.find(by_library), output.size());
    return output.substr(begin, output.find('\n', begin) - begin);
  };
  const std::string without = line();
  EXPECT_TRUE(without.starts_with(by_library + ": not measured ")) << without;
  EXPECT_TRUE(without.ends_with("Fake GPU has no FP4 tensor cores")) << without;
  bench_.set("DIECAST_FAKE_CUDA_CC", "100");
  const std::string unopened = line();
  EXPECT_TRUE(unopened.ends_with("cannot open shared object file: No such file or directory"))
      << unopened;
  const std::string library = DIECAST_FAKE_DIR "/libfake_cublaslt.so";
  bench_.set("DIECAST_CUBLASLT", library);
  const std::string with = line();
  EXPECT_TRUE(with.ends_with(" us; cuBLASLt 13.1.0 (" + library + ")")) << with;
}

TEST_F(BenchGpu, MeasuresALinearLayerAndOneOfExpertsByIdAndByOffset) {
  const json all = figures({"linear", "--shape", "64x128"});
  const std::string layer = "linear_experts, 2 of 8, 128 to 64 gated, M = ";
  std::vector<std::string> what, wanted;
  for (const json& figure : all) what.push_back(figure.at("what"));
  for (const int rows : {1, 16, 24, 32, 64, 128, 256, 512, 1024, 4096, 8192})
    wanted.push_back("linear, 64x128, M = " + std::to_string(rows));
  wanted.insert(wanted.end(), {"pack_linear, 64x128", "pack_linear, 64x128, gate and up"});
  const std::size_t experts = wanted.size();
  wanted.insert(wanted.end(), {layer + "1 by id", layer + "16 by id", layer + "64 by id",
                               layer + "1024 by offset", layer + "4096 by offset"});
  ASSERT_EQ(what, wanted);
  // 2 of 8 experts of 128 x 128, 9216 bytes each, one row of x, two of out, two ids; all 8 experts,
  // 8192 rows of x and of out, offsets.
  const auto detail = [&](std::size_t of) { return all.at(of).at("detail").get<std::string>(); };
  EXPECT_NE(detail(experts).find(" us, 0.0 MB at "), std::string::npos) << detail(experts);
  EXPECT_NE(detail(experts + 4).find(" us, 3.2 MB at "), std::string::npos) << detail(experts + 4);
  // 4608 bytes of the weight, 8192 rows of 64 and 128 numbers.
  EXPECT_NE(detail(10).find(" TB/s of 3.2 MB, a copy "), std::string::npos) << detail(10);
  EXPECT_EQ(detail(4).find("settled"), std::string::npos) << detail(4);
  EXPECT_NE(detail(3).find("; settled "), std::string::npos) << detail(3);
}

TEST_F(BenchGpu, AGraphThatCannotBeMadeIsAnError) {
  bench_.set("DIECAST_FAKE_CUDA_FAIL", "cuGraphInstantiateWithFlags=2");
  const auto run = bench_({"small", "--shape", "8x2048"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("diecast: out_of_memory: making a graph ready: cuGraphInstantiate "),
            std::string::npos)
      << run.errors;
}

TEST_F(BenchGpu, HoldsLaunchesAgainstABareOne) {
  const json all = json::parse(bench_({"launch", "--json"}).output, nullptr, false);
  ASSERT_EQ(all.size(), 7U) << all;
  EXPECT_EQ(all[0].at("what"), "the driver's launch");
  EXPECT_GT(all[0].at("value"), 0.0);
  EXPECT_EQ(count(all, "a prepared op on a prepared stream above it"), 1);
}

TEST_F(BenchGpu, WhatWasMeasuredBeforeAFailureIsTold) {
  bench_.set("DIECAST_FAKE_CUDA_FAIL", "cuGraphInstantiateWithFlags=2");
  const auto run = bench_({"gpu", "small", "--shape", "128x512", "--json"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(count(json::parse(run.output, nullptr, false), "amax bf16, 128x512"), 1) << run.output;
  EXPECT_NE(run.errors.find("diecast: out_of_memory: "), std::string::npos) << run.errors;
}

TEST_F(BenchGpu, AShapeIsRowsAndColumnsInWholeBlocks) {
  for (const std::string shape : {"16384", "0x32", "16x-32", "16x31", "16x32x1", "1x2097152"}) {
    const auto run = bench_({"gpu", "--shape", shape});
    EXPECT_EQ(run.exit_code, 2) << shape;
    EXPECT_EQ(run.errors,
              "diecast: invalid_argument: --shape: \"" + shape +
                  "\" is no ROWSxCOLS with columns in whole blocks of 32, at most "
                  "1048576 of each\n  fix: `diecast-bench --help` shows what it takes\n");
  }
}

TEST_F(BenchGpu, WithoutMemoryForTheMatricesIsAnError) {
  const auto run = bench_({"gpu", "--shape", "65536x65536"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("diecast: out_of_memory: "), std::string::npos) << run.errors;
}

}  // namespace
}  // namespace diecast
