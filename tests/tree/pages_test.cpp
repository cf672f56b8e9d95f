// What the pages point at is there: headings of their own and others', and files that they name.
#include <gtest/gtest.h>
#include <tree/files.h>

#include <regex>
#include <set>

namespace diecast::tree {
namespace {

std::vector<std::string> pages() {
  std::vector<std::string> out;
  for (const std::string& name : files())
    if (name.ends_with(".md")) out.push_back(name);
  return out;
}

// What matches in the text outside of fences, first group of each.
std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex fence("```[^]*?```"), wanted(pattern);
  const std::string open = std::regex_replace(text, fence, "");
  std::vector<std::string> out;
  for (std::sregex_iterator at(open.begin(), open.end(), wanted), end; at != end; ++at)
    out.push_back((*at)[1]);
  return out;
}

// As GitHub makes a heading's anchor.
std::string anchor_of(const std::string& heading) {
  std::string out;
  for (const char c : heading) {
    if (c == ' ' || c == '-')
      out += '-';
    else if (c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::set<std::string> anchors(const std::string& page) {
  std::set<std::string> out;
  const std::string text = text_of(page);
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level == line.npos || line[level] != ' ') continue;
    out.insert(anchor_of(std::string(line.substr(level + 1))));
  }
  return out;
}

TEST(Pages, LinkOnlyToHeadingsThatAreThere) {
  EXPECT_EQ(anchor_of("What `quantize` writes"), "what-quantize-writes");
  int seen = 0;
  for (const std::string& page : pages()) {
    const auto folder = std::filesystem::path(page).parent_path();
    for (const std::string& link : matches(text_of(page), R"(\]\(([^)\s:]*#[^)\s]+)\))")) {
      ++seen;
      const std::size_t hash = link.find('#');
      const std::string target =
          hash == 0 ? page : (folder / link.substr(0, hash)).lexically_normal().string();
      EXPECT_TRUE(anchors(target).contains(link.substr(hash + 1))) << page << ": " << link;
    }
  }
  EXPECT_GT(seen, 20);
}

// Names in upper case, as FAMILY, stand for others.
TEST(Pages, NameOnlyFilesThatAreThere) {
  int seen = 0;
  for (const std::string& page : pages()) {
    for (const std::string& name :
         matches(text_of(page), R"(`((?:src|tests|templates|examples)/[a-z0-9_./-]+\.[a-z]+)`)")) {
      ++seen;
      EXPECT_TRUE(std::filesystem::exists(kRoot + "/" + name)) << page << ": " << name;
    }
  }
  EXPECT_GT(seen, 10);
}

}  // namespace
}  // namespace diecast::tree
