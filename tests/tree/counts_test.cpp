// counts.sh on a small tree whose counts are known, and on this one.
#include <gtest/gtest.h>
#include <tree/files.h>

#include "temporary_directory.h"

namespace diecast::tree {
namespace {

std::string counts_of(const std::string& folder) {
  ProcessRequest request;
  request.arguments = {"/usr/bin/env", "bash", kRoot + "/tests/tree/counts.sh", folder};
  const auto run = run_process(request).value();
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  return run.output;
}

// Eight lines of code of one shape under any name. A list of numbers, which is one shape, is no
// repeat.
std::string function(const std::string& name) {
  return "int " + name + "(int " + name + "_value) {\n" + "  const int twice = 2 * " + name +
         "_value;\n  // why\n  if (twice < 0) {\n    fail(\"" + name +
         " {\\\"}\");\n    return 1;\n  }\n  return 0;\n}\n";
}

TEST(Counts, AreThoseOfATreeThatWasCountedByHand) {
  const testing::TemporaryDirectory folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(
        (std::filesystem::path(folder.path()) / name).parent_path());
    testing::write_text(folder / name, text);
  };
  write("src/diecast/ops/a.cpp", function("first") + "1,\n2,\n3,\n4,\n5,\n6,\n7,\n8,\n9,\n");
  write("src/diecast/ops/more/b.h", "#include <b.h>\n" + function("second") + "QuantizeMx x;\n");
  write("templates/a.cu", "// a\n/* diecast\nsize   rows\nlaunch grid(rows)\n*/\ncode\n");
  write("templates/b.cu",
        "/* diecast\nsize rows\n\narg x in " + std::string(140, '-') + "\n*/\ndequantize_mx\n");
  write("tests/golden/x", "quantize_mx");
  EXPECT_EQ(counts_of(folder.path()),
            "src/diecast/ops: 29 lines in 2 files\n"
            "template headers: 4 lines, 3 distinct, 1 over 140 columns\n"
            "repeats in ops: 1 pairs of places, 16 of 26 lines of code\n"
            "files that name quantize_mx or QuantizeMx: 2\n"
            "  1 src/diecast/ops/more\n"
            "  1 templates\n");
}

TEST(Counts, RunOnThisTree) {
  const std::string shown = counts_of(kRoot);
  for (const char* begin : {"src/diecast/ops: ", "\ntemplate headers: ", "\nrepeats in ops: ",
                            "\nfiles that name quantize_mx or QuantizeMx: "}) {
    const std::size_t at = shown.find(begin);
    ASSERT_NE(at, shown.npos) << begin << shown;
    EXPECT_TRUE(parse_integer(words(shown.substr(at + std::string_view(begin).size()))[0]))
        << begin << shown;
  }
}

}  // namespace
}  // namespace diecast::tree
