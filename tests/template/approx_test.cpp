// Tunes whose values may round sums in another order.
#include <diecast/template/embedded.h>
#include <gtest/gtest.h>
#include <template/header_errors.h>

namespace diecast {
namespace {

Parameter::Sums sums_of(const std::string& line) {
  const auto tmpl = Template::parse(
      "k", "/* diecast\n" + line + "\nlaunch grid(1) block(32)\n*/\nDIECAST_KERNEL {}\n");
  if (!tmpl) return ADD_FAILURE() << tmpl.error().message(), Parameter::Sums::same;
  return (*tmpl)->parameters()[0].sums;
}

TEST(ApproxTune, IsSaidBehindTheDefault) {
  EXPECT_EQ(sums_of("tune int SPLIT {1, 2} = 1"), Parameter::Sums::same);
  EXPECT_EQ(sums_of("tune int SPLIT {1, 2} = 1 approx  // parts of a sum"),
            Parameter::Sums::approx);
  EXPECT_EQ(sums_of("tune int SPLIT {1, 2} approx by sizes"), Parameter::Sums::approx_by_sizes);
  EXPECT_EQ(sums_of("tune int split {1, 2} = 1 approx by sizes"), Parameter::Sums::approx_by_sizes);
}

TEST(ApproxTune, ThatMakesNoSenseSaysWhy) {
  EXPECT_EQ(error_of("option int SPLIT {1, 2} = 1 approx"),
            "diecast: parse_error: k.cu:2:29: `approx` is said of tunes: an option may change "
            "results without it\n"
            "  option int SPLIT {1, 2} = 1 approx\n"
            "                              ^\n"
            "  fix: remove it");
  EXPECT_EQ(error_of("tune int split {1, 2} = 1 approx"),
            "diecast: parse_error: k.cu:2:27: a tune that is read at launch is chosen by sizes\n"
            "  tune int split {1, 2} = 1 approx\n"
            "                            ^\n"
            "  fix: write `approx by sizes`, or `SPLIT`: fixed at compile time");
  EXPECT_EQ(first_line(error_of("tune int SPLIT {1, 2} = 1 approx by size")),
            "diecast: parse_error: k.cu:2:37: expected `sizes` after `approx by`, found `size`");
}

TEST(ApproxTune, IsInNoBuiltInTemplate) {
  const TemplateFiles files = TemplateFiles::embedded();
  for (const std::string& name : files.template_names()) {
    const auto tmpl = Template::parse(name, *files.template_text(name)).value();
    for (const Parameter& parameter : tmpl->parameters())
      EXPECT_EQ(parameter.sums, Parameter::Sums::same) << name << " " << parameter.name;
  }
}

}  // namespace
}  // namespace diecast
