// diecast cache explain: hits, and of misses what differs.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::ToolRun;

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string lines_for(ToolRun& diecast,
                      const std::string& text = "amax IN=bf16,f16,f32 @ sm_90a\n") {
  testing::write_text(diecast.folder / "manifest.txt", text);
  return diecast.folder / "manifest.txt";
}

TEST(ToolCache, ExplainsHitsAndMisses) {
  ToolRun diecast;
  ASSERT_EQ(diecast({"warm", lines_for(diecast)}).exit_code, 0);
  const auto hit = diecast({"cache", "explain", "amax IN=bf16 @ sm_90a"});
  EXPECT_EQ(hit.exit_code, 0);
  EXPECT_TRUE(says(hit.output, "\nhit: ")) << hit.output;
  const auto miss = diecast({"cache", "explain", "amax COLS=4096 IN=bf16 @ sm_90a"});
  EXPECT_EQ(miss.exit_code, 1);
  EXPECT_TRUE(says(miss.output, "\nnearest: amax COLS=0 ")) << miss.output;
  EXPECT_TRUE(says(miss.output,
                   "there: \"constexpr int COLS = 0;\"\n  here:  \"constexpr int COLS = 4096;\""))
      << miss.output;
  const std::string there = diecast({"compile", "amax IN=bf16 @ sm_90a", "--source"}).output;
  const std::size_t line = there.find("\nconstexpr int COLS = 0;\n") + 1;
  const auto number = 1 + std::count(there.begin(), there.begin() + static_cast<long>(line), '\n');
  EXPECT_TRUE(says(miss.output, cat("source (line ", number, ")"))) << miss.output << number;
  const auto other = diecast({"cache", "explain", "quantize_nvfp4 IN=bf16 @ sm_90a"});
  EXPECT_TRUE(says(other.output, "no entry of this template is among the 3")) << other.output;
}

// The last blank of a line, and what is far behind the part of it that is shown.
TEST(ToolCache, ExplainsDifferencesThatAreHardToSee) {
  for (const auto& [there, here, shown] :
       {std::tuple(std::string("y"), std::string("y "), std::string("y\"\n  here:  \"")),
        {std::string(300, 'x') + "a", std::string(300, 'x') + "b", "xa\"\n  here:  ... \"xx"}}) {
    ToolRun diecast;
    const std::string own = diecast.folder / "long_line.cu";
    const auto write = [&](const std::string& end) {
      testing::write_text(own,
                          "/* diecast\nsize rows\narg rows\nlaunch grid(1) block(1)\n*/\n"
                          "DIECAST_KERNEL {}\n// " +
                              end + "\n");
    };
    write(there);
    const auto warmed = diecast({"warm", lines_for(diecast, "long_line @ sm_90a\n"), "--add", own});
    ASSERT_EQ(warmed.exit_code, 0) << warmed.errors;
    write(here);
    const auto miss = diecast({"cache", "explain", "long_line @ sm_90a", "--add", own});
    EXPECT_EQ(miss.exit_code, 1);
    EXPECT_TRUE(says(miss.output, shown)) << miss.output;
    const std::size_t begin = miss.output.find("here:  ") + 7;
    const std::string last = here.substr(here.size() - 2) + "\"\n";
    EXPECT_TRUE(miss.output.substr(begin).ends_with(last)) << miss.output;
  }
}

}  // namespace
}  // namespace diecast
