// Tables of the documents are whole: an empty line within one leaves its other rows plain text.
#include <gtest/gtest.h>
#include <tree/files.h>

namespace diecast::tree {
namespace {

TEST(Tables, HaveALineOfDashesBelowTheirFirstRow) {
  int tables = 0;
  for (const std::string& name : files()) {
    if (!name.ends_with(".md")) continue;
    const std::string text = text_of(name);
    const auto lines = split(text, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].starts_with('|') || (i > 0 && lines[i - 1].starts_with('|'))) continue;
      ++tables;
      const std::string_view next = i + 1 < lines.size() ? lines[i + 1] : "";
      EXPECT_TRUE(next.starts_with('|') && next.find_first_not_of("|-: ") == next.npos)
          << name << ":" << i + 1 << ": " << lines[i];
    }
  }
  EXPECT_GT(tables, 50);
}

}  // namespace
}  // namespace diecast::tree
