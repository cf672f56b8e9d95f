// Bit operations of expressions: values, how they bind, faults, and the same in C++.
#include <diecast/template/expr.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

std::optional<std::int64_t> named(std::string_view name) {
  if (name == "a") return 7;
  if (name == "b") return 3;
  if (name == "big") return INT64_MAX;
  return name == "z" ? std::optional<std::int64_t>(0) : std::nullopt;
}

// "23", or what is wrong.
std::string result(std::string_view text) {
  const auto expression = Expression::parse(text, "k.cu:3", 1);
  if (!expression) return expression.error().message();
  const auto value = expression->evaluate(named);
  return value ? std::to_string(*value) : value.error().message();
}

TEST(BitOperations, HaveTheirValues) {
  const std::pair<const char*, const char*> table[] = {
      {"a & b", "3"},        {"a | 8", "15"},       {"a ^ b", "4"},
      {"~z", "-1"},          {"~a & 15", "8"},      {"a << b", "56"},
      {"a >> 1", "3"},       {"-7 >> 1", "-4"},     {"1 << 62", "4611686018427387904"},
      {"(a & 1) == 1", "1"}, {"a & (1 == 1)", "1"}, {"(a == 7) & (b == 3)", "1"},
      {"z && 1 >> -1", "0"}, {"big >> 63", "0"},    {"-big - 1 >> 63", "-1"},
      {"~(1 << 4)", "-17"},  {"z << 63", "0"},      {"~~a", "7"}};
  for (const auto& [text, value] : table) EXPECT_EQ(result(text), value) << text;
}

TEST(BitOperations, BindAsInCpp) {
  const std::pair<const char*, const char*> table[] = {
      {"1 | 2 ^ 3 & 6", "1 | (2 ^ (3 & 6))"}, {"1 << 2 + 3", "1 << (2 + 3)"},
      {"64 >> 2 >> 1", "(64 >> 2) >> 1"},     {"1 << 3 < 9", "(1 << 3) < 9"},
      {"0 && 1 | 2", "0 && (1 | 2)"},         {"~1 + 3", "(~1) + 3"},
      {"5 & 3 ? 2 : 4", "(5 & 3) ? 2 : 4"}};
  for (const auto& [text, same] : table) EXPECT_EQ(result(text), result(same)) << text;
}

// In C++ `a & 1 == 1` is `a & (1 == 1)`, which nobody means.
TEST(BitOperations, AskForParenthesesBesideAComparison) {
  EXPECT_EQ(result("a & 1 == 1"),
            "diecast: parse_error: k.cu:3:3: `&` takes in a comparison beside it, as in C++\n"
            "  a & 1 == 1\n"
            "    ^\n"
            "  fix: put parentheses around what is meant: (FLAGS & 1) == 1");
  for (const char* text : {"a == 7 & 1", "a ^ b < 1", "a | (b) == 1", "(a) == 1 | b"})
    EXPECT_NE(result(text).find("takes in a comparison"), std::string::npos) << text;
}

TEST(BitOperations, HaveNoValueWhereCppHasNone) {
  EXPECT_EQ(result("a << 64"),
            "diecast: value_not_allowed: k.cu:3: `a << 64` has no value: a part of it shifts a "
            "negative number to the left, or by less than 0 or more than 63 bits\n"
            "  a = 7\n"
            "  fix: choose values for which it has one");
  for (const char* text : {"1 << 63", "1 >> -1", "-a << 1", "big << 1", "1 >> 64"})
    EXPECT_NE(result(text).find("has no value"), std::string::npos) << text;
}

TEST(BitOperations, AreTheSameInCpp) {
  const std::pair<const char*, const char*> table[] = {
      {"a << b", "diecast::i64(a) << b"},
      {"a & 1 | ~b", "(a & 1) | (~diecast::i64(b))"},
      {"(a ^ 3) == 4", "(a ^ 3) == 4"},
      {"a + b >> 1", "(diecast::i64(a) + b) >> 1"}};
  for (const auto& [text, cpp] : table)
    EXPECT_EQ(Expression::parse(text, "k.cu:3", 1)->cpp(), cpp) << text;
}

}  // namespace
}  // namespace diecast
