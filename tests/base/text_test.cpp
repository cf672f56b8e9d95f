// Joining, splitting, escaping and guessing; above all, that hostile bytes cannot reach a terminal.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <clocale>
#include <limits>

namespace diecast {
namespace {

using Parts = std::vector<std::string_view>;
using std::string_literals::operator""s;

TEST(Text, OfValuesIsTheirTextsOneAfterAnother) {
  EXPECT_EQ(cat("K = ", 16, ' ', std::string("of"), std::string_view(" x"), true, -1, 0.5, 7u),
            "K = 16 of xtrue-10.57");
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(cat(1e300, ' ', 0.1f), "1e+300 0.1");
}

TEST(Text, OfNumbersIsTheSameInEveryLocale) {
  const char* locale = std::setlocale(LC_ALL, "");
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name)) locale = name;
    EXPECT_EQ(cat(1234.5), "1234.5") << locale;
    EXPECT_EQ(human_bytes(1536), "1.5 KiB") << locale;
  }
  std::setlocale(LC_ALL, "C");
}

TEST(Text, IsTrimmedOfSpacesTabsAndLineEnds) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, IsSplitAtEverySeparator) {
  EXPECT_EQ(split("a,,b,", ','), (Parts{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (Parts{""}));
}

TEST(Text, HasWordsBetweenRunsOfWhiteSpace) {
  EXPECT_EQ(words("  a\tbc \n d"), (Parts{"a", "bc", "d"}));
  EXPECT_EQ(words(" \n"), Parts{});
}

TEST(Text, IsJoinedWithASeparatorBetween) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
}

TEST(Integer, IsDigitsWithAnOptionalSignAndNothingElse) {
  EXPECT_EQ(parse_integer("4096"), 4096);
  EXPECT_EQ(parse_integer("-7"), -7);
  EXPECT_EQ(parse_integer("+7"), 7);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const char* bad : {"", "-", "+", "+-7", "--7", " 7", "7 ", "7x", "0x10", "1e3", "1.0",
                          "9223372036854775808", "-9223372036854775809"})
    EXPECT_EQ(parse_integer(bad), std::nullopt) << bad;
}

TEST(Quote, KeepsTextAndEscapesQuotesAndBackslashes) {
  EXPECT_EQ(quote("a b/c.cu"), "\"a b/c.cu\"");
  EXPECT_EQ(quote(""), "\"\"");
  EXPECT_EQ(quote("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(quote("größe 日本 🙂"), "\"größe 日本 🙂\"");
}

TEST(Quote, EscapesControlCharactersSoThatNoTerminalObeysThem) {
  EXPECT_EQ(quote("\x1b[2J\n\t\r\x7f"), "\"\\x1b[2J\\x0a\\x09\\x0d\\x7f\"");
  EXPECT_EQ(quote("a\0b"s), "\"a\\x00b\"");
  EXPECT_EQ(quote("\xc2\x9b"
                  "31m"),
            "\"\\xc2\\x9b31m\"");  // U+009B starts a terminal sequence like ESC [
}

TEST(Quote, EscapesBytesThatAreNotUtf8) {
  const std::pair<const char*, const char*> cases[] = {
      {"\xff", "\"\\xff\""},                             // never a byte of UTF-8
      {"\x80", "\"\\x80\""},                             // a continuation alone
      {"\xc0\xaf", "\"\\xc0\\xaf\""},                    // an overlong slash
      {"\xe0\x80\xaf", "\"\\xe0\\x80\\xaf\""},           // the same in three bytes
      {"\xed\xa0\x80", "\"\\xed\\xa0\\x80\""},           // a surrogate
      {"\xf4\x90\x80\x80", "\"\\xf4\\x90\\x80\\x80\""},  // beyond U+10FFFF
      {"\xe6\x97", "\"\\xe6\\x97\""},                    // cut short
  };
  for (const auto& [bytes, quoted] : cases) EXPECT_EQ(quote(bytes), quoted);
}

TEST(Quote, OfAnyBytesIsPrintableAndBounded) {
  std::string all;
  for (int round = 0; round < 3; ++round)
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte * (2 * round + 1));
  const std::string quoted = quote(all, all.size());
  for (const char c : quoted) EXPECT_TRUE(c >= 0x20 || c < 0) << static_cast<int>(c);
  EXPECT_EQ(quoted.find('\x7f'), std::string::npos);
  EXPECT_EQ(quote(std::string(1000, 'a'), 5), "\"aaaaa...\"");
  EXPECT_EQ(quote("aaaaa", 5), "\"aaaaa\"");
}

TEST(Nearest, FindsTheWordATypingSlipMeant) {
  const std::vector<std::string> candidates = {"COLS", "ROW_SCALE", "LAYOUT", "IN"};
  EXPECT_EQ(nearest("COLZ", candidates), "COLS");
  EXPECT_EQ(nearest("cols", candidates), "COLS");
  EXPECT_EQ(nearest("ROWSCALE", candidates), "ROW_SCALE");
  EXPECT_EQ(nearest("LAYUOT", candidates), "LAYOUT");
  EXPECT_EQ(nearest("rosw", std::vector<std::string>{"host", "rows"}), "rows");
  EXPECT_EQ(nearest("ab", std::vector<std::string>{"ax", "ba"}), "ax");
  EXPECT_EQ(nearest("COL", std::vector<std::string>{"cols", "COLS", "CODS"}), "COLS");
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  const std::vector<std::string> candidates = {"COLS", "ROW_SCALE", "LAYOUT", "IN"};
  EXPECT_EQ(nearest("bananas", candidates), "");
  EXPECT_EQ(nearest("XY", candidates), "");
  EXPECT_EQ(nearest("", candidates), "");
  EXPECT_EQ(nearest("COLS", {}), "");
  EXPECT_EQ(nearest("n", std::vector<std::string>{"T", "m", "N"}), "N");  // not any other letter
  EXPECT_EQ(nearest("n", std::vector<std::string>{"T", "m"}), "");
}

TEST(Nearest, IsOfferedInOneForm) {
  const std::vector<std::string> candidates = {"bf16", "f16", "f32"};
  EXPECT_EQ(did_you_mean("bf61", candidates), "; did you mean `bf16`?");
  EXPECT_EQ(did_you_mean("quaternion", candidates), "");
}

TEST(ErrnoText, IsNeverEmpty) {
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
  EXPECT_EQ(errno_text(ELOOP), "Too many levels of symbolic links");
  EXPECT_EQ(errno_text(-1), "unknown error");
  EXPECT_EQ(errno_text(100000), "unknown error");
}

TEST(HumanBytes, HaveAtMostOneDecimal) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1 KiB");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes((1u << 20) - 1), "1 MiB");
  EXPECT_EQ(human_bytes(5ull << 30), "5 GiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "16 EiB");
}

}  // namespace
}  // namespace diecast
