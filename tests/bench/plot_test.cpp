// diecast-bench --plot on a fake GPU: a picture of every curve at every matrix, or an error and no
// file. And what the writer of pictures makes of words.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/run_bench.h"
#include "bench/svg.h"

namespace diecast {
namespace {

using testing::BenchRun;

int occurrences(const std::string& text, const std::string& of) {
  int count = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

class BenchPlot : public ::testing::Test {
 protected:
  BenchPlot() { bench_.use_fake_gpu(); }
  ProcessResult plot(const std::string& file, const std::vector<std::string>& shapes) {
    std::vector<std::string> words = {"--json", "--plot", file};
    for (const std::string& shape : shapes) words.insert(words.end(), {"--shape", shape});
    return bench_(words);
  }

  BenchRun bench_;
};

TEST_F(BenchPlot, DrawsEveryCurveAtEveryMatrix) {
  const std::string file = bench_.folder / "plot.svg";
  const auto run = plot(file, {"1x512", "8x512", "64x512"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const auto figures = nlohmann::json::parse(run.output);
  EXPECT_EQ(figures.size(), 4u * 3u);
  const std::string svg = testing::text_of(file);
  EXPECT_TRUE(svg.starts_with("<svg xmlns='http://www.w3.org/2000/svg' "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(occurrences(svg, "<circle "), 4 * 3);
  for (const auto& figure : figures) {
    EXPECT_GT(figure.at("value"), 0.0);
    EXPECT_EQ(figure.at("unit"), "GB/s");
  }
  for (const char* name : {"device-to-device copy", "amax given", "row-scaled", "tensor amax"}) {
    EXPECT_EQ(occurrences(svg, name), 3 + 1) << name;  // points, and the legend
  }
}

TEST_F(BenchPlot, IsOfMatricesThatDifferInRowsAlone) {
  const std::string file = bench_.folder / "plot.svg";
  for (const auto& shapes : {std::vector<std::string>{"1x512", "8x1024"}, {"8x512", "1x512"}}) {
    const auto run = plot(file, shapes);
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.errors,
              "diecast: invalid_argument: a plot over rows is of matrices that differ in nothing "
              "else, the shorter first\n  fix: give --shape the same columns and rising rows, or "
              "leave it out\n");
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(BenchPlot, WhatCannotBeWrittenIsNotMeasured) {
  const auto run = plot(bench_.folder / "none/plot.svg", {"1x512"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("\n  fix: "), std::string::npos) << run.errors;
}

TEST_F(BenchPlot, AFailureLeavesNoFile) {
  const std::string file = bench_.folder / "plot.svg";
  bench_.set("DIECAST_FAKE_CUDA_FAIL", "cuGraphLaunch=999");
  EXPECT_EQ(plot(file, {"1x512"}).exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Svg, EscapesWordsAndRoundsPlaces) {
  tool::Svg svg(10, 20);
  svg.words({1.04, 2}, "a < b & c", "end");
  svg.line({{0, 0}, {1.26, 2}}, "red", 1);
  EXPECT_EQ(svg.text(),
            "<svg xmlns='http://www.w3.org/2000/svg' font-family='sans-serif' font-size='12' "
            "width='10' height='20'>\n"
            "<text x='1' y='2' text-anchor='end'>a &lt; b &amp; c</text>\n"
            "<polyline fill='none' stroke='red' stroke-width='1' points='0,0 1.3,2 '/>\n"
            "</svg>\n");
}

}  // namespace
}  // namespace diecast
