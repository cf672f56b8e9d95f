// The files the library carries are those of the checkout, byte for byte, and all of them parse.
#include <diecast/base/text.h>
#include <diecast/template/embedded.h>
#include <diecast/template/former_names.h>
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <template/scale_rows.h>

#include "how_many.h"

namespace diecast {
namespace {

TEST(TemplateFiles, EmbeddedOnesAreThoseOfTheCheckout) {
  const TemplateFiles embedded = TemplateFiles::embedded();
  const TemplateFiles checkout =
      TemplateFiles::from_directory(DIECAST_SOURCE_DIR "/templates").value();
  EXPECT_EQ(embedded.template_names(), checkout.template_names());
  EXPECT_EQ(embedded.header_names(), checkout.header_names());
  ASSERT_FALSE(embedded.template_names().empty());
  for (const std::string& name : embedded.template_names())
    EXPECT_EQ(*embedded.template_text(name), *checkout.template_text(name)) << name;
  for (const std::string& name : embedded.header_names())
    EXPECT_EQ(*embedded.header_text(name), *checkout.header_text(name)) << name;
}

// All points of a small space, some dozens of one with tens of thousands, spread evenly.
TEST(TemplateFiles, EveryBuiltInTemplateRendersAllOverItsSpace) {
  const TemplateFiles files = TemplateFiles::embedded();
  for (const std::string& name : files.template_names()) {
    const auto tmpl = Template::parse(name, *files.template_text(name));
    ASSERT_TRUE(tmpl.ok()) << tmpl.error().message();
    for (const char* on : {"host", "sm_90a"}) {
      const auto points = (*tmpl)->space(target(on));
      ASSERT_TRUE(points.ok()) << points.error().message();
      EXPECT_EQ(points->empty(), !(*tmpl)->supports(target(on))) << name << " @ " << on;
      const std::size_t step =
          points->size() / testing::unless_sanitized(testing::how_many(12, 60, 60)) + 1;
      for (std::size_t i = 0; i < points->size(); i += step) {
        const auto made = Specialization::make(*tmpl, (*points)[i], target(on));
        ASSERT_TRUE(made.ok()) << made.error().message();
        const auto source = render(*made, files);
        ASSERT_TRUE(source.ok()) << source.error().message();
      }
    }
  }
}

// What is refused is refused with its reason: the comment of its line.
TEST(TemplateFiles, EveryRequirementOfTheBuiltInOnesSaysWhy) {
  const TemplateFiles files = TemplateFiles::embedded();
  for (const std::string& name : files.template_names()) {
    const auto tmpl = Template::parse(name, *files.template_text(name)).value();
    for (const Requirement& requirement : tmpl->requirements()) {
      EXPECT_GT(requirement.reason.size(), 8u) << requirement.place.text();
    }
  }
}

TEST(TemplateFiles, EveryParameterThatWasRenamedHasItsNameOfToday) {
  const TemplateFiles files = TemplateFiles::embedded();
  for (const auto& [name, then, now] : kRenamedParameters) {
    ASSERT_NE(files.template_text(name), nullptr) << name;
    const auto tmpl = Template::parse(name, *files.template_text(name)).value();
    EXPECT_NE(tmpl->parameter(now), nullptr) << name << " " << now;
    EXPECT_EQ(tmpl->parameter(then), nullptr) << name << " " << then;
    EXPECT_EQ(unknown_parameter(*tmpl, then).what,
              cat("the parameter ", then, " of ", name, " is now ", now));
  }
}

TEST(TemplateFiles, AFolderGivesItsTemplatesAndDeviceHeaders) {
  const TemplateFiles& files = golden_files();
  EXPECT_EQ(files.template_names(), std::vector<std::string>{"scale_rows"});
  EXPECT_EQ(files.header_names(),
            (std::vector<std::string>{"diecast/device/base/simt.h", "diecast/device/base/types.h",
                                      "diecast/device/order.h", "diecast/device/twice.h",
                                      "diecast/device/unit.h"}));
  EXPECT_EQ(files.template_text("nothing"), nullptr);
  EXPECT_EQ(files.header_text("simt.h"), nullptr);
}

TEST(TemplateFiles, AFolderThatIsNotThereIsAnError) {
  const auto files = TemplateFiles::from_directory("/nonexistent/templates");
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code, ErrorCode::file_not_found);
  EXPECT_NE(files.error().what.find("/nonexistent/templates"), std::string::npos);
  EXPECT_FALSE(files.error().fix.empty());
}

// As whoever takes it for a folder of additions finds out.
TEST(TemplateFiles, AFolderWithoutDeviceHeadersSaysWhatItIsFor) {
  const auto files = TemplateFiles::from_directory(DIECAST_SOURCE_DIR "/examples/own_template");
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code, ErrorCode::file_not_found);
  EXPECT_TRUE(files.error().what.starts_with("cannot open the folder \"")) << files.error().what;
  EXPECT_EQ(files.error().fix,
            "a folder of templates stands in for all that are built in, device/ with its headers "
            "too; one template of your own comes by --add or runtime.add");
}

}  // namespace
}  // namespace diecast
