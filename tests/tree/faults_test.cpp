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

// The same of tests/UPSTREAM.md, which leaves out none of H1 to H21.
TEST(Faults, OfOthersAreTestedByTestsThatExist) {
  const auto tests = tests_in_the_tree();
  std::set<std::string> ids;
  const std::string text = testing::text_of(kTests + "/UPSTREAM.md");
  for (const std::string_view line : split(text, '\n')) {
    const auto cells = split(line, '|');
    if (cells.size() != 5 || cells[3].find('.') == std::string_view::npos) continue;
    ids.insert(std::string(trim(cells[1])));
    for (const std::string_view name : split(cells[3], ',')) {
      EXPECT_EQ(tests.count(std::string(trim(name))), 1u) << line;
    }
  }
  for (int i = 1; i <= 21; ++i) EXPECT_EQ(ids.count(cat("H", i)), 1u) << i;
}

// Each planted bug's text stands once in its source, and PLANTED.md says what caught it.
TEST(PlantedBugs, HaveTheirTextOnceInTheirSource) {
  const std::string caught = testing::text_of(kTests + "/PLANTED.md");
  const std::string text =
      testing::text_of(kTests + "/planted.txt") + testing::text_of(kTests + "/planted_gpu.txt");
  const auto replaced = [](std::string in, std::string_view from, std::string_view to) {
    for (std::size_t at = in.find(from); at != in.npos; at = in.find(from, at + to.size()))
      in.replace(at, from.size(), to);
    return in;
  };
  int planted = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    ++planted;
    const std::string marked = replaced(replaced(std::string(line), "\\|", "\x01"), " | ", "\x02");
    const auto fields = split(marked, '\x02');
    ASSERT_EQ(fields.size(), 5u) << line;
    const std::string wanted = replaced(replaced(std::string(fields[2]), "\x01", "|"), "\\n", "\n");
    const char* const folder = fields[1].starts_with("templates/") ? "/" : "/src/diecast/";
    const std::string source = testing::text_of(cat(DIECAST_SOURCE_DIR, folder, fields[1]));
    const std::size_t at = source.find(wanted);
    EXPECT_NE(at, source.npos) << line;
    EXPECT_EQ(source.find(wanted, at + 1), source.npos) << line;
    EXPECT_NE(caught.find(cat("\n| ", fields[0], " | `", fields[1], "` | ")), caught.npos) << line;
  }
  EXPECT_GE(planted, 20);
}

}  // namespace
}  // namespace diecast
