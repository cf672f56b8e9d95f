// What is wrong with a header: whole texts, each with its place, its line and a caret.
#include <diecast/template/template.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

// The error of a template whose header has these lines, the first of them line 2.
std::string error(const std::string& lines) {
  const auto tmpl = Template::parse("k", "/* diecast\n" + lines + "\n*/\nDIECAST_KERNEL {}\n");
  return tmpl ? "parsed" : tmpl.error().message();
}

// The same with a launch line after them.
std::string error_of(const std::string& lines) {
  return error(lines + "\nlaunch grid(1) block(32)");
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(Header, AnUnknownLineSaysWhatWasMeant) {
  EXPECT_EQ(
      error_of("optoin int BLOCK {16}"),
      "diecast: parse_error: k.cu:2:1: no line starts with `optoin`; did you mean `option`?\n"
      "  optoin int BLOCK {16}\n"
      "  ^\n"
      "  fix: a line starts with one of shape, option, tune, size, arg, require, launch, target, "
      "exchange, sample");
}

TEST(Header, AnUnknownNameInAnExpressionSaysWhatWasMeant) {
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

TEST(Header, AWordOfAnEnumIsWrittenWithItsOption) {
  EXPECT_EQ(
      error_of("option enum LAYOUT {linear, s128x4}\nrequire LAYOUT == linear"),
      "diecast: parse_error: k.cu:3:19: nothing is called `linear`; did you mean `LAYOUT_linear`?\n"
      "  require LAYOUT == linear\n"
      "                    ^\n"
      "  fix: declare it with a line of its own, or correct the name");
}

TEST(Header, ARequirementSpeaksOfWhatIsKnownBeforeCompiling) {
  EXPECT_EQ(error_of("size rows\narg rows\nrequire rows % 16 == 0"),
            "diecast: parse_error: k.cu:4:9: `rows` is known only at launch\n"
            "  require rows % 16 == 0\n"
            "          ^\n"
            "  fix: this must be known before compiling: use names in UPPER CASE");
  EXPECT_EQ(first_line(error_of("tune int waves = 1\nrequire waves < 3")),
            "diecast: parse_error: k.cu:3:9: `waves` is known only at launch");
  EXPECT_EQ(first_line(error_of("arg x in f32 [1] align sm_count")),
            "diecast: parse_error: k.cu:2:24: `sm_count` is known only at launch");
  EXPECT_EQ(first_line(error_of("arg x in f32 [sm_count]")),
            "diecast: parse_error: k.cu:2:15: `sm_count` is known only at launch");
}

TEST(Header, UpperCaseIsFixedAtCompileTimeAndLowerCaseIsNot) {
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

TEST(Header, NamesAreDeclaredOnce) {
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

TEST(Header, ReservedWordsAreTaken) {
  EXPECT_EQ(
      error_of("size host"),
      "diecast: parse_error: k.cu:2:6: `host` is taken: it speaks of the target or the device\n"
      "  size host\n"
      "       ^\n"
      "  fix: choose another name");
  for (const char* line : {"size cc", "size sm_count", "size shared_optin", "size int",
                           "size register", "arg class in f32 [1]", "size min", "size bits",
                           "size f32", "arg u64 i64", "size diecast_x", "size a__b", "size _a",
                           "size diecast", "size k", "option int DIECAST_CC", "tune int auto = 1"})
    EXPECT_NE(error_of(line).find("is taken"), std::string::npos) << error_of(line);
}

TEST(Header, ValuesAreOutOfTheSet) {
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
      "  fix: the element types are bf16, f16, f32, e4m3, e5m2, e8m0, u8, i32, u32, i64");
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

TEST(Header, TypesOfParametersAndArgumentsExist) {
  EXPECT_EQ(error_of("option itn BLOCK"),
            "diecast: parse_error: k.cu:2:8: a parameter is no `itn`; did you mean `int`?\n"
            "  option itn BLOCK\n"
            "         ^\n"
            "  fix: write int, bool, type or enum");
  EXPECT_EQ(error_of("option type IN {bf16, f16}\narg x in INN [1]"),
            "diecast: parse_error: k.cu:3:10: no element type is called `INN`; did you mean `IN`?\n"
            "  arg x in INN [1]\n"
            "           ^\n"
            "  fix: an argument's type is one of bf16, f16, f32, e4m3, e5m2, e8m0, u8, i32, u32, "
            "i64, IN; "
            "a direction (in, out, inout), struct or tensor_map may stand here too");
  EXPECT_EQ(error_of("option int B {16}\nrequire bits(B) == 16"),
            "diecast: parse_error: k.cu:3:14: `B` is no element type\n"
            "  require bits(B) == 16\n"
            "               ^\n"
            "  fix: bits takes one of bf16, f16, f32, e4m3, e5m2, e8m0, u8, i32, u32, i64");
}

TEST(Header, AnArgumentAloneIsASize) {
  EXPECT_EQ(
      error_of("size rows\narg row"),
      "diecast: parse_error: k.cu:2:6: the size `rows` is no argument, so no launch could know "
      "it\n"
      "  size rows\n"
      "       ^\n"
      "  fix: add a line `arg rows`");
  EXPECT_EQ(
      error_of("size rows\narg rows\narg row"),
      "diecast: parse_error: k.cu:4:5: no size is called `row`; did you mean `rows`?\n"
      "  arg row\n"
      "      ^\n"
      "  fix: declare it (`size row`), or say what it is: `arg NAME in TYPE [shape]`, `arg NAME "
      "TYPE`, ...");
}

TEST(Header, ASizeIsFixedByACompiledInt) {
  EXPECT_EQ(
      error_of("shape int COLS\nsize cols = COL\narg cols"),
      "diecast: parse_error: k.cu:3:13: no compiled int parameter is called `COL`; did you mean "
      "`COLS`?\n"
      "  size cols = COL\n"
      "              ^\n"
      "  fix: a size is fixed by a `shape int` or another int in UPPER CASE");
}

TEST(Header, ATensorIsWholeAndItsFactsAreKnown) {
  EXPECT_EQ(
      error_of("arg x in f32"),
      "diecast: parse_error: k.cu:2:13: expected `[` before the shape, found the end of the line\n"
      "  arg x in f32\n"
      "              ^\n"
      "  fix: write `[` here");
  EXPECT_EQ(
      error_of("arg x in f32 [1] alignn 16"),
      "diecast: parse_error: k.cu:2:18: a tensor has no fact `alignn` here; did you mean `align`?\n"
      "  arg x in f32 [1] alignn 16\n"
      "                   ^\n"
      "  fix: the facts are `stride` and `align BYTES`, each once");
  for (const char* line :
       {"arg x in f32 []", "arg x in f32 [1", "arg x in f32 [1] stride stride",
        "arg x in f32 [1] align", "arg x inn f32 [1]", "arg", "arg x f32 [1]", "arg p struct",
        "arg p struct S", "arg p struct S 0", "arg p struct S 4097", "arg p struct a:: 8",
        "arg m tensor_map 128", "arg 1 f32"})
    EXPECT_EQ(first_line(error_of(line)).find("diecast: parse_error: k.cu:2:"), 0u) << line;
}

TEST(Header, ALaunchIsWholeAndSaidOnce) {
  EXPECT_EQ(error("shape int COLS = 0"),
            "diecast: parse_error: k.cu has no launch line\n"
            "  fix: add one: launch grid(...) block(...)");
  EXPECT_EQ(error("launch grid(1)"),
            "diecast: parse_error: k.cu:2:1: the launch has no block(...)\n"
            "  launch grid(1)\n"
            "  ^\n"
            "  fix: add block(...)");
  EXPECT_EQ(error("launch grid(1) blok(1)"),
            "diecast: parse_error: k.cu:2:16: launch has no `blok`; did you mean `block`?\n"
            "  launch grid(1) blok(1)\n"
            "                 ^\n"
            "  fix: it has grid, block, shared, cluster, cooperative, dependent");
  EXPECT_EQ(first_line(error("launch grid(1) block(1)\nlaunch grid(2)")),
            "diecast: parse_error: k.cu:3:8: `grid` is given twice: first on line 2");
  EXPECT_EQ(first_line(error("launch grid(1, 2, 3, 4) block(1)")),
            "diecast: parse_error: k.cu:2:22: `grid` takes one to three values");
  EXPECT_EQ(first_line(error("launch grid(1) block(1) shared(1, 2)")),
            "diecast: parse_error: k.cu:2:35: `shared` takes one value");
  for (const char* line :
       {"launch", "launch grid", "launch grid()", "launch grid(1) block(1) cluster",
        "launch grid(1 block(1)", "launch grid(1) block(1), shared(1)"})
    EXPECT_EQ(first_line(error(line)).find("diecast: parse_error: k.cu:2:"), 0u) << line;
}

TEST(Header, ACooperativeLaunchLeavesTheHostOut) {
  EXPECT_EQ(error("launch grid(1) block(1) cooperative"),
            "diecast: parse_error: k.cu:2:25: blocks of a cooperative launch wait for one another, "
            "which the host cannot do\n"
            "  launch grid(1) block(1) cooperative\n"
            "                          ^\n"
            "  fix: add a target line without host, such as `target sm_80+`");
  EXPECT_EQ(error("launch grid(1) block(1) cooperative cluster(2)\ntarget sm_90+"), "parsed");
}

TEST(Header, TargetsAndExchangeAreKnownWords) {
  EXPECT_EQ(
      error_of("target host, sm_90"),
      "diecast: parse_error: k.cu:2:14: sm_90 is not a target: from sm_90 up only exact targets "
      "(`a`) and whole families (`f`) exist\n"
      "  target host, sm_90\n"
      "               ^\n"
      "  fix: write sm_90a");
  EXPECT_EQ(
      first_line(error_of("target sm_90a+")),
      "diecast: parse_error: k.cu:2:8: `sm_90a` with + names no architecture and all later ones");
  EXPECT_EQ(error_of("exchange warps"),
            "diecast: parse_error: k.cu:2:10: exchange has no `warps`; did you mean `warp`?\n"
            "  exchange warps\n"
            "           ^\n"
            "  fix: write none, warp or block");
  for (const char* lines : {"target", "target host host", "exchange", "exchange none warp"})
    EXPECT_EQ(first_line(error_of(lines)).find("diecast: parse_error: k.cu:2:"), 0u) << lines;
  EXPECT_EQ(first_line(error_of("target host\ntarget sm_80+")),
            "diecast: parse_error: k.cu:3:8: there is a target line already: line 2");
  EXPECT_EQ(first_line(error_of("exchange none\nexchange warp")),
            "diecast: parse_error: k.cu:3:10: there is an exchange line already: line 2");
  EXPECT_EQ(first_line(error_of("sample n {1}\nsize n\narg n\nsample n {2}")),
            "diecast: parse_error: k.cu:5:8: `n` is sampled twice: first on line 2");
}

TEST(Header, ALineEndsWhereItsStatementDoes) {
  EXPECT_EQ(error_of("size rows device 64"),
            "diecast: parse_error: k.cu:2:18: the line should end before `64`\n"
            "  size rows device 64\n"
            "                   ^\n"
            "  fix: remove it");
}

TEST(Header, CommentsAndEmptyLinesAreFree) {
  EXPECT_EQ(error_of("// a comment\n\n   \t\n  // another\nshape int COLS = 0//tight"), "parsed");
}

TEST(File, HasThreeParts) {
  const auto message = [](std::string_view name, std::string_view text) {
    const auto tmpl = Template::parse(name, text);
    return tmpl ? std::string("parsed") : tmpl.error().message();
  };
  EXPECT_EQ(message("k", "DIECAST_KERNEL {}\n"),
            "diecast: parse_error: k.cu has no header\n"
            "  fix: start one with a line `/* diecast` and end it with `*/`");
  EXPECT_EQ(message("k", "// k\n/* diecast\nlaunch grid(1) block(1)\n"),
            "diecast: parse_error: k.cu:2:1: the header does not end\n"
            "  /* diecast\n"
            "  ^\n"
            "  fix: end it with a line `*/`");
  EXPECT_EQ(message("k", "#pragma once\n/* diecast\n*/"),
            "diecast: parse_error: k.cu:1:1: only comment lines (//) stand above the header\n"
            "  #pragma once\n"
            "  ^\n"
            "  fix: move the code below the header");
  EXPECT_EQ(message("k", "/* diecast\nlaunch grid(1) block(1)\n*/ int x;\nDIECAST_KERNEL {}\n"),
            "diecast: parse_error: k.cu:3:3: the code starts on the line after the header\n"
            "  */ int x;\n"
            "    ^\n"
            "  fix: break the line here");
  EXPECT_EQ(message("k", "/* diecast\nlaunch grid(1) block(1)\n*/\n// DIECAST_KERNEL {}\n"),
            "diecast: parse_error: k.cu has no DIECAST_KERNEL { ... } below its header\n"
            "  fix: write the kernel's body there: its signature comes from the arg lines");
  EXPECT_EQ(
      message("k", "/* diecast\nlaunch grid(1) block(1)\n*/\nDIECAST_KERNEL {}\n/* diecast\n*/\n"),
      "diecast: parse_error: k.cu:5:1: a template has one header, and this is a second\n"
      "  /* diecast\n"
      "  ^\n"
      "  fix: a template is one kernel: write another file");
  EXPECT_EQ(message("my-kernel", ""),
            "diecast: parse_error: \"my-kernel\" cannot name a kernel: it is no identifier\n"
            "  fix: name the file with letters, digits and underscores, as in my_kernel.cu");
  EXPECT_EQ(message("k", std::string_view("/* diecast\0*/", 13)),
            "diecast: parse_error: k.cu has a zero byte in it\n"
            "  fix: a template is text: write the file anew");
  EXPECT_EQ(message("k", "/* diecast launch grid(1) block(1) */\nDIECAST_KERNEL {}"), "parsed");
  EXPECT_EQ(first_line(message("k", "/* diecast lunch grid(1) block(1) */\nDIECAST_KERNEL {}")),
            "diecast: parse_error: k.cu:1:12: no line starts with `lunch`; did you mean `launch`?");
}

TEST(File, HostileLinesAreShownSafely) {
  const std::string long_line = error_of("size rows" + std::string(100'000, ' ') + "\x1b[31m");
  EXPECT_LT(long_line.size(), 600u);
  EXPECT_EQ(long_line.find('\x1b'), std::string::npos);
  EXPECT_EQ(error_of("\tsize\t\xc3\xa9"),
            "diecast: parse_error: k.cu:2:7: \"\\xc3\" is not part of the language\n"
            "  \tsize\t??\n"
            "  \t    \t^\n"
            "  fix: remove it");
}

}  // namespace
}  // namespace diecast
