// Tensors that may be missing, and those that no kernel before writes.
#include <diecast/template/source.h>
#include <diecast/template/specialization.h>
#include <gtest/gtest.h>
#include <template/header_errors.h>
#include <template/scale_rows.h>

namespace diecast {
namespace {

std::shared_ptr<const Template> parsed(const std::string& lines) {
  return Template::parse("k", "/* diecast\n" + lines + "\n*/\nDIECAST_KERNEL {}\n").value();
}

std::string source_of(const Specialization& one) {
  return render(one, TemplateFiles::embedded()).value().text;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

std::shared_ptr<const Template> with_bias() {
  return parsed(
      "size cols\narg x in f32 [cols]\narg bias in bf16 [4, cols] stride optional\narg cols\n"
      "require HAS_BIAS || cc < 999  // what for\nlaunch grid(HAS_BIAS ? 2 : 1) block(32)");
}

TEST(Optional, IsABoolOfTheSpellingThatIsOneWithoutAWord) {
  const auto tmpl = with_bias();
  EXPECT_EQ(Specialization::make(tmpl, {}, target("sm_90a"))->spelling(), "k HAS_BIAS=1 @ sm_90a");
  const Bindings without = Bindings().set("HAS_BIAS", false);
  EXPECT_EQ(Specialization::make(tmpl, without, target("sm_90a"))->spelling(),
            "k HAS_BIAS=0 @ sm_90a");
  EXPECT_EQ(tmpl->parameter("HAS_BIAS")->comment, "bias is there");
  EXPECT_EQ(tmpl->space(target("sm_90a")).value().size(), 2u);
}

TEST(Optional, IsNoKernelParameterWhereItIsAbsent) {
  const auto tmpl = with_bias();
  const auto with = Specialization::make(tmpl, {}, target("sm_90a")).value();
  const auto without =
      Specialization::make(tmpl, Bindings().set("HAS_BIAS", false), target("sm_90a")).value();
  EXPECT_FALSE(with.arguments()[1].absent);
  EXPECT_TRUE(without.arguments()[1].absent);
  EXPECT_TRUE(has(with.argument_schema(), "tensor bias in bf16 stride align 2\n"));
  EXPECT_TRUE(has(without.argument_schema(), "tensor bias in bf16 stride align 2 absent\n"));
  EXPECT_TRUE(has(source_of(with),
                  "k(const f32* __restrict__ x, const bf16* __restrict__ bias, i64 "
                  "bias_stride, i64 cols) { k_body(x, bias, bias_stride, cols); }"));
  EXPECT_TRUE(has(source_of(without),
                  "k(const f32* __restrict__ x, i64 cols) { k_body(x, nullptr, 0, cols); }"));
  const auto on_host =
      Specialization::make(tmpl, Bindings().set("HAS_BIAS", false), target("host")).value();
  EXPECT_TRUE(has(source_of(on_host), "k_body(x, nullptr, 0, cols); }"));
  EXPECT_FALSE(has(source_of(on_host), "diecast_parameters[2]"));
}

TEST(Optional, DeclaresItsBoolOnce) {
  EXPECT_EQ(error_of("option bool HAS_B = true\nsize n\narg b in f32 [n] optional\narg n"),
            "diecast: parse_error: k.cu:4:18: `optional` declares HAS_B, which is declared on line "
            "2\n"
            "  arg b in f32 [n] optional\n"
            "                   ^\n"
            "  fix: remove that line: it is a bool whose default is 1");
  EXPECT_EQ(first_line(error_of("size n\narg b in f32 [n] optional optional\narg n")),
            "diecast: parse_error: k.cu:3:27: `optional` is given twice");
  EXPECT_EQ(first_line(error_of("size n\narg b in f32 [n] optionl\narg n")),
            "diecast: parse_error: k.cu:3:18: a tensor has no fact `optionl` here; did you mean "
            "`optional`?");
}

TEST(Settled, IsReadWithoutWaiting) {
  const auto tmpl = parsed(
      "size n\narg x in f32 [n]\narg w in f32 [n] settled\narg y out f32 [n]\narg n\n"
      "launch grid(1) block(32) dependent");
  const std::string text = source_of(Specialization::make(tmpl, {}, target("sm_90a")).value());
  EXPECT_TRUE(has(text, "k_body(x + diecast_begun, w, y, n); }")) << text;
}

TEST(Settled, IsForInputsOfDependentLaunches) {
  EXPECT_EQ(error("size n\narg x in f32 [n] settled\narg n\nlaunch grid(1) block(32)"),
            "diecast: parse_error: k.cu:3:18: the launch does not begin before the one before has "
            "ended\n"
            "  arg x in f32 [n] settled\n"
            "                   ^\n"
            "  fix: remove it, or add `dependent` to the launch line");
  EXPECT_EQ(first_line(error("size n\narg x inout f32 [n] settled\narg n\n"
                             "launch grid(1) block(32) dependent")),
            "diecast: parse_error: k.cu:3:21: `settled` says that nobody writes x, and this kernel "
            "does");
}

TEST(GridBarrier, NeedsACooperativeLaunch) {
  const auto with = [](const std::string& launch) {
    const auto tmpl = Template::parse("k", "/* diecast\n" + launch + "\ntarget sm_80+\n*/\n" +
                                               "DIECAST_KERNEL { grid_barrier(); }\n");
    return tmpl ? "parsed" : tmpl.error().message();
  };
  EXPECT_EQ(with("launch grid(2) block(32) cooperative"), "parsed");
  EXPECT_EQ(
      with("launch grid(2) block(32)"),
      "diecast: parse_error: k.cu:2:1: the code calls grid_barrier(), and its blocks need not "
      "be on the GPU together\n"
      "  launch grid(2) block(32)\n"
      "  ^\n"
      "  fix: add `cooperative` to the launch line, and a target line without host");
}

}  // namespace
}  // namespace diecast
