// Files of reference vectors that are damaged, and options that are not known: an error each, never
// a case that is left out.
#include <checkpoint/vectors_fixture.h>
#include <diecast/base/text.h>
#include <gtest/gtest.h>

namespace diecast::testing {
namespace {

// The small file with this list of cases.
TestFile listing(const std::string& cases) {
  TestFile file = small();
  file.metadata["cases"] = cases;
  return file;
}

TEST(Vectors, UnknownTitleAndOptionFail) {
  TestFile file = small();
  file.metadata["title"] = "Another Engine";
  EXPECT_EQ(fault_of(file),
            "not_supported: title \"Another Engine\" names no profile that is known");
  const auto with = [](const std::string& option) {
    TestFile changed = small();
    changed.metadata["cases"] = R"([{"name":"c0","shape":[2,16],"dtype":"f32",)" + option + "}]";
    return fault_of(changed);
  };
  EXPECT_EQ(with(R"("swizzle":true)"),
            "not_supported: case \"c0\": option \"swizzle\" = \"true\" is not known for te");
  EXPECT_EQ(with(R"("per_tensor":true)"),
            "not_supported: case \"c0\": option \"per_tensor\" = \"true\" is not known for te");
  EXPECT_EQ(with(R"("tile":[32,32])"),
            "not_supported: case \"c0\": option \"tile\" = \"[32,32]\" is not known for te");
  EXPECT_EQ(with(R"("row_scaled":1)"),
            "not_supported: case \"c0\": option \"row_scaled\" = \"1\" is not known for te");
  EXPECT_EQ(with(R"("four_over_six":true,"err_mode":"MAX")"),
            "not_supported: case \"c0\": option \"err_mode\" = \"MAX\" is not known for te");
  EXPECT_EQ(with(R"("tile":[1,16])"), "");
}

TEST(Vectors, BrokenFileIsAnError) {
  TestFile file = small();
  file.tensors.erase("c0/scale");
  EXPECT_EQ(fault_of(file), "file_corrupt: tensor \"c0/scale\" is missing");
  const auto with = [](const std::string& cases) {
    TestFile changed = small();
    changed.metadata["cases"] = cases;
    return fault_of(changed);
  };
  EXPECT_EQ(with("{}"), "file_corrupt: the metadata's cases are no JSON list");
  EXPECT_EQ(with("[{\"name\":" + std::string(1000000, '[')),
            "file_corrupt: the metadata's cases nest deeper than 64 levels");
  EXPECT_EQ(with("[1]"), "file_corrupt: a case is no JSON object");
  for (const char* text :
       {R"([{"shape":[1],"dtype":"f32"}])", R"([{"name":"","shape":[],"dtype":"f32"}])"}) {
    EXPECT_EQ(with(text),
              "file_corrupt: case \"\" lacks a name, a shape or a dtype of f32, f16, bf16");
  }
  for (const char* text : {R"([{"name":"c","shape":[-1],"dtype":"f32"}])",
                           R"([{"name":"c","shape":[1.5],"dtype":"f32"}])",
                           R"([{"name":"c","shape":[1],"dtype":"u8"}])",
                           R"([{"name":"c","shape":16,"dtype":"f32"}])"}) {
    EXPECT_EQ(with(text),
              "file_corrupt: case \"c\" lacks a name, a shape or a dtype of f32, f16, bf16");
  }
  EXPECT_EQ(with(R"([{"name":"c0","shape":[4294967296,4294967296],"dtype":"f32"}])"),
            "file_corrupt: case \"c0\", shape [4294967296, 4294967296]: more elements than 64 bits "
            "count");
  EXPECT_EQ(with(R"([{"name":"c0","shape":[0,4611686018427387904],"dtype":"f32"}])"),
            "file_corrupt: case \"c0\", shape [0, 4611686018427387904]: the limit is 268435456 "
            "elements");
  EXPECT_EQ(with(R"([{"name":"c0","shape":[4,16],"dtype":"f32"}])"),
            "file_corrupt: tensor \"c0/x\" is F32 of 128 bytes, not F32 of 256");
  file = small();
  file.metadata.erase("title");
  EXPECT_EQ(fault_of(file),
            "file_corrupt: its metadata has no title and cases: these are no reference vectors");
}

TEST(Vectors, AFileWithoutCasesOrWithOneTwiceIsAnError) {
  EXPECT_EQ(fault_of(listing("[]")), "file_corrupt: the metadata's list of cases is empty");
  EXPECT_EQ(fault_of(listing(R"([{"name":"c0","shape":[2,16],"dtype":"f32"},
                                 {"name":"c0","shape":[2,16],"dtype":"f32"}])")),
            "file_corrupt: case \"c0\" is listed twice");
}

TEST(Vectors, ATensorOfNoCaseIsAnError) {
  for (const char* name : {"c1/x", "c0", "x", "c0/more/x", "/x"}) {
    TestFile file = small();
    file.tensors[name] = floats({1}, {1});
    EXPECT_EQ(fault_of(file), cat("file_corrupt: tensor \"", name, "\" is of no case"));
  }
}

// Rows that end within a block are skipped only where the tensors have such rows too.
TEST(Vectors, ACaseOfAnotherShapeThanItsTensorsIsNotSkipped) {
  for (const char* shape : {"[32,1]", "[1,32]", "[32]", "[2,2,8]"}) {
    const TestFile file = listing(cat(R"([{"name":"c0","shape":)", shape, R"(,"dtype":"f32"}])"));
    EXPECT_NE(
        fault_of(file).find("file_corrupt: tensor \"c0/x\" has shape [2, 16], its case says "),
        std::string::npos)
        << shape << ": " << fault_of(file);
  }
  TestFile file = listing(R"([{"name":"c0","shape":[32,1],"dtype":"f32"}])");
  file.tensors["c0/x"].shape = {32, 1};
  EXPECT_EQ(check_small(file).value().count(CaseResult::State::skipped), 2u);
}

TEST(Vectors, AnOptionOfFourOverSixWithoutItIsAnError) {
  for (const auto& [option, value] :
       {std::pair{"e4m3_max", "256"}, {"e4m3_max", "448"}, {"err_mode", "\"MSE\""}}) {
    for (const char* without : {"", R"("four_over_six":false,)"}) {
      EXPECT_EQ(fault_of(listing(cat(R"([{"name":"c0","shape":[2,16],"dtype":"f32",)", without,
                                     "\"", option, "\":", value, "}]"))),
                cat("file_corrupt: case \"c0\": ", option,
                    " without four_over_six, which it is an option of"));
    }
  }
}

}  // namespace
}  // namespace diecast::testing
