// Device headers stand in levels, a folder each: a header includes its own level and those below.
// templates/README.md says what each level has.
#include <gtest/gtest.h>
#include <tree/files.h>

#include <map>
#include <regex>

namespace diecast::tree {
namespace {

constexpr std::string_view kFolder = "templates/device/";

// From the bottom up; the levels of one line do not know one another.
const std::vector<std::vector<std::string_view>> kLevels = {
    {"base"},    {"threads"}, {"memory"},
    {"numbers"}, {"math"},    {"scales"},
    {"blocks"},  {"groups"},  {"nvfp4", "mx", "fake", "gemm", "linear"},
    {"tile"}};

// The place of a level in that list; -1 if there is none of that name.
int height(std::string_view level) {
  for (std::size_t i = 0; i < kLevels.size(); ++i)
    if (std::ranges::find(kLevels[i], level) != kLevels[i].end()) return static_cast<int>(i);
  return -1;
}

// "numbers/convert.h" -> "numbers"; "" of a header in no folder.
std::string level_of(std::string_view header) {
  return std::string(header.substr(0, header.find('/') == header.npos ? 0 : header.find('/')));
}

// What is wrong with the includes of one device header, which stands at LEVEL/NAME.h.
std::vector<std::string> faults(const std::string& header, const std::string& text) {
  std::vector<std::string> out;
  const std::string level = level_of(header);
  if (height(level) < 0) out.push_back(header + ": its folder is no level");
  const std::regex include("(?:^|\n)(?:#include|use) +<diecast/device/([^>]+)>");
  for (std::sregex_iterator at(text.begin(), text.end(), include), end; at != end; ++at) {
    const std::string other = (*at)[1], its_level = level_of(other);
    if (height(its_level) < 0)
      out.push_back(header + ": " + other + " is of no level");
    else if (its_level != level && height(its_level) >= height(level))
      out.push_back(header + ": " + other + " is not below");
  }
  return out;
}

std::vector<std::string> headers() {
  std::vector<std::string> out;
  for (const std::string& name : files())
    if (name.starts_with(kFolder) && name.ends_with(".h"))
      out.push_back(name.substr(kFolder.size()));
  return out;
}

TEST(DeviceLevels, ShowAnIncludeThatPointsUp) {
  const auto found = [](const std::string& header, const std::string& text) {
    return join(faults(header, "#pragma once\n" + text), "; ");
  };
  EXPECT_EQ(found("numbers/x.h",
                  "#include <diecast/device/numbers/convert.h>\n"
                  "#include <diecast/device/base/simt.h>\n"),
            "");
  EXPECT_EQ(found("numbers/x.h", "#include <diecast/device/nvfp4/nvfp4.h>\n"),
            "numbers/x.h: nvfp4/nvfp4.h is not below");
  EXPECT_EQ(found("numbers/x.h", "use  <diecast/device/tile/x.h>\n"),
            "numbers/x.h: tile/x.h is not below");
  EXPECT_EQ(found("mx/x.h", "#include <diecast/device/nvfp4/nvfp4.h>\n"),
            "mx/x.h: nvfp4/nvfp4.h is not below");
  EXPECT_EQ(found("mx/x.h", "#include <diecast/device/simt.h>\n"), "mx/x.h: simt.h is of no level");
  EXPECT_EQ(found("utils/x.h", ""), "utils/x.h: its folder is no level");
  EXPECT_EQ(found("x.h", ""), "x.h: its folder is no level");
}

TEST(DeviceLevels, HoldForEveryHeader) {
  std::map<std::string, int> headers_of;
  for (const std::string& header : headers()) {
    EXPECT_EQ(join(faults(header, text_of(std::string(kFolder) + header)), "\n"), "");
    ++headers_of[level_of(header)];
  }
  for (const auto& line : kLevels)
    for (const std::string_view level : line) EXPECT_GT(headers_of[std::string(level)], 0) << level;
}

// An old path finds today's by it: see TemplateFiles::meant().
TEST(DeviceLevels, NoTwoHeadersHaveOneName) {
  std::map<std::string, std::string> seen;
  for (const std::string& header : headers()) {
    const auto [first, is_new] = seen.emplace(header.substr(header.rfind('/') + 1), header);
    EXPECT_TRUE(is_new) << header << " and " << first->second;
  }
  EXPECT_GT(seen.size(), 50u);
}

TEST(DeviceLevels, StandInThePageOfTemplates) {
  const std::string page = text_of("templates/README.md");
  std::size_t at = page.find("| level |");
  for (const auto& line : kLevels)
    for (const std::string_view level : line) {
      const std::size_t row = page.find("\n| `" + std::string(level) + "` |");
      ASSERT_NE(row, page.npos) << level;
      EXPECT_GT(row, at) << level << " stands above a lower level";
      at = row;
    }
}

}  // namespace
}  // namespace diecast::tree
