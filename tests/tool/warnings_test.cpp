// Warnings of the compiler are kept in the entry and shown: counts, then texts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tool/run_tool.h"

namespace diecast {
namespace {

class Warnings : public ::testing::Test {
 protected:
  Warnings() {
    diecast_.set("DIECAST_FAKE_NVRTC_LOG",
                 "amax.cu(7): warning #177-D: unused\n    int x;\namax.cu(9): warning #1-D: two\n");
  }
  static constexpr const char* kLine = "amax IN=bf16 @ sm_90a";
  const std::string text_ =
      "  amax.cu(7): warning #177-D: unused\n      int x;\n  amax.cu(9): warning #1-D: two\n";
  testing::ToolRun diecast_;
};

TEST_F(Warnings, AreShownWhenAKernelIsCompiledAndWhenItIsFound) {
  for (const char* origin : {"compiled", "found on disk"}) {
    const std::string output = diecast_({"compile", kLine}).output;
    EXPECT_NE(output.find(origin), output.npos) << output;
    const std::size_t count = output.find("\n2 warnings for amax COLS=0 ");
    ASSERT_NE(count, output.npos) << output;
    EXPECT_NE(output.find(text_, count), output.npos) << output;
  }
  const std::string several = diecast_({"compile", "amax IN=* @ sm_90a"}).output;
  EXPECT_NE(several.find(" more\n" + text_), several.npos) << several;
  EXPECT_EQ(several.find(text_), several.rfind(text_)) << several;
}

TEST_F(Warnings, AreShownByExplain) {
  (void)diecast_({"compile", kLine});
  const std::string output = diecast_({"cache", "explain", kLine}).output;
  EXPECT_NE(output.find("\n2 warnings for amax "), output.npos) << output;
  EXPECT_NE(output.find(text_), output.npos) << output;
}

TEST_F(Warnings, AreInJson) {
  const auto compiled = nlohmann::json::parse(diecast_({"compile", kLine, "--json"}).output);
  const auto found = nlohmann::json::parse(diecast_({"cache", "explain", kLine, "--json"}).output);
  for (const auto& one : {compiled["specializations"][0], found["found"]}) {
    EXPECT_EQ(one["warnings"], 2);
    EXPECT_EQ(one["log"].get<std::string>().find("amax.cu(7): warning #177-D: unused\n"), 0u);
  }
}

TEST_F(Warnings, OfNoneNothingIsSaid) {
  diecast_.set("DIECAST_FAKE_NVRTC_LOG", "");
  EXPECT_EQ(diecast_({"compile", kLine}).output.find("warning"), std::string::npos);
  const auto found = nlohmann::json::parse(diecast_({"compile", kLine, "--json"}).output);
  EXPECT_EQ(found["specializations"][0]["warnings"], 0);
}

}  // namespace
}  // namespace diecast
