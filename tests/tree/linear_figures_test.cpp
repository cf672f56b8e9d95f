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
  double ours, humming, cublas;  // us
  double of_cublas() const { return ours / cublas; }
  double of_humming() const { return ours / humming; }
};
using Quotient = double (Row::*)() const;

class LinearFigures : public ::testing::Test {
 protected:
  // The newest run's. Behind the floor ours; last Humming, cuBLAS and the two quotients.
  LinearFigures() {
    std::string run;
    for (const std::string& file : files())
      if (file.find("-h200-") != file.npos && file.ends_with("-linear.txt")) run = text_of(file);
    for (const std::string_view line : split(run, '\n')) {
      const auto cells = words(line);
      if (cells.size() < 7 || cells[0] != "dense") continue;
      const auto number = [](std::string_view cell) { return std::stod(std::string(cell)); };
      const auto last = cells.end();
      rows_[std::string(cells[1])][std::stoi(std::string(cells[2]))] = {
          number(cells[4]), number(last[-4]), number(last[-3])};
    }
  }
  const Row& row(const std::string& weight, int rows) const { return rows_.at(weight).at(rows); }
  // The least and the most, of rows that have it.
  std::string range(const Names& weights, Quotient of, auto wanted) const {
    std::vector<double> all;
    for (const std::string& weight : weights)
      for (const auto& [rows, one] : rows_.at(weight))
        if (wanted(rows)) all.push_back((one.*of)());
    const auto [least, most] = std::ranges::minmax(all);
    return fixed(least, 2) + " to " + fixed(most, 2);
  }
  // Their time over ours.
  std::string pair(const Names& weights, int rows, Quotient of) const {
    return fixed(1 / (row(weights[0], rows).*of)(), 2) + ", " +
           fixed(1 / (row(weights[1], rows).*of)(), 2);
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

  std::map<std::string, std::map<int, Row>> rows_;
};

TEST_F(LinearFigures, OfTheirPageAreTheRuns) {
  const std::string page = "src/diecast/ops/linear/README.md";
  const auto any = [](int) { return true; };
  expect(page, range(kAll, &Row::of_cublas, [](int rows) { return rows <= 16; }) +
                   " of its time up to 16 rows");
  const auto at_64 = [](int rows) { return rows == 64; };
  expect(page, "At 64 rows it takes " + range(kLarge, &Row::of_cublas, at_64) + " with the large");
  expect(page, range(kSmall, &Row::of_cublas, at_64) + " with the small ones");
  expect(page,
         "it takes " + range(kAll, &Row::of_cublas, [](int rows) { return rows >= 256; }) + ".");
  expect(page,
         range(kSmall, &Row::of_humming, any) + " of Humming's time with the two small weights");
  expect(page, range(kLarge, &Row::of_humming, any) + " with the two large ones");
}

TEST_F(LinearFigures, OfTheFrontPageAreTheRuns) {
  for (const int rows : {1, 64, 1024}) {
    expect("README.md", times(rows, &Row::ours) + " us; cuBLAS bf16");
    expect("README.md", "cuBLAS bf16: " + times(rows, &Row::cublas) + " |");
  }
}

TEST_F(LinearFigures, OfTheNotesAreTheRuns) {
  const std::string page = "templates/NOTES.md";
  for (const int rows : {1, 16}) expect(page, pair(kSmall, rows, &Row::of_humming) + " |");
  for (const int rows : {128, 256, 1024})
    expect(page, "large " + pair(kLarge, rows, &Row::of_cublas) + "; small " +
                     pair(kSmall, rows, &Row::of_cublas));
}

}  // namespace
}  // namespace diecast::tree
