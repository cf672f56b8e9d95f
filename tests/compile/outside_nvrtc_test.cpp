// Nothing outside the text decides what NVRTC makes of it.
#include <diecast/compile/nvrtc.h>
#include <gtest/gtest.h>
#include <template/outside_spellings.h>

#include "compile/outside_file.h"

namespace diecast {
namespace {

const Target kHopper{Target::Kind::cuda, 90, 'a', 1};

TEST(NvrtcOutside, NoSpellingReadsAFile) {
  const auto compiler = open_nvrtc(NvrtcSearch::from_environment());
  if (!compiler) GTEST_SKIP() << compiler.error().message();
  const testing::OutsideFile file;
  for (const auto& [name, text] : testing::outside_spellings()) {
    const Source source{"k.cu", "k", testing::with_oracle(text, file.path(), "__global__")};
    EXPECT_FALSE(file.decides([&] { return testing::outcome_of(**compiler, source, kHopper); }))
        << name;
  }
}

// A file of the text's own name in the working directory: messages show the text's lines.
TEST(NvrtcOutside, AFileOfItsNameIsNotShown) {
  const auto compiler = open_nvrtc(NvrtcSearch::from_environment());
  if (!compiler) GTEST_SKIP() << compiler.error().message();
  const testing::TemporaryDirectory folder;
  testing::write_text(folder / "k.cu", "int another_text;\n");
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto made =
      (*compiler)->compile({"k.cu", "k", "extern \"C\" __global__ void k() { wrong; }\n"}, kHopper);
  std::filesystem::current_path(before);
  ASSERT_FALSE(made);
  const std::string said = made.error().message();
  EXPECT_NE(said.find("wrong"), said.npos) << said;
  EXPECT_EQ(said.find("another_text"), said.npos) << said;
}

}  // namespace
}  // namespace diecast
