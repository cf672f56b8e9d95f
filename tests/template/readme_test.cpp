// The template that templates/README.md shows parses and renders as it stands there, and the kernel
// that the front page shows is an example's.
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <template/scale_rows.h>

#include <fstream>
#include <sstream>

namespace diecast {
namespace {

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(DIECAST_SOURCE_DIR "/" + path).rdbuf();
  return text.str();
}

std::string first_block(const std::string& path) {
  const std::string all = text_of(path), fence = "```\n";
  const std::size_t begin = all.find(fence) + fence.size();
  return all.substr(begin, all.find(fence, begin) - begin);
}

TEST(Source, TheReadmesTemplateRenders) {
  const std::string text = first_block("templates/README.md");
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

TEST(Source, TheFrontPagesKernelIsAnExamples) {
  const std::string page = text_of("README.md");
  const std::string kernel = text_of("examples/kernels/silu_and_mul_nvfp4.cu");
  const std::size_t begin = kernel.find("DIECAST_KERNEL {");
  ASSERT_NE(begin, kernel.npos);
  EXPECT_NE(page.find("```cuda\n" + kernel.substr(begin) + "```\n"), page.npos);
}

}  // namespace
}  // namespace diecast
