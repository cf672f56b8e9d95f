// What a text may ask of the preprocessor: nothing that is outside of it, and nothing that changes.
#include <diecast/base/text.h>
#include <diecast/template/complete_source.h>
#include <gtest/gtest.h>
#include <template/outside_spellings.h>
#include <template/scale_rows.h>

#include <set>

namespace diecast {
namespace {

std::string checked(const std::string& code) {
  const auto outcome = check_complete({"k.cu", "k", code});
  return outcome ? "complete" : outcome.error().message();
}

// The few that no compiler of this standard takes for anything, and what the host's compiler
// refuses by itself.
TEST(CompleteSource, NoSpellingReachesACompilerThatWouldReadAFile) {
  const std::set<std::string_view> left = {"trigraph", "module", "exported module"};
  std::size_t refused = 0;
  for (const auto& list : {testing::including_spellings(), testing::asking_spellings()})
    for (const auto& [name, text] : list) {
      const std::string said = checked(testing::with_oracle(text, "/tmp/x.h", ""));
      EXPECT_EQ(said == "complete", left.contains(name)) << name << "\n" << said;
      if (said != "complete") {
        EXPECT_EQ(said.find("diecast: parse_error: k.cu:"), 0u) << said;
        EXPECT_NE(said.find("\n  fix: "), said.npos) << said;
      }
      refused += said != "complete";
    }
  EXPECT_GE(refused, 60u);
}

TEST(CompleteSource, ShowsThePlaceUnderTheNameThatItsLinesHave) {
  EXPECT_EQ(checked("#line 1 \"diecast/device/a.h\"\nint a;\n#line 7 \"k.cu\"\nint b;\n"
                    "  #if __has_\\\ninclude(\"/x.h\")\n#endif\n"),
            "diecast: parse_error: k.cu:8:7: `__has_include` asks for what is outside the text\n"
            "    #if __has_\\\n"
            "        ^\n"
            "  fix: a kernel's text is complete in itself: use a device header, or write it here");
  EXPECT_EQ(checked("int a;\n#include \"x.h\""),
            "diecast: parse_error: k.cu:2:1: the directive `#include` is none that a kernel may "
            "use\n"
            "  #include \"x.h\"\n"
            "  ^\n"
            "  fix: a kernel's text is complete in itself: use a device header, or write it here");
}

TEST(CompleteSource, HasNoWordThatChangesFromRunToRun) {
  for (const std::string word : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    EXPECT_EQ(checked("const char* s = " + word + ";"),
              "diecast: parse_error: k.cu:1:17: `" + word +
                  "` changes from run to run\n"
                  "  const char* s = " +
                  word +
                  ";\n"
                  "                  ^\n"
                  "  fix: leave it out: one text is compiled once and its code is kept");
    const std::string half = word.substr(0, 5), rest = word.substr(5);
    EXPECT_NE(checked("#define W " + half + "##" + rest), "complete") << word;
    EXPECT_NE(checked("#define P(a, b) a##b\nP(" + half + "," + rest + ")"), "complete") << word;
    EXPECT_NE(checked(half + "\\\n" + rest), "complete") << word;
    EXPECT_EQ(checked("// " + word + "\nconst char* s = \"" + word + "\";"), "complete");
  }
}

TEST(CompleteSource, TakesWhatKernelsWrite) {
  for (const char* code :
       {"#define A(x, ...) f(x, ##__VA_ARGS__)\n",
        "#define N(name) name##_body\n",
        "#define S(x) #x\n",
        "#if defined(X) && (Y + 1) > 'a'\n#endif\n",
        "#define AT_LEAST(x) (DIECAST_CC >= x)\n#if AT_LEAST(90)\n#endif\n",
        "#ifdef __AVX2__\n#endif\n",
        "#if __CUDACC_VER_MAJOR__ > 12 // a word\n#endif\n",
        "#\n",
        "#define ONE 1 /* of\n two lines */\nint x;\n",
        "_Pragma(\"unroll 4\")\n",
        "_Pragma(\"GCC diagnostic ignored \\\"-Wunused\\\"\")\n",
        "#pragma unroll N\n",
        "#pragma nv_diag_suppress 177\n",
        "#line 3 \"folder/a-b.cu\"\n#line 4\n",
        "auto s = R\"x(a \" ' /* )\" )x\";\n",
        "auto s = R\"(\n one\n two\n)\";\n",
        "int n = 1'000'000 + 0x1F'FF; float f = 1.5e+7f, g = .5f;\n",
        "auto c = u8'a'; auto s = LR\"(x)\"; auto t = L\"x\" \"y\";\n",
        "char c = '\\'', d = '\"';\n",
        "// don't\n/* don't \" */\n",
        "int a = b ? c : d % e;\n",
        "const char* what = \"\xC3\xA9\";\n",
        "const char* s = \"one \\\n two\";\n",
        "#define DIECAST_PRAGMA(text) _Pragma(#text)\n#define U(n) DIECAST_PRAGMA(unroll n)\n"})
    EXPECT_EQ(checked(code), "complete") << code;
}

// A word of a pragma that a macro replaces would be another pragma.
TEST(CompleteSource, HasNoMacroOfAPragmasName) {
  for (const char* name : {"unroll", "GCC", "diagnostic"})
    EXPECT_NE(checked(cat("#define ", name, " x\n")).find("is a word of pragmas"),
              std::string::npos);
}

TEST(CompleteSource, AsksInConditionsForWhatTheListsHave) {
  for (const char* condition : {"__has_something(x)", "__FILE__", "\"a\" == \"b\"", "X", "_Other"})
    EXPECT_NE(checked(cat("#define X Y\n#define Y __unknown\n#if ", condition, "\n#endif\n")),
              "complete")
        << condition;
}

TEST(CompleteSource, AreAllThatAreShipped) {
  const TemplateFiles files = TemplateFiles::embedded();
  for (const std::string& name : files.template_names()) {
    const auto tmpl = Template::parse(name, *files.template_text(name)).value();
    const SourceParts parts = source_parts(*tmpl, files).value();
    EXPECT_EQ(checked(parts.headers + parts.asserts + parts.code), "complete") << name;
  }
  EXPECT_GT(files.template_names().size(), 20u);
}

TEST(CompleteSource, IsWhatRenderingMakes) {
  for (const char* on : {"sm_90a", "host"}) {
    const auto made = Specialization::make(
        scale_rows(), Bindings().set("COLS", 0).set("IN", DType::f32), target(on));
    EXPECT_TRUE(check_complete(render(made.value(), golden_files()).value())) << on;
  }
}

}  // namespace
}  // namespace diecast
