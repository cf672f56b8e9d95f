// Float options: values, spellings, what is compared with them, their place in the source.
#include <diecast/template/source.h>
#include <diecast/template/specialization.h>
#include <gtest/gtest.h>
#include <template/header_errors.h>
#include <template/scale_rows.h>

namespace diecast {
namespace {

const std::string kLimit = "option float LIMIT {0, 7.0, -1.5, 0.1} = 0\n";

Result<Specialization> made(const std::string& lines, const Bindings& bindings) {
  const auto tmpl = Template::parse(
      "k", "/* diecast\n" + lines + "launch grid(1) block(32)\n*/\nDIECAST_KERNEL {}\n");
  if (!tmpl) return tmpl.error();
  return Specialization::make(*tmpl, bindings, target("sm_90a"));
}

bool holds(const std::string& requirement, const char* limit) {
  return made(kLimit + "require " + requirement + "\n", Bindings().set("LIMIT", limit)).ok();
}

TEST(FloatOption, StandsInTheSpellingAsTheShortestDecimal) {
  const auto spelling = [](const Bindings& bindings) {
    return made(kLimit + "option float EPS = 1e-5\n", bindings).value().spelling();
  };
  EXPECT_EQ(spelling({}), "k LIMIT=0 EPS=1e-05 @ sm_90a");
  EXPECT_EQ(spelling(Bindings().set("LIMIT", 7).set("EPS", 0.3)), "k LIMIT=7 EPS=0.3 @ sm_90a");
  EXPECT_EQ(spelling(Bindings().set("LIMIT", "-1.50").set("EPS", "1e10")),
            "k LIMIT=-1.5 EPS=1e+10 @ sm_90a");
  const Spelling back = parse_spelling("k LIMIT=-1.5 EPS=1e+10 @ sm_90a").value();
  Bindings read;
  for (const auto& [name, values] : back.values) read.set(name, std::string_view(values[0]));
  EXPECT_EQ(spelling(read), "k LIMIT=-1.5 EPS=1e+10 @ sm_90a");
}

TEST(FloatOption, IsComparedWithValuesOfItsSet) {
  EXPECT_TRUE(holds("LIMIT == 7.0", "7"));
  EXPECT_TRUE(holds("7 == LIMIT", "7.0"));
  EXPECT_FALSE(holds("LIMIT != 7", "7"));
  EXPECT_TRUE(holds("LIMIT == -1.5", "-1.5"));
  EXPECT_TRUE(holds("LIMIT in {0, 0.1} && !LIMIT in {7}", "0.1"));
  EXPECT_TRUE(holds("LIMIT == LIMIT", "0.1"));
}

TEST(FloatOption, IsNoNumberOfAnExpression) {
  EXPECT_EQ(
      error_of(kLimit + "require LIMIT + 1 == 8"),
      "diecast: parse_error: k.cu:3:9: `LIMIT` is a float, which is no number here\n"
      "  require LIMIT + 1 == 8\n"
      "          ^\n"
      "  fix: compare a float option with values of its set: LIMIT == 7.0, LIMIT in {0, 7.0}");
  for (const char* line : {"require LIMIT", "require !LIMIT", "require LIMIT < 7", "let A = LIMIT",
                           "let A = LIMIT == 0 ? 0.5 : 1", "require 0.5", "require 1 == 1.0",
                           "require min(LIMIT, 7) == 7", "size n divisible (LIMIT)\narg n"})
    EXPECT_NE(error_of(kLimit + line).find("is a float, which is no number here"),
              std::string::npos)
        << line;
  EXPECT_EQ(error_of(kLimit + "require LIMIT == 8"),
            "diecast: parse_error: k.cu:3:18: this is no value of LIMIT\n"
            "  require LIMIT == 8\n"
            "                   ^\n"
            "  fix: write one of 0, 7, -1.5, 0.1");
}

TEST(FloatOption, TakesFiniteNumbersOfItsSet) {
  const auto message = [](const char* value) {
    const auto one = made(kLimit + "option float EPS = 1\n", Bindings().set("LIMIT", value));
    return one ? "made" : one.error().message();
  };
  EXPECT_EQ(message("8"),
            "diecast: value_not_allowed: k: LIMIT cannot be \"8\"\n"
            "  fix: give LIMIT one of 0, 7, -1.5, 0.1");
  for (const char* none : {"inf", "nan", "7.0f", "", "1e99"}) EXPECT_NE(message(none), "made");
  EXPECT_EQ(error_of("option float EPS = x"),
            "diecast: parse_error: k.cu:2:20: `x` is not a value of EPS\n"
            "  option float EPS = x\n"
            "                     ^\n"
            "  fix: the default is a number such as 0.1: 0, or of 1.4e-45 to 3.4028235e+38 in "
            "magnitude");
  EXPECT_EQ(first_line(error_of("option float A {1, 1.0}")),
            "diecast: parse_error: k.cu:2:20: `1` is in the set twice");
  EXPECT_EQ(first_line(error_of("shape float A")),
            "diecast: parse_error: k.cu:2:13: a shape counts elements and is no float");
  EXPECT_EQ(error_of("option int A {1, 1.5}"),
            "diecast: parse_error: k.cu:2:18: expected a number, found `1.5`\n"
            "  option int A {1, 1.5}\n"
            "                   ^\n"
            "  fix: an int is whole: write `option float A`");
}

TEST(FloatOption, TooLargeOrTooSmallForF32SaysWhatFits) {
  const auto message = [](const char* value) {
    const auto one = made("option float EPS = 1\n", Bindings().set("EPS", value));
    return one ? "made" : one.error().message();
  };
  for (const char* fits : {"1.4e-45", "-1e-45", "3.4028235e38", "0e-99"})
    EXPECT_EQ(message(fits), "made");
  const std::string magnitude =
      "a number such as 0.1: 0, or of 1.4e-45 to 3.4028235e+38 in magnitude";
  for (const std::string word : {"1e-46", "-1e-46", "1e39"}) {
    EXPECT_EQ(message(word.c_str()), "diecast: value_not_allowed: k: EPS cannot be \"" + word +
                                         "\"\n  fix: give EPS " + magnitude);
  }
  for (const std::string word : {"1e-46", "1e39"}) {
    EXPECT_EQ(error_of("option float EPS = " + word),
              "diecast: parse_error: k.cu:2:20: \"" + word + "\" does not fit in f32\n" +
                  "  option float EPS = " + word + "\n                     ^\n  fix: write " +
                  magnitude);
  }
}

TEST(FloatOption, IsAConstantOfTheSource) {
  const auto one = made(kLimit + "require LIMIT != 7\n", Bindings().set("LIMIT", 0.1));
  const std::string text = render(*one, TemplateFiles::embedded()).value().text;
  EXPECT_NE(text.find("constexpr f32 LIMIT = 0.1f;\n"), std::string::npos);
  EXPECT_NE(text.find("static_assert(LIMIT != 7.0f, "), std::string::npos);
}

TEST(FloatOption, GivesItsSetToTheSpaceAndToAFix) {
  const auto tmpl = Template::parse("k", "/* diecast\n" + kLimit +
                                             "require LIMIT in {0, -1.5} // a reason\n"
                                             "launch grid(1) block(32)\n*/\nDIECAST_KERNEL {}\n");
  EXPECT_EQ(tmpl.value()->space(target("sm_90a")).value().size(), 2u);
  const auto one = Specialization::make(*tmpl, Bindings().set("LIMIT", 7), target("sm_90a"));
  EXPECT_EQ(one.error().message(),
            "diecast: constraint_violated: k.cu:3: require LIMIT in {0, -1.5} (a reason)\n"
            "  LIMIT = 7\n"
            "  fix: LIMIT = 0 or -1.5");
}

}  // namespace
}  // namespace diecast
