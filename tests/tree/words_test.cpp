// One word for one thing: the names in the headers of built-in templates are those of the table in
// templates/README.md, and what CUDA calls a block is a thread block.
#include <gtest/gtest.h>
#include <tree/files.h>

#include <map>
#include <regex>
#include <set>

namespace diecast::tree {
namespace {

using Names = std::set<std::string>;

// The names that the lines of a header declare by one of these words: "shape int COLS = 0".
Names declared(const std::string& text, const std::string& words) {
  const std::size_t begin = text.find("/* diecast\n"), end = text.find("*/", begin);
  Names out;
  if (begin == text.npos) return out;
  const std::string header = text.substr(begin, end - begin);
  const std::regex line("\n(?:" + words + ") +(?:(?:int|bool|type|enum|float) +)?([A-Za-z]\\w*)");
  for (std::sregex_iterator at(header.begin(), header.end(), line), none; at != none; ++at)
    out.insert((*at)[1]);
  return out;
}

Names declared_by_templates(const std::string& words) {
  Names out;
  for (const std::string& name : files())
    if (name.starts_with("templates/") && ends_with_any(name, {".cu", ".h"}))
      out.merge(declared(text_of(name), words));
  return out;
}

// The first column of the table whose head is "| `head` | is |", a name each.
struct Table {
  Names names;
  std::vector<std::string> faults;  // what stands in it twice
};

Table table(const std::string& page, const std::string& head) {
  Table out;
  std::map<std::string, std::string> meanings;
  const std::string rows = page.substr(page.find("| " + head + " | is |\n"));
  for (const std::string_view row : split(rows, '\n')) {
    if (!row.starts_with('|')) break;
    const auto cells = split(row, '|');
    const std::string first(cells[1]), meaning(trim(cells[2]));
    const std::regex quoted("`(\\w+)`");
    for (std::sregex_iterator at(first.begin(), first.end(), quoted), none; at != none; ++at)
      if (!out.names.insert((*at)[1]).second) out.faults.push_back((*at)[1].str() + " twice");
    if (!meanings.emplace(meaning, first).second) out.faults.push_back("two rows: " + meaning);
  }
  return out;
}

TEST(Words, TheTableFindsNamesAndMeaningsThatStandTwice) {
  const Table found = table(
      "| parameter | is |\n|---|---|\n| `IN`, `OUT` | a type |\n| `IN` | x's |\n| `W` | a type |\n",
      "parameter");
  EXPECT_EQ(found.names, (Names{"IN", "OUT", "W"}));
  EXPECT_EQ(join(found.faults, "; "), "IN twice; two rows: a type");
  EXPECT_EQ(declared("/* diecast\nshape  int   COLS = 0\ntune int waves = 1\nlet A = 1\n*/\n",
                     "shape|option|tune"),
            (Names{"COLS", "waves"}));
}

TEST(Words, NamesOfParametersAreThoseOfTheTable) {
  const Table known = table(text_of("templates/README.md"), "parameter");
  EXPECT_EQ(join(known.faults, "; "), "");
  EXPECT_EQ(declared_by_templates("shape|option|tune"), known.names);
}

TEST(Words, NamesOfArgumentsAreThoseOfTheTable) {
  const Table known = table(text_of("templates/README.md"), "argument");
  EXPECT_EQ(join(known.faults, "; "), "");
  EXPECT_EQ(declared_by_templates("arg|size"), known.names);
}

TEST(Words, WhatIsPromisedOfRowsHasOneName) {
  const std::regex promise("(shape|option) +\\w+ +(\\w+) +\\{[^}]*\\b(any|whole)\\b[^}]*\\}");
  std::size_t seen = 0;
  for (const std::string& name : files()) {
    if (!name.starts_with("templates/") || !name.ends_with(".cu")) continue;
    const std::string text = text_of(name);
    for (std::sregex_iterator at(text.begin(), text.end(), promise), none; at != none; ++at, ++seen)
      EXPECT_EQ((*at)[2], "ROWS") << name;
  }
  EXPECT_GT(seen, 5u);
}

// A direction is rowwise or columnwise; row and column are what a maximum is of.
TEST(Words, DirectionsAreRowwiseAndColumnwise) {
  const std::regex row("enum +(\\w+) +\\{[^}]*\\b(row|column|across|down|rows|columns)\\b");
  std::size_t seen = 0;
  for (const std::string& name : files()) {
    if (!name.starts_with("templates/") || !ends_with_any(name, {".cu", ".h"})) continue;
    const std::string text = text_of(name);
    for (std::sregex_iterator at(text.begin(), text.end(), row), none; at != none; ++at, ++seen)
      EXPECT_EQ((*at)[1], "PER") << name;
  }
  EXPECT_EQ(seen, 2u);
}

TEST(Words, ABlockOfCudaIsAThreadBlock) {
  const std::regex old("blocks? of\\s+(?:// )?threads", std::regex::icase);
  const std::string self = "tests/tree/words_test.cpp";
  for (const std::string& name : files()) {
    if (!is_text(name) || name == self || name.starts_with("tests/gpu-results/")) continue;
    if (!is_code(name) && !name.ends_with(".md")) continue;
    const std::string text = text_of(name);
    EXPECT_FALSE(std::regex_search(text, old)) << name;
  }
}

}  // namespace
}  // namespace diecast::tree
