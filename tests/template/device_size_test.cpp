// A size that may lie in device memory, as the entry and the body of a kernel have it.
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <template/scale_rows.h>

namespace diecast {
namespace {

std::string source_of(const std::string& lines, const std::string& body) {
  const auto tmpl =
      Template::parse("k", "/* diecast\nsize rows device\nsize cols\n" + lines +
                               "arg rows\narg cols\n*/\nDIECAST_KERNEL {" + body + "}\n")
          .value();
  const auto made = Specialization::make(tmpl, {}, target("sm_90a")).value();
  return render(made, golden_files()).value().text;
}

TEST(DeviceSize, OfAKnownStrideIsThatOfTheRowsThatCount) {
  const std::string text = source_of(
      "arg x in f32 [cols, ceil_div(rows, 32)] stride (0)\nlaunch grid(1) block(32)\n", "");
  EXPECT_NE(text.find("k_body(x, diecast::ceil_div(rows.count(), 32), rows.count(), cols); }"),
            std::string::npos)
      << text;
}

// It must not be read before the launch before has ended, which the body waits for.
TEST(DeviceSize, IsAskedForByALateBody) {
  const std::string text = source_of(
      "arg x in f32 [cols, rows] stride (0)\nlaunch grid(rows) block(1) dependent(late)\n",
      "launch_before_ended(x);");
  EXPECT_NE(text.find("x_stride, diecast::DeviceSize rows, i64 cols)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("k_body(x, rows.value, rows, cols); }"), std::string::npos) << text;
}

}  // namespace
}  // namespace diecast
