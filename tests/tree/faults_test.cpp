// tests/FAULTS.md names tests that exist, and each fault once. run.sh says how many of them ran.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "temporary_directory.h"

namespace diecast {
namespace {

const std::string kTests = DIECAST_SOURCE_DIR "/tests";

// "Suite.Name" of every test there is.
std::set<std::string> tests_in_the_tree() {
  std::set<std::string> out;
  for (const auto& file : std::filesystem::recursive_directory_iterator(kTests)) {
    if (!file.path().string().ends_with("_test.cpp")) continue;
    const std::string text = testing::text_of(file.path());
    for (std::size_t at = text.find("\nTEST"); at != text.npos; at = text.find("\nTEST", at + 1)) {
      const std::size_t open = text.find('(', at), comma = text.find(',', at),
                        close = text.find(')', at);
      out.insert(cat(trim(text.substr(open + 1, comma - open - 1)), ".",
                     trim(text.substr(comma + 1, close - comma - 1))));
    }
  }
  return out;
}

TEST(Faults, AreTestedByTestsThatExist) {
  const auto tests = tests_in_the_tree();
  EXPECT_GT(tests.size(), 500u);
  std::set<std::string> ids;
  int tested = 0, untested = 0;
  const std::string text = testing::text_of(kTests + "/FAULTS.md");
  for (const std::string_view line : split(text, '\n')) {
    const auto cells = split(line, '|');
    if (cells.size() != 5 || trim(cells[1]).find('-') == std::string_view::npos ||
        cells[1].find("--") != std::string_view::npos) {
      continue;
    }
    EXPECT_TRUE(ids.insert(std::string(trim(cells[1]))).second) << line;
    const std::string_view how = trim(cells[3]);
    if (how.starts_with("none: ")) {
      ++untested;
      continue;
    }
    ++tested;
    for (const std::string_view name : split(how, ',')) {
      EXPECT_EQ(tests.count(std::string(trim(name))), 1u) << line;
    }
  }
  EXPECT_GE(tested, 200);
  EXPECT_LE(untested, 20);
}

// The same of tests/UPSTREAM.md: a row's last cell names tests.
TEST(Faults, OfOthersAreTestedByTestsThatExist) {
  const auto tests = tests_in_the_tree();
  int rows = 0;
  const std::string text = testing::text_of(kTests + "/UPSTREAM.md");
  for (const std::string_view line : split(text, '\n')) {
    const auto cells = split(line, '|');
    if (cells.size() != 4 || cells[2].find('.') == std::string_view::npos) continue;
    ++rows;
    for (const std::string_view name : split(cells[2], ',')) {
      EXPECT_EQ(tests.count(std::string(trim(name))), 1u) << line;
    }
  }
  EXPECT_GE(rows, 19);
}

}  // namespace
}  // namespace diecast
