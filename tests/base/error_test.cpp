// The error table, the one way an error is printed, and Result.
#include <diecast/base/error.h>
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace diecast {
namespace {

const std::vector<ErrorCode> kCodes = {
#define DIECAST_CODE(name, text) ErrorCode::name,
    DIECAST_ERROR_CODES(DIECAST_CODE)
#undef DIECAST_CODE
};

TEST(ErrorCode, HasAWordOfLowerCaseLettersAndUnderscores) {
  for (const ErrorCode code : kCodes) {
    const std::string word(code_word(code));
    EXPECT_FALSE(word.empty());
    EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << word;
  }
}

TEST(ErrorCode, HasAWordOfItsOwn) {
  std::set<std::string_view> words;
  for (const ErrorCode code : kCodes) EXPECT_TRUE(words.insert(code_word(code)).second);
  EXPECT_EQ(words.size(), kCodes.size());
  EXPECT_EQ(static_cast<std::size_t>(ErrorCode::internal) + 1, kCodes.size());
}

TEST(ErrorCode, HasAMeaningOfItsOwnInOneLine) {
  std::set<std::string_view> meanings;
  for (const ErrorCode code : kCodes) {
    const std::string_view meaning = code_meaning(code);
    EXPECT_GT(meaning.size(), 10u) << code_word(code);
    EXPECT_EQ(meaning.find('\n'), std::string_view::npos) << code_word(code);
    EXPECT_TRUE(meanings.insert(meaning).second) << code_word(code);
  }
}

TEST(ErrorCode, HasAWordEvenWhenTheNumberIsNotInTheTable) {
  EXPECT_EQ(code_word(static_cast<ErrorCode>(9999)), "internal");
  EXPECT_EQ(code_meaning(static_cast<ErrorCode>(9999)), "");
}

TEST(Error, IsPrintedWithItsCodeItsValuesAndItsFix) {
  const Error error{
      ErrorCode::constraint_violated,
      "quantize_nvfp4.cu:12: require COLS % 16 == 0 (whole scale blocks)\nCOLS = 4100",
      "the nearest COLS that fit are 4096 and 4112; pad the rows"};
  EXPECT_EQ(error.message(),
            "diecast: constraint_violated: quantize_nvfp4.cu:12: require COLS % 16 == 0 (whole "
            "scale blocks)\n"
            "  COLS = 4100\n"
            "  fix: the nearest COLS that fit are 4096 and 4112; pad the rows");
}

TEST(Error, WithoutAFixEndsAfterWhatHappened) {
  EXPECT_EQ((Error{ErrorCode::io_error, "disk full", ""}.message()),
            "diecast: io_error: disk full");
}

TEST(Error, IsFoundAgainInWhatAProcessHasPrinted) {
  const Error error{ErrorCode::driver_error, "no\n  such\nluck: none", "try again"};
  const auto back = Error::parse(cat("diecast: cache: off\n", error.message(), "\n"));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->code, error.code);
  EXPECT_EQ(back->what, error.what);
  EXPECT_EQ(back->fix, error.fix);
  EXPECT_EQ(Error::parse("diecast: io_error: disk full")->what, "disk full");
  EXPECT_EQ(Error::parse("diecast: io_error: disk full")->fix, "");
  for (const char* none : {"", "diecast: ", "diecast: luck: none", "a diecast: io_error: b"})
    EXPECT_FALSE(Error::parse(none)) << none;
}

Result<int> half(int number) {
  if (number % 2 != 0) return Error{ErrorCode::invalid_argument, "odd", "give an even number"};
  return number / 2;
}

Result<int> quarter(int number) {
  // Both stand on one line, as a macro of a caller's own has them.
#define DIECAST_TRY_BOTH(once, twice)        \
  DIECAST_TRY(const int once, half(number)); \
  DIECAST_TRY(const int twice, half(once))
  DIECAST_TRY_BOTH(first, second);
#undef DIECAST_TRY_BOTH
  return second;
}

Result<void> must_be_even(int number) {
  DIECAST_CHECK(number % 2 == 0 ? Result<void>() : half(number).error());
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(half(4).ok());
  EXPECT_EQ(*half(4), 2);
  ASSERT_FALSE(half(3).ok());
  EXPECT_EQ(half(3).error().code, ErrorCode::invalid_argument);
}

TEST(Result, OfAFailedStepIsReturnedByTry) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().what, "odd");
  EXPECT_EQ(quarter(7).error().what, "odd");
}

TEST(Result, OfAFailedCheckIsReturned) {
  EXPECT_TRUE(must_be_even(2).ok());
  EXPECT_EQ(must_be_even(3).error().what, "odd");
}

TEST(Result, ThrowsTheWholeMessageWhenAskedForAValueThatIsNotThere) {
  try {
    half(3).value();
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "diecast: invalid_argument: odd\n  fix: give an even number");
  }
  EXPECT_THROW(must_be_even(3).value(), std::runtime_error);
  EXPECT_NO_THROW(must_be_even(2).value());
}

TEST(Result, OfACallGivesAValueThatOutlivesTheCall) {
  // A loop over `call().value()` would run over a vector that is gone, were this a reference.
  using Call = Result<std::vector<int>>;
  static_assert(std::is_same_v<decltype(std::declval<Call>().value()), std::vector<int>>);
  static_assert(std::is_same_v<decltype(*std::declval<Call>()), std::vector<int>>);
  const auto numbers = [] { return Call(std::vector<int>{1, 2, 3}); };
  int sum = 0;
  for (const int one : numbers().value()) sum += one;
  EXPECT_EQ(sum, 6);
}

TEST(Result, MovesAValueThatCannotBeCopied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  const auto pass = [&]() -> Result<int> {
    DIECAST_TRY(const auto number, make());
    return *number;
  };
  EXPECT_EQ(*pass(), 7);
}

Result<void> checked_if(bool asked, bool& otherwise) {
  if (asked)
    DIECAST_CHECK(Result<void>());
  else
    otherwise = true;
  return {};
}

// An `else` behind a check is its `if`'s, as behind any statement.
TEST(Result, ACheckTakesNoElse) {
  bool otherwise = false;
  EXPECT_TRUE(checked_if(true, otherwise));
  EXPECT_FALSE(otherwise);
  EXPECT_TRUE(checked_if(false, otherwise));
  EXPECT_TRUE(otherwise);
}

}  // namespace
}  // namespace diecast
