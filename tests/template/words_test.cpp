// Words of an enum in expressions: bare beside a parameter that has them, in sets, and what is said
// of words that do not fit.
#include <diecast/template/specialization.h>
#include <gtest/gtest.h>
#include <template/header_errors.h>
#include <template/scale_rows.h>

namespace diecast {
namespace {

const std::string kOptions =
    "option enum LAYOUT {linear, s128x4, s8x4} = linear\n"
    "option enum MATH {s8, f16} = s8\n"
    "option type IN {bf16, f16, f32} = f16\n"
    "option bool TAIL = false\n";

// Whether the requirement holds of these values.
bool holds(const std::string& requirement, const Bindings& bindings = {}) {
  const auto tmpl = Template::parse("k", "/* diecast\n" + kOptions + "require " + requirement +
                                             "\nlaunch grid(1) block(32)\n*/\nDIECAST_KERNEL {}\n");
  if (!tmpl) return ADD_FAILURE() << tmpl.error().message(), false;
  return Specialization::make(*tmpl, bindings, target("sm_90a")).ok();
}

TEST(Words, StandAloneBesideTheirParameter) {
  const Bindings tiled = Bindings().set("LAYOUT", "s128x4");
  EXPECT_TRUE(holds("LAYOUT == linear"));
  EXPECT_FALSE(holds("LAYOUT == linear", tiled));
  EXPECT_TRUE(holds("s128x4 == LAYOUT", tiled));
  EXPECT_TRUE(holds("LAYOUT != s8x4 && LAYOUT != LAYOUT_linear", tiled));
  EXPECT_TRUE(holds("LAYOUT == (TAIL ? s8x4 : s128x4)", tiled));
  EXPECT_TRUE(holds("(TAIL ? LAYOUT : linear) == linear", tiled));
  EXPECT_TRUE(holds("LAYOUT == (TAIL ? LAYOUT_linear : LAYOUT)", tiled));
}

TEST(Words, OfAnEnumGoBeforeElementTypes) {
  EXPECT_FALSE(holds("MATH == f16"));
  EXPECT_TRUE(holds("MATH == f16", Bindings().set("MATH", "f16")));
  EXPECT_TRUE(holds("IN == f16"));
}

TEST(Words, OfASetHoldForEachOfThem) {
  EXPECT_TRUE(holds("LAYOUT in {linear, s8x4}"));
  EXPECT_FALSE(holds("LAYOUT in {linear, s8x4}", Bindings().set("LAYOUT", "s128x4")));
  EXPECT_TRUE(holds("!LAYOUT in {s128x4, LAYOUT_s8x4}"));
  EXPECT_TRUE(holds("IN in {f16} && bits(IN) in {8, 4 * 4} && !TAIL in {true}"));
}

TEST(Words, OfASetAreThatInTheSourceToo) {
  const auto tmpl = Template::parse("k", "/* diecast\n" + kOptions +
                                             "require LAYOUT in {linear, s8x4} || TAIL\n"
                                             "launch grid(1) block(32)\n*/\nDIECAST_KERNEL {}\n");
  EXPECT_EQ(tmpl.value()->requirements()[0].condition.cpp(),
            "LAYOUT == LAYOUT_linear || LAYOUT == LAYOUT_s8x4 || TAIL");
  EXPECT_EQ(tmpl.value()->requirements()[0].condition.text(), "LAYOUT in {linear, s8x4} || TAIL");
}

TEST(Words, OfAnotherSetSayWhatWasMeant) {
  EXPECT_EQ(
      error_of(kOptions + "require LAYOUT == s128x8"),
      "diecast: parse_error: k.cu:6:19: `s128x8` is no word of LAYOUT; did you mean `s128x4`?\n"
      "  require LAYOUT == s128x8\n"
      "                    ^\n"
      "  fix: write one of linear, s128x4, s8x4");
  EXPECT_EQ(first_line(error_of(kOptions + "require LAYOUT in {linear, MATH_s8}")),
            "diecast: parse_error: k.cu:6:28: `MATH_s8` and LAYOUT do not have the same words");
  EXPECT_EQ(error_of(kOptions + "require LAYOUT == MATH"),
            "diecast: parse_error: k.cu:6:19: `MATH` and LAYOUT do not have the same words\n"
            "  require LAYOUT == MATH\n"
            "                    ^\n"
            "  fix: compare LAYOUT with one of linear, s128x4, s8x4");
}

TEST(Words, AreNoNumbersAndHaveNoOrder) {
  EXPECT_EQ(error_of(kOptions + "require LAYOUT == 1"),
            "diecast: parse_error: k.cu:6:19: LAYOUT is a word, and this is a number\n"
            "  require LAYOUT == 1\n"
            "                    ^\n"
            "  fix: write one of linear, s128x4, s8x4");
  EXPECT_EQ(error_of(kOptions + "require LAYOUT <= LAYOUT_s128x4"),
            "diecast: parse_error: k.cu:6:16: the words of LAYOUT have no order\n"
            "  require LAYOUT <= LAYOUT_s128x4\n"
            "                 ^\n"
            "  fix: name those that are meant: LAYOUT in {linear, ...}");
}

TEST(Words, AloneSayWhereTheyStand) {
  EXPECT_EQ(
      error_of(kOptions + "require linear || TAIL"),
      "diecast: parse_error: k.cu:6:9: `linear` is a word of LAYOUT, but is not compared with "
      "it\n"
      "  require linear || TAIL\n"
      "          ^\n"
      "  fix: write LAYOUT == linear, or LAYOUT_linear for its number");
}

TEST(Words, OfASetAreAskedOfANameAndListedOnce) {
  EXPECT_EQ(error_of(kOptions + "require (IN) + 1 in {2}"),
            "diecast: parse_error: k.cu:6:18: `in` asks for a name or bits(TYPE) before it\n"
            "  require (IN) + 1 in {2}\n"
            "                   ^\n"
            "  fix: name the value by a `let`, and write that name");
  EXPECT_EQ(first_line(error_of(kOptions + "require LAYOUT in {linear, linear}")),
            "diecast: parse_error: k.cu:6:28: `linear` is in the set twice");
  EXPECT_EQ(first_line(error_of(kOptions + "require LAYOUT in linear")),
            "diecast: parse_error: k.cu:6:19: expected `{` before the values of `in`, found "
            "`linear`");
  EXPECT_EQ(first_line(error_of(kOptions + "require LAYOUT in {}")),
            "diecast: parse_error: k.cu:6:20: expected a number, a name or `(`, found `}`");
  EXPECT_EQ(first_line(error_of("size in\narg in")),
            "diecast: parse_error: k.cu:2:6: `in` is taken: a word of expressions");
}

TEST(HeaderParser, AStatementGoesOnInAnIndentedLineWhereABracketIsOpen) {
  const auto tmpl = Template::parse("k",
                                    "/* diecast\noption enum L {a, b,   // the first two\n"
                                    "               c} = c      // and the last\n"
                                    "require (L in {a,\n  b, // as above\n\tc}) // one of them\n"
                                    "launch grid(1) block(\n 32)\n*/\nDIECAST_KERNEL {}\n");
  ASSERT_TRUE(tmpl.ok()) << tmpl.error().message();
  const Parameter& word = *(*tmpl)->parameter("L");
  EXPECT_EQ(word.allowed.size(), 3u);
  EXPECT_EQ(word.comment, "the first two and the last");
  const Requirement& requirement = (*tmpl)->requirements()[0];
  EXPECT_EQ(requirement.condition.text(), "(L in {a, b, c})");
  EXPECT_EQ(requirement.reason, "as above one of them");
  EXPECT_EQ(requirement.place.text(), "k.cu:4");
}

TEST(HeaderParser, AnErrorIsInTheLineOfItsStatement) {
  EXPECT_EQ(error_of("option enum L {a, b,\n   c} = d\ntune int THREADS = 1"),
            "diecast: parse_error: k.cu:3:9: `d` is not a value of L\n"
            "     c} = d\n"
            "          ^\n"
            "  fix: the default is one of a, b, c");
  EXPECT_EQ(first_line(error_of("option int A = 1\nrequire max(A,\n  B) > 1")),
            "diecast: parse_error: k.cu:4:3: nothing is called `B`");
  EXPECT_EQ(first_line(error_of("arg x in f32 [1\ntune int A = 1")),
            "diecast: parse_error: k.cu:2:16: expected `]` after the shape, found the end of the "
            "line");
}

}  // namespace
}  // namespace diecast
