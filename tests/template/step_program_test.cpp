// Grids as steps: what becomes steps has the expression's value wherever that has one.
#include <diecast/base/text.h>
#include <diecast/template/step_program.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>

namespace diecast {
namespace {

constexpr std::string_view kStepNames = "pqrs";
std::optional<int> step_slot(std::string_view name) {
  const auto at = name.size() == 1 ? kStepNames.find(name[0]) : std::string_view::npos;
  if (at == std::string_view::npos) return std::nullopt;
  return StepProgram::kRegisters + static_cast<int>(at);
}
std::optional<std::int64_t> step_constant(std::string_view name) {
  return name == "K" ? std::optional<std::int64_t>(256) : std::nullopt;
}
Expression step_expression(std::string_view text) {
  return Expression::parse(text, "k.cu:1", 1).value();
}

struct Steps {
  StepProgram program;
  std::optional<int> result;
  explicit Steps(std::string_view text)
      : result(program.add(step_expression(text), step_constant, step_slot)) {}
  // Of numbers that the program holds.
  std::optional<std::int64_t> value(const std::array<std::int64_t, 4>& numbers) const {
    if (!program.holds(*std::ranges::max_element(numbers))) return std::nullopt;
    std::array<std::int64_t, StepProgram::kRegisters + 4> values;
    std::ranges::copy(numbers, values.begin() + StepProgram::kRegisters);
    program.run(values.data());
    return values[static_cast<std::size_t>(*result)];
  }
};

// Random texts of what grids are made of.
std::string grid_text(std::mt19937_64& random, int depth) {
  const auto pick = [&](std::size_t count) { return random() % count; };
  static constexpr const char* kLeaves[] = {"p", "q", "r", "s", "K", "0", "1", "7"};
  static constexpr const char* kPowers[] = {"1", "2", "16", "K"};
  static constexpr const char* kDivisors[] = {"1", "16", "K", "3", "384", "640", "7", "1000003"};
  if (depth == 0) return kLeaves[pick(8)];
  const std::string a = grid_text(random, depth - 1);
  switch (pick(8)) {
    case 0:
      return cat("ceil_div(", a, ", ", kDivisors[pick(8)], ")");
    case 1:
      return cat("align_up(", a, ", ", kPowers[pick(4)], ")");
    case 2:
      return cat("(", a, ") / ", kDivisors[pick(8)]);
    case 3:
      return cat("min(", a, ", 132 * ", 1 + pick(64), ")");
    case 4:
      return cat("(K > ", pick(2) * 1000, " ? ", a, " : ", grid_text(random, depth - 1), ")");
    case 5:
      return cat("(", a, ") + (", grid_text(random, depth - 1), ")");
    case 6:
      return cat("((", a, ") % ", kPowers[pick(4)], " == 0 ? 0 : ", grid_text(random, depth - 1),
                 ")");
    default:
      return cat("(", a, ") * (", grid_text(random, depth - 1), ")");
  }
}

TEST(StepProgram, HasTheExpressionsValue) {
  std::mt19937_64 random(5);
  int compared = 0, overflows = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = grid_text(random, 1 + i % 5);
    const Steps steps(text);
    if (!steps.result) continue;  // too long
    for (int point = 0; point < 4; ++point) {
      std::array<std::int64_t, 4> at{};
      for (std::int64_t& value : at)
        value = static_cast<std::int64_t>(random() >> (random() % 4 == 0 ? 2 : 44 + random() % 20));
      const auto expected = step_expression(text).evaluate([&](std::string_view name) {
        const auto slot = step_slot(name);
        return slot ? std::optional(at[static_cast<std::size_t>(*slot - StepProgram::kRegisters)])
                    : step_constant(name);
      });
      const auto found = steps.value(at);
      if (!found) ++overflows;
      if (!found) continue;
      ASSERT_TRUE(expected) << text;
      ASSERT_EQ(*found, *expected) << text;
      ++compared;
    }
  }
  EXPECT_GT(compared, 8000);
  EXPECT_GT(overflows, 100);
}

TEST(StepProgram, HoldsWhatNoStepOverflowsOf) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 32;
  const auto holds = [](std::string_view text, std::int64_t most) {
    return Steps(text).program.holds(most);
  };
  EXPECT_TRUE(holds("p * q", kHalf / 2));
  EXPECT_FALSE(holds("p * q", kHalf));
  EXPECT_TRUE(holds("p + q", INT64_MAX / 2));
  EXPECT_FALSE(holds("p + q", INT64_MAX / 2 + 1));
  EXPECT_TRUE(holds("align_up(p, 16)", INT64_MAX - 15));
  EXPECT_FALSE(holds("align_up(p, 16)", INT64_MAX - 14));
  EXPECT_FALSE(holds("min(p * q, 132) + r", kHalf));
  // A factor that the divisor takes away is one of the expression's all the same.
  EXPECT_TRUE(holds("ceil_div(p * 4, 8)", INT64_MAX / 8));
  EXPECT_FALSE(holds("ceil_div(p * 4, 8)", INT64_MAX / 4 + 1));
  EXPECT_FALSE(holds("p * 4 * 2 / 16", INT64_MAX / 8 + 1));
  EXPECT_FALSE(holds("p * 4 / 4 / 2", INT64_MAX / 4 + 1));
  EXPECT_FALSE(holds("p % 128 == 0 ? 0 : q * r", kHalf));  // kHalf % 128 is 0
  EXPECT_TRUE(holds("p % 128 == 0 ? 0 : q * r", kHalf / 2));
  EXPECT_FALSE(holds("p * 2 / 2", INT64_MAX / 2 + 1));
  EXPECT_FALSE(holds("ceil_div(p * 4294967296, 8589934592)", kHalf));
  EXPECT_TRUE(holds("1", INT64_MAX));
  // A division by what is no power of two is a product with its inverse, near enough up to here.
  EXPECT_TRUE(holds("p / 96", INT64_MAX));
  EXPECT_FALSE(holds("p / 3", INT64_MAX / 3 + 1));
  EXPECT_TRUE(holds("ceil_div(p * (q / 16) * 2, 384)", INT32_MAX));
}

