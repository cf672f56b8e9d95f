// templates/device/README.md, which says what of the device headers stays: every declaration on it
// stands in the header that it is listed under, or in one that this includes.
#include <gtest/gtest.h>
#include <tree/files.h>

#include <regex>
#include <string>
#include <vector>

namespace diecast::tree {
namespace {

const std::string kFolder = "templates/device/";

// In one line, without what says where a function runs; every blank is one.
std::string plain(const std::string& text) {
  const std::string without =
      std::regex_replace(text, std::regex(R"(DIECAST_DEVICE(_CALL)?\b|\bstatic\b|//[^\n]*)"), " ");
  return std::regex_replace(without, std::regex(R"(\s+)"), " ");
}

// A header and what of its own level it includes.
std::string declared(const std::string& header) {
  std::string text = text_of(kFolder + header);
  const std::string level = header.substr(0, header.find('/'));
  const std::regex include("#include <diecast/device/(" + level + "/[^>]+)>");
  const std::string own = text;
  for (std::sregex_iterator at(own.begin(), own.end(), include), end; at != end; ++at)
    text += text_of(kFolder + std::string((*at)[1]));
  return plain(text);
}

struct Declaration {
  std::string header, text;
};

// Of a page: the lines of code under each heading that names a header.
std::vector<Declaration> declarations(const std::string& page) {
  std::vector<Declaration> out;
  std::string header;
  bool code = false;
  for (const std::string_view line : split(page, '\n')) {
    if (line.starts_with("### `")) header = line.substr(5, line.rfind('`') - 5);
    if (line.starts_with("```")) {
      code = !code;
    } else if (code) {
      const std::string text = plain(std::string(line));
      out.push_back({header, text.substr(0, text.find(';'))});
    }
  }
  return out;
}

TEST(DeviceInterface, ReadsAPage) {
  const auto found = declarations("### `a/b.h`\ncode;\n```cuda\nf32 f(u32  x);  // what\n```\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].header, "a/b.h");
  EXPECT_EQ(found[0].text, "f32 f(u32 x)");
  EXPECT_EQ(plain("template <class T>\nDIECAST_DEVICE static T f(T x) {"),
            "template <class T> T f(T x) {");
}

TEST(DeviceInterface, IsInTheHeaders) {
  const auto listed = declarations(text_of(kFolder + "README.md"));
  EXPECT_GT(listed.size(), 30u);
  for (const auto& [header, text] : listed)
    EXPECT_NE(declared(header).find(text), std::string::npos) << header << ": " << text;
}

}  // namespace
}  // namespace diecast::tree
