// What the headers and the device code of all templates keep to: nothing too wide, nothing said
// twice, no number in the place of a word.
#include <gtest/gtest.h>
#include <tree/files.h>

#include <regex>

namespace diecast::tree {
namespace {

bool is_device_code(const std::string& name) {
  return name.ends_with(".cu") || name.starts_with("templates/device/");
}

// The lines between `/* diecast` and `*/`; none in a file without.
std::vector<std::string> header_of(const std::string& text) {
  std::vector<std::string> lines;
  bool inside = false;
  for (const std::string_view line : split(text, '\n')) {
    if (inside && line.starts_with("*/")) break;
    if (inside) lines.emplace_back(line);
    inside = inside || line == "/* diecast";
  }
  return lines;
}

TEST(Templates, NoHeaderLineIsWiderThan140Columns) {
  int headers = 0;
  for (const std::string& name : files()) {
    if (!is_device_code(name)) continue;
    const auto lines = header_of(text_of(name));
    headers += !lines.empty();
    for (const std::string& line : lines) EXPECT_LE(line.size(), 140u) << name << ": " << line;
  }
  EXPECT_GT(headers, 45);
}

// A long condition is a `let`: two copies would drift apart.
TEST(Templates, NoHeaderSaysAConditionTwice) {
  constexpr std::size_t kLong = 100;
  for (const std::string& name : files()) {
    if (!is_device_code(name)) continue;
    std::string text;
    for (const std::string& line : header_of(text_of(name))) {
      const std::string_view code = std::string_view(line).substr(0, line.find("//"));
      for (const std::string_view word : words(code)) text += std::string(word) + " ";
    }
    for (std::size_t at = 0; at + kLong < text.size(); ++at)
      ASSERT_EQ(text.find(text.substr(at, kLong), at + kLong), text.npos)
          << name << ": " << text.substr(at, kLong);
  }
}

TEST(Templates, EveryHeaderThatHasLinesIsUsed) {
  std::string all;
  for (const std::string& name : files())
    if (name.starts_with("templates/") && is_device_code(name))
      for (const std::string& line : header_of(text_of(name))) all += line + "\n";
  for (const std::string& name : files()) {
    if (!name.starts_with("templates/device/") || header_of(text_of(name)).empty()) continue;
    const std::string header = "<diecast/" + name.substr(std::string("templates/").size()) + ">";
    EXPECT_TRUE(std::regex_search(all, std::regex("use +" + header))) << header;
  }
}

TEST(Templates, DeviceCodeComparesWordsWithWords) {
  const std::regex number(
      "(Layout|Format|Mode|Profile|Global|FourOver|Rht|LAYOUT|FORMAT|MODE|"
      "PROFILE|GLOBAL|FOUR_OVER_SIX) *([=!]=|[<>]=?) *[0-9]");
  for (const std::string& name : files()) {
    if (!is_device_code(name)) continue;
    const std::string text = text_of(name);
    for (const std::string_view line : split(text, '\n'))
      EXPECT_FALSE(std::regex_search(line.begin(), line.end(), number)) << name << ": " << line;
  }
}

TEST(Templates, MarksOfUnrollingStandInTheIndentation) {
  int marks = 0;
  for (const std::string& name : files()) {
    if (!name.starts_with("templates/") || !is_device_code(name)) continue;
    const std::string text = text_of(name);
    for (const std::string_view line : split(text, '\n')) {
      EXPECT_FALSE(line.starts_with("DIECAST_UNROLL") || line.starts_with("DIECAST_NO_UNROLL"))
          << name << ": " << line;
      marks += trim(line).starts_with("DIECAST_UNROLL") || trim(line) == "DIECAST_NO_UNROLL";
    }
  }
  EXPECT_GT(marks, 200);
}

}  // namespace
}  // namespace diecast::tree
