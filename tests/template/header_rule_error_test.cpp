// Arguments, launch and the other rules of a header that are wrong, and files that are no template:
// whole texts.
#include <diecast/template/template.h>
#include <gtest/gtest.h>
#include <template/header_errors.h>

namespace diecast {
namespace {

TEST(HeaderParser, AnArgumentAloneIsASize) {
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

TEST(HeaderParser, ASizeIsFixedByACompiledInt) {
  EXPECT_EQ(
      error_of("shape int COLS\nsize cols = COL\narg cols"),
      "diecast: parse_error: k.cu:3:13: no compiled int parameter is called `COL`; did you mean "
      "`COLS`?\n"
      "  size cols = COL\n"
      "              ^\n"
      "  fix: a size is fixed by a `shape int` or another int in UPPER CASE");
}

TEST(HeaderParser, ASizeIsFixedByOneParameter) {
  EXPECT_EQ(error_of("shape int COLS\nsize wide = COLS * 2\narg wide"),
            "diecast: parse_error: k.cu:3:18: a size is fixed by one parameter, not by an "
            "expression\n"
            "  size wide = COLS * 2\n"
            "                   ^\n"
            "  fix: write `size wide = COLS` and the expression where the size is used, or a "
            "parameter for it");
}

TEST(HeaderParser, ATensorIsWholeAndItsFactsAreKnown) {
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
      "  fix: the facts are `stride`, `align BYTES`, `optional` and `settled`, each once");
  for (const char* line :
       {"arg x in f32 []", "arg x in f32 [1", "arg x in f32 [1] stride stride",
        "arg x in f32 [1] align", "arg x inn f32 [1]", "arg", "arg x f32 [1]", "arg p struct",
        "arg p struct S", "arg p struct S 0", "arg p struct S 4097", "arg p struct a:: 8",
        "arg m tensor_map 128", "arg 1 f32"})
    EXPECT_EQ(first_line(error_of(line)).find("diecast: parse_error: k.cu:2:"), 0u) << line;
}

TEST(HeaderParser, AParameterIsNoMacro) {
  const auto message = [](const std::string& code) {
    const auto tmpl = Template::parse("k",
                                      "/* diecast\noption enum MODE {a, b}\nsize rows\narg rows\n"
                                      "launch grid(1) block(32)\n*/\n" +
                                          code + "DIECAST_KERNEL {}\n");
    return tmpl ? "parsed" : tmpl.error().message();
  };
  EXPECT_EQ(
      message("#if MODE == MODE_b\n#endif\n"),
      "diecast: parse_error: k.cu:7:5: `MODE` is a constant, not a macro: here it would always "
      "be 0\n"
      "  #if MODE == MODE_b\n"
      "      ^\n"
      "  fix: if constexpr (... MODE ...) in the code; of macros there are DIECAST_HOST and "
      "DIECAST_CC");
  EXPECT_EQ(message("// a comment\n#if 0\n#elif defined(X) && \\\n  MODE\n#endif\n").substr(0, 50),
            "diecast: parse_error: k.cu:10:3: `MODE` is a const");
  for (const char* line : {"#ifdef MODE", "#ifndef rows", "  %: if MODE", "#elifdef MODE"})
    EXPECT_EQ(first_line(message(std::string(line) + "\n")).find("diecast: parse_error: k.cu:7:"),
              0u)
        << line;
  for (const char* line : {"#if DIECAST_HOST  // MODE", "#if DIECAST_CC >= 90 /* rows */",
                           "#define ALL MODE", "#if MODE_SHIFT", "#pragma unroll MODE"})
    EXPECT_EQ(message(std::string(line) + "\n#endif\n"), "parsed") << line;
}

TEST(HeaderParser, ALaunchIsWholeAndSaidOnce) {
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
            "  fix: it has grid, block, resident, shared, cluster, cooperative, dependent");
  EXPECT_EQ(first_line(error("launch grid(1) block(1)\nlaunch grid(2)")),
            "diecast: parse_error: k.cu:3:8: `grid` is given twice: first on line 2");
  EXPECT_EQ(first_line(error("launch grid(1, 2, 3, 4) block(1)")),
            "diecast: parse_error: k.cu:2:22: `grid` takes one to three values");
  EXPECT_EQ(first_line(error("launch grid(1) block(1) shared(1, 2)")),
            "diecast: parse_error: k.cu:2:35: `shared` takes one value");
  EXPECT_EQ(error("launch grid(1) block(1) dependent(1)"),
            "diecast: parse_error: k.cu:2:35: `dependent` takes `late`, not `1`\n"
            "  launch grid(1) block(1) dependent(1)\n"
            "                                    ^\n"
            "  fix: write dependent, or dependent(late) where the body waits itself");
  EXPECT_EQ(error("launch grid(1) block(1) dependent(late)"),
            "diecast: parse_error: k.cu:2:35: the body never waits for the launch before, whose "
            "results it may need\n"
            "  launch grid(1) block(1) dependent(late)\n"
            "                                    ^\n"
            "  fix: call launch_before_ended() of <diecast/device/threads/dependent.h>, or write "
            "`dependent` alone");
  for (const char* line :
       {"launch", "launch grid", "launch grid()", "launch grid(1) block(1) cluster",
        "launch grid(1 block(1)", "launch grid(1) block(1), shared(1)"})
    EXPECT_EQ(first_line(error(line)).find("diecast: parse_error: k.cu:2:"), 0u) << line;
}

TEST(HeaderParser, ACooperativeLaunchLeavesTheHostOut) {
  EXPECT_EQ(error("launch grid(1) block(1) cooperative"),
            "diecast: parse_error: k.cu:2:25: blocks of a cooperative launch wait for one another, "
            "which the host cannot do\n"
            "  launch grid(1) block(1) cooperative\n"
            "                          ^\n"
            "  fix: add a target line without host, such as `target sm_80+`");
  EXPECT_EQ(error("launch grid(1) block(1) cooperative cluster(2)\ntarget sm_90+"), "parsed");
  EXPECT_EQ(first_line(error("launch grid(1) block(1) cooperative\ntarget host_v3, sm_90a")),
            first_line(error("launch grid(1) block(1) cooperative")));
}

TEST(HeaderParser, TargetsAndExchangeAreKnownWords) {
  EXPECT_EQ(
      error_of("target host, sm_90"),
      "diecast: parse_error: k.cu:2:14: sm_90 is not a target: from sm_90 up only exact targets "
      "(`a`) and whole families (`f`) exist\n"
      "  target host, sm_90\n"
      "               ^\n"
      "  fix: write sm_90a, or sm_90+ for it and all later ones");
  EXPECT_TRUE(error_of("target sm_75").ends_with("  fix: the first is sm_80"));
  EXPECT_EQ(
      first_line(error_of("target sm_90a+")),
      "diecast: parse_error: k.cu:2:8: `sm_90a` with + names no architecture and all later ones");
  EXPECT_EQ(first_line(error_of("target sm_80+, sm_100+")),
            "diecast: parse_error: k.cu:2:16: `sm_100`+ after sm_80+");
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

TEST(HeaderParser, ALineEndsWhereItsStatementDoes) {
  EXPECT_EQ(error_of("size rows device 64"),
            "diecast: parse_error: k.cu:2:18: the line should end before `64`\n"
            "  size rows device 64\n"
            "                   ^\n"
            "  fix: remove it");
  EXPECT_EQ(error_of("size rows devise"),
            "diecast: parse_error: k.cu:2:11: the line should end before `devise`; did you mean "
            "`device`?\n"
            "  size rows devise\n"
            "            ^\n"
            "  fix: write that word, or remove it");
  EXPECT_EQ(error_of("size rows divisible 16 device"),
            "diecast: parse_error: k.cu:2:24: the line should end before `device`\n"
            "  size rows divisible 16 device\n"
            "                         ^\n"
            "  fix: write `size n device divisible 16`, `arg x in f32 [n] stride align 16`: each "
            "word once and where it stands there");
  EXPECT_EQ(error_of("size n\narg n\narg x in f32 [n] stride align 16 stride"),
            "diecast: parse_error: k.cu:4:34: `stride` is given twice\n"
            "  arg x in f32 [n] stride align 16 stride\n"
            "                                   ^\n"
            "  fix: remove one");
  EXPECT_EQ(error_of("tune int THREADS = 32\nrequire THREADS = 32"),
            "diecast: parse_error: k.cu:3:17: the line should end before `=`\n"
            "  require THREADS = 32\n"
            "                  ^\n"
            "  fix: remove it; two numbers are compared by `==`");
}

TEST(HeaderParser, SamplesMayBeNegativeWhereValuesMay) {
  EXPECT_EQ(error_of("option int A = 0\nsample A {-5, 5}"), "parsed");
  for (const char* lines : {"shape int A = 0\nsample A {-5}", "size a\narg a\nsample a {-5}"})
    EXPECT_NE(error_of(lines).find(" is not negative"), std::string::npos) << error_of(lines);
}

TEST(HeaderParser, ASampleThatIsNoneIsPointedAt) {
  EXPECT_EQ(first_line(error_of("size a\narg a\nsample a {4, -5}")),
            "diecast: parse_error: k.cu:4:15: a is not negative");
}

TEST(HeaderParser, CommentsAndEmptyLinesAreFree) {
  EXPECT_EQ(error_of("// a comment\n\n   \t\n  // another\nshape int COLS = 0//tight"), "parsed");
}

TEST(HeaderParser, AFileHasThreeParts) {
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
  EXPECT_EQ(message("int", ""),
            "diecast: parse_error: \"int\" cannot name a kernel: a word of C++\n"
            "  fix: give the file another name");
  for (const char* name : {"f32", "main", "std", "diecast", "min"})
    EXPECT_NE(message(name, "").find("cannot name a kernel"), std::string::npos) << name;
  EXPECT_EQ(message("host", "/* diecast launch grid(1) block(1) */\nDIECAST_KERNEL {}"), "parsed");
  EXPECT_EQ(message("k", std::string_view("/* diecast\0*/", 13)),
            "diecast: parse_error: k.cu has a zero byte in it\n"
            "  fix: a template is text: write the file anew");
  EXPECT_EQ(message("k", "/* diecast launch grid(1) block(1) */\nDIECAST_KERNEL {}"), "parsed");
  EXPECT_EQ(first_line(message("k", "/* diecast lunch grid(1) block(1) */\nDIECAST_KERNEL {}")),
            "diecast: parse_error: k.cu:1:12: no line starts with `lunch`; did you mean `launch`?");
}

TEST(HeaderParser, HostileLinesAreShownSafely) {
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
