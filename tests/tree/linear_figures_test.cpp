// What the pages say of `linear` beside Humming and cuBLAS is what the run holds that they link.
#include <gtest/gtest.h>
#include <tree/files.h>

#include <algorithm>
#include <cstdio>
#include <map>

namespace diecast::tree {
namespace {

using Names = std::vector<std::string>;
const Names kLarge = {"28672x8192", "8192x28672"}, kSmall = {"4096x4096", "7168x2048"};
const Names kAll = {kSmall[0], kSmall[1], kLarge[0], kLarge[1]};

std::string fixed(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// A page in one line, without what makes words bold.
std::string words_of_page(const std::string& name) {
  std::string text = text_of(name);
  std::ranges::replace(text, '\n', ' ');
  for (std::size_t at; (at = text.find("**")) != text.npos;) text.erase(at, 2);
  return text;
}

struct Row {
  double ours, humming, cublas;      // us
  double over_humming, over_cublas;  // theirs over ours
};

class LinearFigures : public ::testing::Test {
 protected:
  LinearFigures() {
    for (const std::string& name : files())
      if (name.ends_with("linear-beside.txt")) run_ = text_of(name);
    for (const std::string_view line : split(run_, '\n')) {
      const auto cells = words(line);
      if (cells.size() < 9 || cells[0] != "dense") continue;
      const auto number = [&](std::size_t at) { return std::stod(std::string(cells[at])); };
      // Behind the floor ours, and settled where rows are few.
      rows_[std::string(cells[1])][std::stoi(std::string(cells[2]))] = {
          number(4), number(cells.size() - 4), number(cells.size() - 3), number(cells.size() - 2),
          number(cells.size() - 1)};
    }
  }
  const Row& row(const std::string& weight, int rows) const { return rows_.at(weight).at(rows); }
  // Ours over theirs, the least and the most.
  std::string range(const Names& weights, double Row::*theirs, auto wanted) const {
    std::vector<double> all;
    for (const std::string& weight : weights)
      for (const auto& [rows, one] : rows_.at(weight))
        if (wanted(rows)) all.push_back(one.ours / (one.*theirs));
    const auto [least, most] = std::ranges::minmax(all);
    return fixed(least, 2) + " to " + fixed(most, 2);
  }
  std::string pair(const Names& weights, int rows, double Row::*quotient) const {
    return fixed(row(weights[0], rows).*quotient, 2) + ", " +
           fixed(row(weights[1], rows).*quotient, 2);
  }
  // Of the four weights.
  std::string times(int rows, double Row::*whose) const {
    std::string out;
    for (const std::string& weight : kAll) {
      const double us = row(weight, rows).*whose;
      out += (out.empty() ? "" : ", ") + fixed(us, us < 20 ? 1 : 0);
    }
    return out;
  }
  static void expect(const std::string& page, const std::string& words) {
    EXPECT_NE(words_of_page(page).find(words), std::string::npos)
        << page << " should say: " << words;
  }

  std::string run_;
  std::map<std::string, std::map<int, Row>> rows_;
};

TEST_F(LinearFigures, OfTheirPageAreTheRuns) {
  const std::string page = "src/diecast/ops/linear/README.md";
  const auto any = [](int) { return true; };
  expect(page, range(kSmall, &Row::humming, any) + " of Humming's time with the two small weights");
  expect(page, range(kLarge, &Row::humming, any) + " with the two large ones");
  expect(page, range(kAll, &Row::cublas, [](int rows) { return rows <= 16; }) +
                   " of the time up to 16 rows");
  expect(page, "it takes " + range(kAll, &Row::cublas, [](int rows) { return rows >= 256; }) + ".");
  const auto at_64 = [](int rows) { return rows == 64; };
  expect(page, "At 64 rows it takes " + range(kLarge, &Row::cublas, at_64) + " with the large");
  expect(page, range(kSmall, &Row::cublas, at_64) + " with the small ones");
}

TEST_F(LinearFigures, OfTheFrontPageAreTheRuns) {
  for (const int rows : {1, 2048})
    for (const auto& [who, whose] : {std::pair{" us; Humming", &Row::ours},
                                     {"; cuBLAS bf16", &Row::humming},
                                     {" |", &Row::cublas}})
      expect("README.md", times(rows, whose) + who);
}

TEST_F(LinearFigures, OfTheNotesAreTheRuns) {
  const std::string page = "templates/NOTES.md";
  for (const int rows : {1, 16}) expect(page, pair(kSmall, rows, &Row::over_humming) + " |");
  for (const int rows : {256, 2048})
    expect(page, "large " + pair(kLarge, rows, &Row::over_cublas) + "; small " +
                     pair(kSmall, rows, &Row::over_cublas));
}

}  // namespace
}  // namespace diecast::tree
