// Lets: constants that header and code have by one name, and whole texts of what is wrong with one.
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <template/header_errors.h>
#include <template/scale_rows.h>

namespace diecast {
namespace {

std::shared_ptr<const Template> with(const std::string& lines) {
  return Template::parse("k", "/* diecast\n" + lines +
                                  "launch grid(1) block(32)\n*/\n"
                                  "DIECAST_KERNEL { use(WIDE, ROWS, BIG, ORDER); }\n")
      .value();
}

const std::string kLets =
    "option enum LAYOUT {linear, s128x4} = linear\n"
    "shape int COLS = 0\n"
    "let WIDE = COLS > 64 && !host            // rows of several warps\n"
    "let ROWS = LAYOUT == s128x4 ? 128 : WIDE ? 2 : 1\n"
    "let BIG = COLS * 1000000000\n"
    "let ORDER = host ? linear : LAYOUT\n";

std::string source_of(const Bindings& bindings, std::string_view on = "sm_90a") {
  const auto made = Specialization::make(with(kLets), bindings, target(on)).value();
  return render(made, golden_files()).value().text;
}

bool has_part(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Let, IsAConstantOfTheCode) {
  const std::string gpu = source_of(Bindings().set("COLS", 80).set("LAYOUT", "s128x4"));
  EXPECT_TRUE(has_part(gpu,
                       "constexpr bool WIDE = true;\nconstexpr int ROWS = 128;\n"
                       "constexpr i64 BIG = 80000000000LL;\nconstexpr int ORDER = 1;\n"))
      << gpu;
  const std::string host = source_of(Bindings().set("COLS", 80), "host");
  EXPECT_TRUE(has_part(host, "constexpr bool WIDE = false;\nconstexpr int ROWS = 1;\n")) << host;
}

TEST(Let, KnowsWhatItIs) {
  const auto tmpl = with(kLets);
  ASSERT_EQ(tmpl->lets().size(), 4u);
  EXPECT_EQ(tmpl->let("WIDE")->type, ParameterType::boolean);
  EXPECT_EQ(tmpl->let("WIDE")->comment, "rows of several warps");
  EXPECT_EQ(tmpl->let("WIDE")->place.text(), "k.cu:4");
  EXPECT_EQ(tmpl->let("ROWS")->type, ParameterType::integer);
  EXPECT_EQ(tmpl->let("ORDER")->type, ParameterType::enumeration);
  EXPECT_EQ(tmpl->let("ORDER")->set, "LAYOUT");
  EXPECT_EQ(tmpl->let("COLS"), nullptr);
}

TEST(Let, ServesEveryKindOfExpression) {
  const auto tmpl = Template::parse(
      "k",
      "/* diecast\ntune int THREADS {64, 128} = 64\noption enum L {a, b} = a\n"
      "let WARPS = THREADS / 32\nlet TILED = L == b\nlet WORD = TILED ? a : L\n"
      "size rows divisible (WARPS * 8)\narg x in f32 [rows, WARPS] stride (TILED) align (WARPS * "
      "4)\n"
      "arg rows\nrequire WORD == a // never b\n"
      "launch grid(rows / WARPS) block(WARPS * 32) resident(WARPS)\n*/\nDIECAST_KERNEL {}\n");
  ASSERT_TRUE(tmpl.ok()) << tmpl.error().message();
  const auto made =
      Specialization::make(*tmpl, Bindings().set("THREADS", 128), target("sm_90a")).value();
  EXPECT_EQ(made.argument_schema(), "tensor x in f32 align 16\nsize rows divisible 32");
  EXPECT_EQ(made.names()("WARPS"), 4);
  const std::string text = render(made, golden_files()).value().text;
  EXPECT_TRUE(has_part(text, "static_assert(WORD == L_a, \"never b\")")) << text;
  EXPECT_TRUE(has_part(text, "__launch_bounds__(128, 4)")) << text;
  EXPECT_EQ((*tmpl)->space(target("sm_90a")).value().size(), 4u);
}

TEST(Let, IsExplainedByItsValueAndItsParameters) {
  const auto tmpl = Template::parse(
      "k",
      "/* diecast\nshape int COLS = 8\ntune int THREADS {32, 64} = 64\n"
      "let BLOCKS = COLS / 4\nlet HELD = BLOCKS * THREADS\n"
      "require HELD <= 100 || cc > 100 // they fit\nlaunch grid(1) block(THREADS)\n*/\n"
      "DIECAST_KERNEL {}\n");
  EXPECT_EQ(Specialization::make(*tmpl, {}, target("sm_90a")).error().message(),
            "diecast: constraint_violated: k.cu:6: require HELD <= 100 || cc > 100 (they fit)\n"
            "  HELD = 128\n"
            "  BLOCKS = 2\n"
            "  COLS = 8\n"
            "  THREADS = 64\n"
            "  cc = 90\n"
            "  fix: the nearest COLS that fits is 7; or the nearest THREADS that fits is 32");
}

TEST(Let, HasAValueAtEveryPoint) {
  const auto tmpl = Template::parse("k",
                                    "/* diecast\nshape int COLS = 0\nlet PART = 64 / COLS\n"
                                    "launch grid(1) block(PART)\n*/\nDIECAST_KERNEL {}\n");
  EXPECT_EQ(Specialization::make(*tmpl, {}, target("sm_90a")).error().message(),
            "diecast: constraint_violated: k.cu:3: `64 / COLS` has no value: a part of it divides "
            "by zero\n"
            "  COLS = 0\n"
            "  fix: the nearest COLS that fits is 1");
  EXPECT_TRUE(Specialization::make(*tmpl, Bindings().set("COLS", 2), target("sm_90a")).ok());
}

TEST(Let, IsDeclaredOnceAndInUpperCase) {
  EXPECT_EQ(error_of("shape int COLS\nlet COLS = 3"),
            "diecast: parse_error: k.cu:3:5: `COLS` is declared twice: first on line 2\n"
            "  let COLS = 3\n"
            "      ^\n"
            "  fix: rename one or remove it");
  EXPECT_EQ(first_line(error_of("let A = 3\nlet A = 4")),
            "diecast: parse_error: k.cu:3:5: `A` is declared twice: first on line 2");
  EXPECT_EQ(first_line(error_of("let A = 3\ntune int A = 4")),
            "diecast: parse_error: k.cu:3:10: `A` is declared twice: first on line 2");
  EXPECT_EQ(error_of("let tile = 3"),
            "diecast: parse_error: k.cu:2:5: let `tile` is not in UPPER CASE\n"
            "  let tile = 3\n"
            "      ^\n"
            "  fix: write `TILE`: it is fixed at compile time");
  EXPECT_EQ(first_line(error_of("let NULL = 3")),
            "diecast: parse_error: k.cu:2:5: `NULL` is taken: a name of the rendered source");
  EXPECT_EQ(first_line(error_of("let A 3")),
            "diecast: parse_error: k.cu:2:7: expected `=` after the name of the let A, found `3`");
}

TEST(Let, UsesOnlyWhatStandsAbove) {
  EXPECT_EQ(error_of("let A = B + 1\nlet B = 2"),
            "diecast: parse_error: k.cu:2:9: the let `B` stands below, on line 3\n"
            "  let A = B + 1\n"
            "          ^\n"
            "  fix: move that line above this one");
  EXPECT_EQ(error_of("let A = 2 * A"),
            "diecast: parse_error: k.cu:2:13: `A` is defined by itself\n"
            "  let A = 2 * A\n"
            "              ^\n"
            "  fix: define it by parameters and by lets above it");
  EXPECT_EQ(first_line(error_of("let A = THREAD\ntune int THREADS = 32")),
            "diecast: parse_error: k.cu:2:9: nothing is called `THREAD`; did you mean `THREADS`?");
}

TEST(Let, IsKnownBeforeCompiling) {
  EXPECT_EQ(
      error_of("let A = rows / 2\nsize rows\narg rows"),
      "diecast: parse_error: k.cu:2:9: `rows` is known only at launch, and a let before compiling\n"
      "  let A = rows / 2\n"
      "          ^\n"
      "  fix: define it by names in UPPER CASE, and write the rest where it is used");
  EXPECT_EQ(first_line(error_of("let A = sm_count")),
            "diecast: parse_error: k.cu:2:9: `sm_count` is known only at launch, and a let before "
            "compiling");
  EXPECT_EQ(first_line(error_of("tune int waves = 1\nlet A = waves")),
            "diecast: parse_error: k.cu:3:9: `waves` is known only at launch, and a let before "
            "compiling");
}

TEST(Let, IsNoElementType) {
  EXPECT_EQ(error_of("option type IN {bf16, f32}\nlet A = host ? f32 : IN"),
            "diecast: parse_error: k.cu:3:5: the let A is an element type\n"
            "  let A = host ? f32 : IN\n"
            "      ^\n"
            "  fix: a let is a number, a bool or a word: choose types in the code");
}

TEST(Let, IsNamedSomewhere) {
  EXPECT_EQ(error_of("let A = 3"),
            "diecast: parse_error: k.cu:2:5: nothing names the let `A`\n"
            "  let A = 3\n"
            "      ^\n"
            "  fix: remove the line");
  EXPECT_EQ(error_of("let A = 3\nrequire A > 2"), "parsed");
}

}  // namespace
}  // namespace diecast
