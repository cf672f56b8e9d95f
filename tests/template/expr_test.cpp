// Expressions: every operator, precedence against a table, faults, and whole error texts.
#include <diecast/base/text.h>
#include <diecast/template/expr.h>
#include <gtest/gtest.h>

#include <map>

namespace diecast {
namespace {

const std::map<std::string, std::int64_t, std::less<>> kNames{
    {"a", 7}, {"b", 3}, {"z", 0}, {"big", INT64_MAX}, {"low", INT64_MIN}, {"bits:IN", 16}};

std::optional<std::int64_t> named(std::string_view name) {
  const auto found = kNames.find(name);
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t value(std::string_view text) {
  const auto expression = Expression::parse(text, "k.cu:3", 1);
  if (!expression) return ADD_FAILURE() << expression.error().message(), -999;
  const auto result = expression->evaluate(named);
  if (!result) return ADD_FAILURE() << result.error().message(), -999;
  return *result;
}

std::string parse_error(std::string_view text) {
  const auto expression = Expression::parse(text, "k.cu:3", 1);
  return expression ? "parsed" : expression.error().message();
}

std::string evaluate_error(std::string_view text) {
  const auto result = Expression::parse(text, "k.cu:3", 1).value().evaluate(named);
  return result ? "a value" : result.error().message();
}

TEST(Expression, EveryOperatorHasItsValue) {
  const std::pair<const char*, std::int64_t> table[] = {{"a + b", 10},
                                                        {"a - b", 4},
                                                        {"a * b", 21},
                                                        {"a / b", 2},
                                                        {"a % b", 1},
                                                        {"-a", -7},
                                                        {"!a", 0},
                                                        {"!z", 1},
                                                        {"a < b", 0},
                                                        {"b < a", 1},
                                                        {"a < a", 0},
                                                        {"a <= a", 1},
                                                        {"a <= b", 0},
                                                        {"a > b", 1},
                                                        {"a > a", 0},
                                                        {"a >= a", 1},
                                                        {"b >= a", 0},
                                                        {"a == a", 1},
                                                        {"a == b", 0},
                                                        {"a != b", 1},
                                                        {"a != a", 0},
                                                        {"a && b", 1},
                                                        {"a && z", 0},
                                                        {"z && a", 0},
                                                        {"z || b", 1},
                                                        {"a || z", 1},
                                                        {"z || z", 0},
                                                        {"a ? b : z", 3},
                                                        {"z ? b : a", 7},
                                                        {"min(a, b)", 3},
                                                        {"max(a, b)", 7},
                                                        {"min(b, a)", 3},
                                                        {"ceil_div(a, b)", 3},
                                                        {"ceil_div(6, b)", 2},
                                                        {"ceil_div(0, b)", 0},
                                                        {"align_up(a, b)", 9},
                                                        {"align_up(6, b)", 6},
                                                        {"bits(IN)", 16},
                                                        {"true", 1},
                                                        {"false", 0},
                                                        {"-7 / 2", -3},
                                                        {"-7 % 2", -1},
                                                        {"9223372036854775807", INT64_MAX},
                                                        {"ceil_div(big, 2)", INT64_MAX / 2 + 1}};
  for (const auto& [text, expected] : table) EXPECT_EQ(value(text), expected) << text;
}

// Each line has the same value as its second column only if operators bind as in C++.
TEST(Expression, PrecedenceAndAssociativityAreThoseOfCpp) {
  const std::pair<const char*, const char*> table[] = {{"2 + 3 * 4", "2 + (3 * 4)"},
                                                       {"2 * 3 + 4", "(2 * 3) + 4"},
                                                       {"20 - 5 - 3", "(20 - 5) - 3"},
                                                       {"100 / 10 / 5", "(100 / 10) / 5"},
                                                       {"100 / 10 * 5", "(100 / 10) * 5"},
                                                       {"17 % 10 * 3", "(17 % 10) * 3"},
                                                       {"-2 + 5", "(-2) + 5"},
                                                       {"!0 + 1", "(!0) + 1"},
                                                       {"1 + 2 < 4", "(1 + 2) < 4"},
                                                       {"5 < 4 == 0", "(5 < 4) == 0"},
                                                       {"3 > 2 > 1", "(3 > 2) > 1"},
                                                       {"0 == 0 && 0", "(0 == 0) && 0"},
                                                       {"1 || 0 && 0", "1 || (0 && 0)"},
                                                       {"0 && 0 || 1", "(0 && 0) || 1"},
                                                       {"1 ? 2 : 3 + 10", "1 ? 2 : (3 + 10)"},
                                                       {"0 || 1 ? 5 : 6", "(0 || 1) ? 5 : 6"},
                                                       {"0 ? 1 : 0 ? 2 : 3", "0 ? 1 : (0 ? 2 : 3)"},
                                                       {"1 ? 0 ? 1 : 2 : 3", "1 ? (0 ? 1 : 2) : 3"},
                                                       {"- - 3", "3"},
                                                       {"!!5", "1"},
                                                       {"-2 * -3", "6"},
                                                       {"7 - -2", "9"},
                                                       {"2 == 2 != 0", "(2 == 2) != 0"}};
  for (const auto& [text, same] : table) EXPECT_EQ(value(text), value(same)) << text;
  EXPECT_EQ(value("1 || 0 && 0"), 1);
  EXPECT_EQ(value("20 - 5 - 3"), 12);
  EXPECT_EQ(value("1 ? 2 : 3 + 10"), 2);
}

TEST(Expression, OnlyTheSideThatIsTakenNeedsAValue) {
  EXPECT_EQ(value("z && 1 / z"), 0);
  EXPECT_EQ(value("a || 1 / z"), 1);
  EXPECT_EQ(value("z ? 1 / z : 5"), 5);
  EXPECT_EQ(value("a ? 5 : unknown"), 5);
}

TEST(Expression, NamesAreListedWithTheirColumns) {
  const Expression expression = Expression::parse("min(a, b) + bits(IN) * a", "k.cu:3", 11).value();
  ASSERT_EQ(expression.names().size(), 3u);
  EXPECT_EQ(expression.names()[0].name, "a");
  EXPECT_EQ(expression.names()[0].column, 15);
  EXPECT_EQ(expression.names()[2].column, 34);
  ASSERT_EQ(expression.types().size(), 1u);
  EXPECT_EQ(expression.types()[0].name, "IN");
  EXPECT_EQ(expression.types()[0].column, 28);
  EXPECT_EQ(expression.text(), "min(a, b) + bits(IN) * a");
}

TEST(Expression, ADefaultOneIsZeroAndALiteralIsItself) {
  EXPECT_EQ(Expression().evaluate(named).value(), 0);
  EXPECT_EQ(Expression().cpp(), "0");
  EXPECT_EQ(Expression::literal(-5).evaluate(named).value(), -5);
  EXPECT_EQ(Expression::literal(-5).text(), "-5");
}

TEST(Expression, OverflowAndDivisionByZeroAreErrorsWithTheValues) {
  EXPECT_EQ(
      evaluate_error("a * big"),
      "diecast: value_not_allowed: k.cu:3: `a * big` has no value: a part of it does not fit in "
      "64 bits\n  a = 7\n  big = 9223372036854775807\n  fix: choose values for which it has one");
  EXPECT_EQ(
      evaluate_error("a % z == 0"),
      "diecast: value_not_allowed: k.cu:3: `a % z == 0` has no value: a part of it divides by "
      "zero\n  a = 7\n  z = 0\n  fix: choose values for which it has one");
  EXPECT_EQ(
      evaluate_error("ceil_div(-a, b)"),
      "diecast: value_not_allowed: k.cu:3: `ceil_div(-a, b)` has no value: a part of it rounds a "
      "negative number\n  a = 7\n  b = 3\n  fix: choose values for which it has one");
  for (const char* text : {"big + 1", "low - 1", "-low", "low / -1", "low % -1", "big * 2", "a / z",
                           "ceil_div(a, z)", "align_up(big, 2)", "align_up(a, -b)"})
    EXPECT_NE(evaluate_error(text), "a value") << text;
}

TEST(Expression, AnUnknownNameIsAnError) {
  EXPECT_EQ(
      evaluate_error("a + wat"),
      "diecast: unknown_parameter: k.cu:3: `wat` has no value in a + wat\n  fix: give it a value");
}

TEST(Expression, SyntaxErrorsShowTheLineAndTheColumn) {
  EXPECT_EQ(parse_error("a + * b"),
            "diecast: parse_error: k.cu:3:5: expected a number, a name or `(`, found `*`\n"
            "  a + * b\n"
            "      ^\n"
            "  fix: complete the expression here");
  EXPECT_EQ(
      parse_error("(a + b"),
      "diecast: parse_error: k.cu:3:7: expected `)` to close the parenthesis, found the end of "
      "the line\n"
      "  (a + b\n"
      "        ^\n"
      "  fix: write `)` here");
  EXPECT_EQ(
      parse_error("ceildiv(a, b)"),
      "diecast: parse_error: k.cu:3:1: there is no function `ceildiv`; did you mean `ceil_div`?\n"
      "  ceildiv(a, b)\n"
      "  ^\n"
      "  fix: the functions are min, max, ceil_div, align_up and bits; bits(f32) / 8 is an f32's "
      "bytes");
  EXPECT_EQ(parse_error("a $ b"),
            "diecast: parse_error: k.cu:3:3: \"$\" is not part of the language\n"
            "  a $ b\n"
            "    ^\n"
            "  fix: remove it");
  EXPECT_EQ(parse_error("a b"),
            "diecast: parse_error: k.cu:3:3: the expression should end before `b`\n"
            "  a b\n"
            "    ^\n"
            "  fix: remove it, or write the operator that joins it");
  EXPECT_EQ(parse_error("010"),
            "diecast: parse_error: k.cu:3:1: `010` starts with 0, which is octal in C++\n"
            "  010\n"
            "  ^\n"
            "  fix: write the number without leading zeros");
}

TEST(Expression, ErrorsPointIntoTheWholeLineWhenItIsGiven) {
  const auto expression = Expression::parse("1 +", "k.cu:9", 10, "require  1 +   // sum");
  ASSERT_FALSE(expression.ok());
  EXPECT_EQ(
      expression.error().message(),
      "diecast: parse_error: k.cu:9:13: expected a number, a name or `(`, found the end of the "
      "line\n"
      "  require  1 +   // sum\n"
      "              ^\n"
      "  fix: complete the expression here");
}

TEST(Expression, TextThatIsNoExpressionIsRefused) {
  for (const char* text : {"",
                           " ",
                           "a +",
                           "+ a",
                           "a ? b",
                           "a ? b :",
                           "min(a)",
                           "min(a, b, z)",
                           "min a",
                           "bits(4)",
                           "bits()",
                           "1x",
                           "9223372036854775808",
                           "a = b",
                           "a = = b",
                           "(",
                           ")",
                           "a ! b",
                           "a ~ b",
                           "a ^",
                           "1.5.2",
                           "a; b",
                           "\"a\"",
                           "a.b",
                           "a,b",
                           "\x01",
                           "\xff"})
    EXPECT_NE(parse_error(text), "parsed") << text;
}

TEST(Expression, NestingIsBoundedHoweverItIsWritten) {
  const auto repeated = [](const char* text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  EXPECT_EQ(value(cat(repeated("(", 60), "1", repeated(")", 60))), 1);
  EXPECT_EQ(value(cat("1", repeated(" + 1", 60))), 61);
  const std::string deep[] = {repeated("(", 100'000),
                              cat(repeated("-", 100'000), "1"),
                              cat("1", repeated(" + 1", 100'000)),
                              repeated("1 ? ", 100'000),
                              cat("1", repeated(" ? 1 : 1", 100'000)),
                              repeated("min(1, ", 100'000)};
  for (const std::string& text : deep) {
    const std::string error = parse_error(text);
    EXPECT_NE(error.find("the expression is more than 64 levels deep"), std::string::npos)
        << error.substr(0, 300);
    EXPECT_LT(error.size(), 1000u);
  }
}

TEST(Expression, CppHasTheSameMeaningIn64Bits) {
  const std::pair<const char*, const char*> table[] = {
      {"a % 16 == 0", "a % 16 == 0"},
      {"a * b <= 4", "diecast::i64(a) * b <= 4"},
      {"a * b + z", "diecast::i64(a) * b + z"},
      {"a / 2 * b", "diecast::i64(a / 2) * b"},
      {"a - (b - z)", "diecast::i64(a) - (diecast::i64(b) - z)"},
      {"a && b || z", "(a && b) || z"},
      {"a || b && z", "a || (b && z)"},
      {"(a || b) && z", "(a || b) && z"},
      {"a < b == z", "(a < b) == z"},
      {"!a == b", "(!a) == b"},
      {"!(a == b)", "!(a == b)"},
      {"-(-a)", "-(-a)"},
      {"a ? b : z ? 1 : 2", "a ? b : z ? 1 : 2"},
      {"(a ? b : z) ? 1 : 2", "(a ? b : z) ? 1 : 2"},
      {"min(a, b) < max(a, 1)", "diecast::expression::min(a, b) < diecast::expression::max(a, 1)"},
      {"ceil_div(a, 2) + align_up(a, 4)", "diecast::ceil_div(a, 2) + diecast::align_up(a, 4)"},
      {"bits(IN) == 16", "diecast::bits<IN>() == 16"},
      {"a < 2147483648", "a < 2147483648LL"},
      {"true", "1"}};
  for (const auto& [text, cpp] : table)
    EXPECT_EQ(Expression::parse(text, "k.cu:3", 1).value().cpp(), cpp) << text;
  EXPECT_EQ(Expression::parse("cc >= 90", "k.cu:3", 1).value().cpp([](std::string_view name) {
    return cat("DIECAST_", name);
  }),
            "DIECAST_cc >= 90");
}

}  // namespace
}  // namespace diecast
