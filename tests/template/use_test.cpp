// Lines that templates share: a device header's own, which `use` brings.
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <template/header_errors.h>
#include <template/scale_rows.h>

#include <filesystem>

#include "temporary_directory.h"

namespace diecast {
namespace {

Result<std::shared_ptr<const Template>> parsed_with(const std::string& lines,
                                                    const std::string& code = "") {
  return Template::parse(
      "k",
      "/* diecast\n" + lines + "\nlaunch grid(1) block(32)\n*/\n" + code + "DIECAST_KERNEL {}\n",
      golden_files());
}

std::string error_with(const std::string& lines) {
  const auto tmpl = parsed_with(lines);
  return tmpl ? "parsed" : tmpl.error().message();
}

const std::string kUse = "shape int COLS = 0\nuse <diecast/device/order.h>  // of the factors\n";

TEST(Use, BringsTheLinesOfADeviceHeader) {
  const auto tmpl = parsed_with(kUse + "tune int THREADS = 32").value();
  ASSERT_EQ(tmpl->parameters().size(), 3u);
  EXPECT_EQ(tmpl->parameters()[1].name, "ORDER");
  EXPECT_EQ(tmpl->parameters()[1].place.text(), "diecast/device/order.h:3");
  EXPECT_EQ(tmpl->let("ORDER_ROWS")->place.line, 4);
  EXPECT_EQ(tmpl->used(), std::vector<std::string>{"diecast/device/order.h"});
  EXPECT_EQ(tmpl->space(target("sm_90a")).value().size(), 1u);
  EXPECT_EQ(tmpl->space(target("sm_90a"), Bindings().set("COLS", 8)).value().size(), 2u);
}

TEST(Use, IncludesTheHeaderWhichDeclaresTheWords) {
  const auto made =
      Specialization::make(parsed_with(kUse).value(),
                           Bindings().set("COLS", 8).set("ORDER", "tiled"), target("sm_90a"))
          .value();
  const std::string text = render(made, golden_files()).value().text;
  const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has("*/ namespace diecast { enum : int { ORDER_linear = 0, ORDER_tiled = 1 }; }\n"))
      << text;
  EXPECT_TRUE(has("\nconstexpr int ORDER = ORDER_tiled;\nconstexpr int ORDER_ROWS = 128;\n"))
      << text;
  EXPECT_TRUE(
      has("#line 5 \"diecast/device/order.h\"\nstatic_assert(ORDER == ORDER_linear || COLS "
          "> 0, \"a tile has a row length\");\n"))
      << text;
}

TEST(Use, OfAnIncludeAloneThereAreTheWordsAndNoParameter) {
  const auto tmpl = parsed_with("", "#include <diecast/device/order.h>\n").value();
  EXPECT_TRUE(tmpl->parameters().empty());
  const auto made = Specialization::make(tmpl, {}, target("sm_90a")).value();
  const std::string text = render(made, golden_files()).value().text;
  EXPECT_NE(text.find("enum : int { ORDER_linear = 0, ORDER_tiled = 1 };"), std::string::npos);
  EXPECT_EQ(text.find("constexpr int ORDER"), std::string::npos);
}

TEST(Use, TellsOfABrokenRequirementWhereItStands) {
  const auto made = Specialization::make(parsed_with(kUse).value(),
                                         Bindings().set("ORDER", "tiled"), target("sm_90a"));
  EXPECT_EQ(made.error().message(),
            "diecast: constraint_violated: diecast/device/order.h:5: require ORDER == linear || "
            "COLS > 0 (a tile has a row length)\n"
            "  ORDER = tiled\n"
            "  COLS = 0\n"
            "  fix: the nearest COLS that fits is 1; or ORDER = linear");
}

TEST(Use, TellsOfAWrongLineWhereItStands) {
  EXPECT_EQ(error_with("use <diecast/device/order.h>"),
            "diecast: parse_error: diecast/device/order.h:5:28: nothing is called `COLS`\n"
            "  require ORDER == linear || COLS > 0          // a tile has a row length\n"
            "                             ^\n"
            "  fix: declare it with a line of its own, or correct the name");
  EXPECT_EQ(
      error_with("option bool ORDER = false\n" + kUse),
      "diecast: parse_error: diecast/device/order.h:3:13: `ORDER` is declared twice: first on "
      "line 2\n"
      "  option enum ORDER {linear, tiled} = linear   // where a row's factor lies\n"
      "              ^\n"
      "  fix: rename one or remove it");
  EXPECT_EQ(first_line(error_with(kUse + "let ORDER_ROWS = 3")),
            "diecast: parse_error: k.cu:4:5: `ORDER_ROWS` is declared twice: first on line 4 of "
            "diecast/device/order.h");
}

TEST(Use, NamesADeviceHeaderThatHasLines) {
  EXPECT_EQ(error_with("use <diecast/device/ordre.h>"),
            "diecast: parse_error: k.cu:2:5: there is no device header "
            "\"<diecast/device/ordre.h>\"; did you mean <diecast/device/order.h>?\n"
            "  use <diecast/device/ordre.h>\n"
            "      ^\n"
            "  fix: write use <diecast/device/LEVEL/NAME.h> or <my/NAME.h>, as of an #include");
  EXPECT_EQ(error_with("use order"),
            "diecast: parse_error: k.cu:2:5: expected a device header in < and >\n"
            "  use order\n"
            "      ^\n"
            "  fix: write use <diecast/device/LEVEL/NAME.h> or <my/NAME.h>, as of an #include");
  EXPECT_EQ(error_with("use"),
            "diecast: parse_error: k.cu:2:4: expected a device header in < and >\n"
            "  use\n"
            "     ^\n"
            "  fix: write use <diecast/device/LEVEL/NAME.h> or <my/NAME.h>, as of an #include");
  EXPECT_EQ(error_with("use <diecast/device/unit.h>"),
            "diecast: parse_error: k.cu:2:5: <diecast/device/unit.h> has no lines to use: no "
            "`/* diecast` in it\n"
            "  use <diecast/device/unit.h>\n"
            "      ^\n"
            "  fix: write #include <diecast/device/unit.h> in the code");
}

TEST(Use, ASecondOneOfAHeaderBringsNothing) {
  EXPECT_EQ(error_with(kUse + "use <diecast/device/order.h>"), "parsed");
}

TEST(Use, AnEnumOfAnIncludedHeadersNameHasItsFirstWords) {
  const auto tmpl =
      parsed_with("option enum ORDER {linear} = linear", "#include <diecast/device/order.h>\n");
  const auto made = Specialization::make(tmpl.value(), {}, target("sm_90a")).value();
  const std::string text = render(made, golden_files()).value().text;
  EXPECT_NE(text.find("\nconstexpr int ORDER = ORDER_linear;\n"), std::string::npos) << text;
}

TEST(Use, WordsOfAnIncludedHeaderAreNotDeclaredAgain) {
  const auto tmpl =
      parsed_with("option enum ORDER {tiled} = tiled", "#include <diecast/device/order.h>\n");
  const auto made = Specialization::make(tmpl.value(), {}, target("sm_90a")).value();
  EXPECT_EQ(render(made, golden_files()).error().message(),
            "diecast: parse_error: k.cu:2: <diecast/device/order.h>, which is included, has other "
            "words of ORDER or another order\n"
            "  fix: write use <diecast/device/order.h>, its first words, or another name");
}

TEST(Use, TheTemplatesDigestIsOfTheHeaderToo) {
  const testing::TemporaryDirectory folder;
  const auto digest = [&](const std::string& header) {
    std::filesystem::create_directory(folder / "device");
    testing::write_text(folder / "device/order.h", header);
    const auto files = TemplateFiles::from_directory(folder.path()).value();
    const std::string text =
        "/* diecast\nuse <diecast/device/order.h>\nlaunch grid(N) block(32)\n*/\nDIECAST_KERNEL "
        "{}\n";
    return Template::parse("k", text, files).value()->text_digest();
  };
  EXPECT_NE(digest("/* diecast\nlet N = 1\n*/\n"), digest("/* diecast\nlet N = 2\n*/\n"));
}

}  // namespace
}  // namespace diecast
