// The compiled form of expressions equals the expressions themselves, allocates nothing and knows
// when nothing is left to compute.
#include <diecast/base/text.h>
#include <diecast/template/expr.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

namespace diecast {
namespace {

using Slots = std::array<std::int64_t, 4>;  // p q r s
constexpr std::string_view kSlotNames = "pqrs";

std::optional<int> slot(std::string_view name) {
  const auto at = name.size() == 1 ? kSlotNames.find(name[0]) : std::string_view::npos;
  return at == std::string_view::npos ? std::nullopt : std::optional(static_cast<int>(at));
}

std::optional<std::int64_t> constant(std::string_view name) {
  if (name == "K") return 4096;
  if (name == "Z") return 0;
  if (name == "bits:IN") return 16;
  return std::nullopt;
}

Program compiled(std::string_view text) {
  return Program::compile(Expression::parse(text, "k.cu:1", 1).value(), constant, slot).value();
}

class RandomText {
 public:
  explicit RandomText(std::uint64_t seed) : random_(seed) {}

  std::string expression(int depth) {
    if (depth == 0 || pick(6) == 0) return leaf();
    static constexpr const char* kBinary[] = {
        "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||"};
    static constexpr const char* kFunctions[] = {"min", "max", "ceil_div", "align_up"};
    const std::string a = expression(depth - 1);
    const std::size_t form = pick(8);
    if (form == 0) return cat("!(", a, ")");
    if (form == 1) return cat("-(", a, ")");
    const std::string b = expression(depth - 1);
    if (form == 2) return cat("(", a, " ? ", b, " : ", expression(depth - 1), ")");
    if (form == 3) return cat(kFunctions[pick(4)], "(", a, ", ", b, ")");
    return cat("(", a, ") ", kBinary[pick(13)], " (", b, ")");
  }
  std::int64_t number() {
    static constexpr std::int64_t kSpecial[] = {0, 1, -1, 2, 16, INT64_MAX, INT64_MIN, 1LL << 32};
    return pick(3) == 0 ? kSpecial[pick(8)] : static_cast<std::int64_t>(random_() % 200) - 50;
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  std::string leaf() {
    static constexpr const char* kLeaves[] = {"p", "q",        "r", "s", "K",
                                              "Z", "bits(IN)", "0", "1", "7"};
    return kLeaves[pick(10)];
  }
  std::mt19937_64 random_;
};

TEST(Program, EqualsTheExpressionOnRandomOnes) {
  RandomText random(20240611);
  int with_value = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = random.expression(1 + i % 6);
    const Expression expression = Expression::parse(text, "k.cu:1", 1).value();
    const Program program = compiled(text);
    for (int point = 0; point < 4; ++point) {
      const Slots slots{random.number(), random.number(), random.number(), random.number()};
      const auto expected = expression.evaluate([&](std::string_view name) {
        const auto at = slot(name);
        return at ? std::optional(slots[static_cast<std::size_t>(*at)]) : constant(name);
      });
      std::int64_t found = 0;
      ASSERT_EQ(program.evaluate(slots, &found), expected.ok()) << text;
      if (!expected) continue;
      ASSERT_EQ(found, *expected) << text;
      ++with_value;
    }
  }
  EXPECT_GT(with_value, 4000);
}

TEST(Program, WithoutSlotsIsAConstant) {
  EXPECT_EQ(compiled("K / 16 + bits(IN)").constant(), 272);
  EXPECT_EQ(compiled("Z && p").constant(), 0);
  EXPECT_EQ(compiled("K || p").constant(), 1);
  EXPECT_EQ(compiled("K > 4 ? 3 : p").constant(), 3);
  EXPECT_EQ(Program().constant(), 0);
  EXPECT_EQ(compiled("p * 0").constant(), std::nullopt);
  EXPECT_EQ(compiled("1 / Z").constant(), std::nullopt);
}

TEST(Program, KnowsASlotAloneAndOneRoundedUp) {
  EXPECT_EQ(compiled("q").slot(), 1);
  EXPECT_EQ(compiled("q / 1").slot(), 1);
  EXPECT_EQ(compiled("q + 1").slot(), std::nullopt);
  EXPECT_EQ(compiled("K").slot(), std::nullopt);
  const auto rounded = compiled("align_up(r, 16) / 2").rounded_slot();
  ASSERT_TRUE(rounded);
  EXPECT_EQ(rounded->slot, 2);
  EXPECT_EQ(rounded->zeros, 3);
  EXPECT_EQ(compiled("align_up(r, K)").rounded_slot()->zeros, 12);
  for (const char* other : {"r", "align_up(r, 12)", "align_up(r, 4) / 8", "align_up(r + 1, 16)",
                            "align_up(K, 16)", "ceil_div(r, 16)", "align_up(r, 16) / 3"})
    EXPECT_FALSE(compiled(other).rounded_slot()) << other;
}

TEST(Program, PowersOfTwoDivideAndRoundAsOtherNumbersDo) {
  for (const std::int64_t p : {INT64_MIN, INT64_MIN + 1, std::int64_t{-17}, std::int64_t{-16},
                               std::int64_t{-1}, std::int64_t{0}, std::int64_t{15},
                               std::int64_t{16}, std::int64_t{17}, INT64_MAX - 15, INT64_MAX}) {
    for (const char* right : {"1", "2", "16", "K"}) {
      for (const char* form : {"p / ", "ceil_div(p, ", "align_up(p, ", "ceil_div(align_up(p, 4), ",
                               "align_up(ceil_div(p, 4), "}) {
        const std::string text = cat(form, right, form[0] == 'p' ? "" : ")");
        const auto expected =
            Expression::parse(text, "k.cu:1", 1).value().evaluate([&](std::string_view name) {
              return name == "p" ? std::optional(p) : constant(name);
            });
        std::int64_t found = 0;
        ASSERT_EQ(compiled(text).evaluate(Slots{p}, &found), expected.ok()) << text << ' ' << p;
        EXPECT_EQ(found, expected ? *expected : 0) << text << ' ' << p;
      }
    }
  }
}

TEST(Program, FaultsAreFalseAndOnlyWhereTheyAreReached) {
  std::int64_t value = 0;
  EXPECT_FALSE(compiled("p / q").evaluate(Slots{1, 0}, &value));
  EXPECT_FALSE(compiled("p * q").evaluate(Slots{INT64_MAX, 2}, &value));
  EXPECT_FALSE(compiled("p + 1 / Z").evaluate(Slots{}, &value));
  EXPECT_TRUE(compiled("p ? 1 / Z : 9").evaluate(Slots{0}, &value));
  EXPECT_EQ(value, 9);
  EXPECT_FALSE(compiled("p ? 1 / Z : 9").evaluate(Slots{1}, &value));
}

TEST(Program, MissingSlotsAreAFaultAndNoRead) {
  std::int64_t value = 0;
  EXPECT_FALSE(compiled("s").evaluate(std::span<const std::int64_t>(), &value));
}

TEST(Program, ANameNobodyKnowsIsAnError) {
  const auto program =
      Program::compile(Expression::parse("p + wat", "k.cu:7", 1).value(), constant, slot);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().message(),
            "diecast: unknown_parameter: k.cu:7: `wat` has no value in p + wat\n"
            "  fix: give it a value");
}

TEST(Program, TheDeepestExpressionFitsItsStack) {
  std::string text = "p";
  for (int i = 0; i < 62; ++i) text = cat("(q + ", text, ")");
  std::int64_t value = 0;
  ASSERT_TRUE(compiled(text).evaluate(Slots{5, 1}, &value));
  EXPECT_EQ(value, 67);
}

}  // namespace
}  // namespace diecast