TEST(StepProgram, DividesExactlyAsFarAsItHolds) {
  std::mt19937_64 random(6);
  for (const std::int64_t by : {3, 5, 7, 96, 384, 640, 896, 1000003}) {
    const Steps steps(cat("p / ", by));
    const std::int64_t odd = by >> std::countr_zero(static_cast<std::uint64_t>(by));
    const std::int64_t most = INT64_MAX / odd;
    for (int i = 0; i < 2000; ++i) {
      const std::int64_t quotient = static_cast<std::int64_t>(random() >> (random() % 60)) & most;
      for (std::int64_t p : {quotient / by * by - 1, quotient / by * by, quotient, most}) {
        if (p < 0) continue;
        ASSERT_EQ(steps.value({p, 0, 0, 0}), p / by) << p << " / " << by;
      }
    }
  }
}

TEST(StepProgram, TakesTheGridsOfTheTemplates) {
  for (const char* text :
       {"min(ceil_div(align_up(p, 128) * align_up(ceil_div(q, 16), 4), 256), 132 * 64)",
        "(ceil_div(p, 128) + r) * ceil_div(q, K)", "min((p + r) * (K > 1 ? 1 : q), 132)",
        "min(ceil_div(p * ceil_div(q, 16) * (16 * 16 / 128), 256), 132 * 8)",
        "ceil_div(p * (q / 16) * 2 + (K > 1 ? 0 : r), 128)",
        "ceil_div(p * (q / 16) * 2 + (K < 1 || p % 128 == 0 ? 0 : 32 * ceil_div(q, 64)), 128)", "1",
        "p", "ceil_div(p, 24)", "ceil_div(p * (q / 16) * 2, 384 * 1)"})
    EXPECT_TRUE(Steps(text).result) << text;
}

TEST(StepProgram, LeavesOthersToProgram) {
  for (const char* text : {"p - 1", "align_up(p, 24)", "p / q", "min(p, q)", "max(p, 1)", "p > 1",
                           "p > 1 ? q : r", "p % 24 == 0 ? 0 : q", "p % 8 == 0 ? 1 : q",
                           "p % 8 == 1 ? 0 : q", "p % 8 > 0 ? 0 : q", "-1", "unknown", "1 / 0"})
    EXPECT_FALSE(Steps(text).result) << text;
  EXPECT_FALSE(Steps("p * 1048576 / 1048576 * 1048576 / 1048576").result);
  std::string longer = "p";
  for (int i = 0; i < StepProgram::kMostSteps + 1; ++i) longer = cat("(", longer, " * q)");
  EXPECT_FALSE(Steps(longer).result);
}

}  // namespace
}  // namespace diecast
