// Names and parameters of a header that are wrong: whole texts, each with its place, its line and a
// caret.
#include <diecast/template/template.h>
#include <gtest/gtest.h>
#include <template/header_errors.h>

namespace diecast {
namespace {

TEST(HeaderParser, AnUnknownLineSaysWhatWasMeant) {
  EXPECT_EQ(
      error_of("optoin int BLOCK {16}"),
      "diecast: parse_error: k.cu:2:1: no line starts with `optoin`; did you mean `option`?\n"
      "  optoin int BLOCK {16}\n"
      "  ^\n"
      "  fix: a line starts with one of shape, option, tune, let, size, arg, require, launch, "
      "target, exchange, sample, use");
}

TEST(HeaderParser, AnUnknownNameInAnExpressionSaysWhatWasMeant) {
  EXPECT_EQ(error_of("shape int COLS\nrequire  COL % 16 == 0   // whole blocks"),
            "diecast: parse_error: k.cu:3:10: nothing is called `COL`; did you mean `COLS`?\n"
            "  require  COL % 16 == 0   // whole blocks\n"
            "           ^\n"
            "  fix: declare it with a line of its own, or correct the name");
  EXPECT_EQ(
      error("launch grid(1) block(32 * sm_cout)"),
      "diecast: parse_error: k.cu:2:27: nothing is called `sm_cout`; did you mean `sm_count`?\n"
      "  launch grid(1) block(32 * sm_cout)\n"
      "                            ^\n"
      "  fix: declare it with a line of its own, or correct the name");
}

TEST(HeaderParser, ARequirementSpeaksOfWhatIsKnownBeforeCompiling) {
  EXPECT_EQ(error_of("size rows\narg rows\nrequire rows % 16 == 0"),
            "diecast: parse_error: k.cu:4:9: `rows` is known only at launch\n"
            "  require rows % 16 == 0\n"
            "          ^\n"
            "  fix: this must be known before compiling: use names in UPPER CASE; `size rows "
            "divisible 16` promises a multiple, and an assert in the code checks the rest");
  EXPECT_EQ(first_line(error_of("tune int waves = 1\nrequire waves < 3")),
            "diecast: parse_error: k.cu:3:9: `waves` is known only at launch");
  EXPECT_EQ(first_line(error_of("arg x in f32 [1] align sm_count")),
            "diecast: parse_error: k.cu:2:24: `sm_count` is known only at launch");
  EXPECT_EQ(first_line(error_of("arg x in f32 [sm_count]")),
            "diecast: parse_error: k.cu:2:15: `sm_count` is known only at launch");
}

TEST(HeaderParser, UpperCaseIsFixedAtCompileTimeAndLowerCaseIsNot) {
  EXPECT_EQ(error_of("shape int Cols"),
            "diecast: parse_error: k.cu:2:11: shape `Cols` is not in UPPER CASE\n"
            "  shape int Cols\n"
            "            ^\n"
            "  fix: write `COLS`: it is fixed at compile time");
  EXPECT_EQ(error_of("size ROWS"),
            "diecast: parse_error: k.cu:2:6: size `ROWS` is not in lower case\n"
            "  size ROWS\n"
            "       ^\n"
            "  fix: write `rows`: it is given at launch");
  EXPECT_EQ(error_of("arg X in f32 [1]"),
            "diecast: parse_error: k.cu:2:5: argument `X` is not in lower case\n"
            "  arg X in f32 [1]\n"
            "      ^\n"
            "  fix: write `x`: it is given at launch");
  EXPECT_EQ(error_of("tune int Waves = 1"),
            "diecast: parse_error: k.cu:2:10: tune `Waves` is not in lower case\n"
            "  tune int Waves = 1\n"
            "           ^\n"
            "  fix: write `WAVES` (fixed at compile time) or `waves` (read at launch)");
}

TEST(HeaderParser, NamesAreDeclaredOnce) {
  EXPECT_EQ(error_of("shape int COLS\n\noption bool COLS"),
            "diecast: parse_error: k.cu:4:13: `COLS` is declared twice: first on line 2\n"
            "  option bool COLS\n"
            "              ^\n"
            "  fix: rename one or remove it");
  EXPECT_EQ(first_line(error_of("size n\narg n\narg n")),
            "diecast: parse_error: k.cu:4:5: `n` is an argument twice: first on line 3");
  EXPECT_EQ(first_line(error_of("size n\narg n in f32 [1]")),
            "diecast: parse_error: k.cu:3:5: `n` is declared twice: first on line 2");
  EXPECT_EQ(first_line(error_of("arg n in f32 [1]\nsize n")),
            "diecast: parse_error: k.cu:2:5: `n` is declared on line 3 already");
  EXPECT_EQ(first_line(error_of("arg x in f32 [1] stride\narg x_stride i64")),
            "diecast: parse_error: k.cu:3:5: `x_stride` is the row stride of x");
}

TEST(HeaderParser, ReservedWordsAreTaken) {
  EXPECT_EQ(
      error_of("size host"),
      "diecast: parse_error: k.cu:2:6: `host` is taken: it speaks of the target or the device\n"
      "  size host\n"
      "       ^\n"
      "  fix: choose another name");
  for (const char* line :
       {"size cc", "size sm_count", "size shared_optin", "size int", "size register",
        "arg class in f32 [1]", "size min", "size bits", "size f32", "arg u64 i64",
        "size diecast_x", "size a__b", "size _a", "size diecast", "size k", "arg k_body in f32 [1]",
        "size k_body", "option int DIECAST_CC", "tune int auto = 1"})
    EXPECT_NE(error_of(line).find("is taken"), std::string::npos) << error_of(line);
}

TEST(HeaderParser, ValuesAreOutOfTheSet) {
  EXPECT_EQ(error_of("option int BLOCK {16, 32} = 24"),
            "diecast: parse_error: k.cu:2:29: `24` is not a value of BLOCK\n"
            "  option int BLOCK {16, 32} = 24\n"
            "                              ^\n"
            "  fix: the default is one of 16, 32");
  EXPECT_EQ(
      error_of("option type IN {bf16, fp32}"),
      "diecast: parse_error: k.cu:2:23: no element type is called `fp32`; did you mean `f32`?\n"
      "  option type IN {bf16, fp32}\n"
      "                        ^\n"
      "  fix: the element types are bf16, f16, f32, e4m3, e5m2, e8m0, u8, i32, u32, i64, f64, i8, "
      "u16, u64");
  EXPECT_EQ(error_of("shape int COLS {16, 32}\nsample COLS {16, 48}"),
            "diecast: parse_error: k.cu:3:18: 48 is not a value of COLS\n"
            "  sample COLS {16, 48}\n"
            "                   ^\n"
            "  fix: sample one of 16, 32");
  for (const char* line :
       {"option int B {16, 16}", "option enum L {a, b, a}", "option enum L {A}",
        "option enum L {1}", "option int B {x}", "option bool X {0, 1}", "option bool X = 2",
        "option bool X = yes", "shape int COLS = -1", "shape int COLS {-1}", "option type IN",
        "option enum L", "option int B {}", "option int B {16", "option int B = ",
        "tune bool waves", "tune enum waves {a} = a", "sample COLS {}", "sample nothing {1}"})
    EXPECT_EQ(first_line(error_of(line)).find("diecast: parse_error: k.cu:2:"), 0u) << line;
}

TEST(HeaderParser, AFactsExpressionStandsInParentheses) {
  EXPECT_EQ(error_of("option type IN {bf16, f32}\narg x in IN [1] align bits(IN) / 8"),
            "diecast: parse_error: k.cu:3:32: `bits(IN)` ends before `/`: an expression stands in "
            "parentheses here\n"
            "  arg x in IN [1] align bits(IN) / 8\n"
            "                                 ^\n"
            "  fix: put parentheses around all of it");
  for (const char* line : {"option bool A\nsize n divisible A ? 1 : 16\narg n",
                           "option bool A\nsize n divisible 8 * 2\narg n",
                           "option bool A\narg x in f32 [1] stride (A) && 1"})
    EXPECT_NE(error_of(line).find("put parentheses around all of it"), std::string::npos) << line;
  EXPECT_EQ(error_of("option bool A\narg x in f32 [1] stride (A) align (A ? 4 : 8)"), "parsed");
}

TEST(HeaderParser, ASampleIsOnce) {
  EXPECT_EQ(error_of("shape int COLS = 0\nsample COLS {0, 16, 0}"),
            "diecast: parse_error: k.cu:3:21: 0 is sampled twice\n"
            "  sample COLS {0, 16, 0}\n"
            "                      ^\n"
            "  fix: remove one");
}

TEST(HeaderParser, TypesOfElsewhereAreKnownByTheirNamesThere) {
  for (const auto& [word, ours] :
       {std::pair("float", "f32"), {"__half", "f16"}, {"int", "i32"}, {"bool", "u8"}}) {
    const std::string wanted =
        "no element type is called `" + std::string(word) + "`; did you mean `" + ours + "`?\n";
    for (const char* before : {"option type IN {f32}\narg x in ", "arg x ", "option type IN {"})
      EXPECT_NE(error_of(std::string(before) + word).find(wanted), std::string::npos)
          << error_of(std::string(before) + word);
  }
}

TEST(HeaderParser, ATensorWithoutADirectionIsToldWhichThereAre) {
  EXPECT_EQ(error_of("size n\narg x f32 [n]\narg n"),
            "diecast: parse_error: k.cu:3:11: a tensor has a direction before its type\n"
            "  arg x f32 [n]\n"
            "            ^\n"
            "  fix: write `arg x in f32 [...]`; out if it is written, inout if it is both");
  EXPECT_EQ(first_line(error_of("arg x i32*")),
            "diecast: parse_error: k.cu:2:10: a tensor has a direction before its type");
}

TEST(HeaderParser, ASetHasValues) {
  for (const char* type : {"int", "type", "enum"})
    EXPECT_NE(error_of(std::string("option ") + type + " A {}").find(": the set of A is empty\n"),
              std::string::npos);
}

TEST(HeaderParser, TypesOfParametersAndArgumentsExist) {
  EXPECT_EQ(error_of("option itn BLOCK"),
            "diecast: parse_error: k.cu:2:8: a parameter is no `itn`; did you mean `int`?\n"
            "  option itn BLOCK\n"
            "         ^\n"
            "  fix: write int, bool, type, enum or float");
  EXPECT_EQ(error_of("option type IN {bf16, f16}\narg x in INN [1]"),
            "diecast: parse_error: k.cu:3:10: no element type is called `INN`; did you mean `IN`?\n"
            "  arg x in INN [1]\n"
            "           ^\n"
            "  fix: an argument's type is one of bf16, f16, f32, e4m3, e5m2, e8m0, u8, i32, u32, "
            "i64, f64, i8, u16, u64, IN; "
            "a direction (in, out, inout), struct or tensor_map may stand here too");
  EXPECT_EQ(
      error_of("option int B {16}\nrequire bits(B) == 16"),
      "diecast: parse_error: k.cu:3:14: `B` is no element type\n"
      "  require bits(B) == 16\n"
      "               ^\n"
      "  fix: bits takes one of bf16, f16, f32, e4m3, e5m2, e8m0, u8, i32, u32, i64, f64, i8, "
      "u16, u64");
}

}  // namespace
}  // namespace diecast
