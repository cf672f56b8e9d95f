// The template that templates/README.md shows parses and renders as it stands there.
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <template/scale_rows.h>

#include <fstream>
#include <sstream>

namespace diecast {
namespace {

std::string first_block(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string all = text.str(), fence = "```\n";
  const std::size_t begin = all.find(fence) + fence.size();
  return all.substr(begin, all.find(fence, begin) - begin);
}

TEST(Source, TheReadmesTemplateRenders) {
  const std::string text = first_block(DIECAST_SOURCE_DIR "/templates/README.md");
  const auto tmpl = Template::parse("scale_rows", text);
  ASSERT_TRUE(tmpl.ok()) << tmpl.error().message();
  for (const char* on : {"host", "sm_90a"}) {
    const auto points = (*tmpl)->space(target(on)).value();
    EXPECT_EQ(points.size(), 3u * 3u * 3u);
    for (const Bindings& point : points) {
      const auto made = Specialization::make(*tmpl, point, target(on)).value();
      const auto source = render(made, TemplateFiles::embedded());
      ASSERT_TRUE(source.ok()) << source.error().message();
    }
  }
}

}  // namespace
}  // namespace diecast
