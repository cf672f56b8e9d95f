// Headers of the caller's own: their names, how they are inlined, and hostile ones.
#include <diecast/base/text.h>
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <template/scale_rows.h>

#include <filesystem>

#include "temporary_directory.h"

namespace diecast {
namespace {

TemplateFiles files_with(const std::vector<std::pair<std::string, std::string>>& headers) {
  TemplateFiles files = golden_files();
  for (const auto& [name, text] : headers) files.add_header(name, text).value();
  return files;
}

// The source of a template with this code, or what is wrong with it.
std::string source_with(const TemplateFiles& files, const std::string& code,
                        const std::string& lines = "") {
  const auto tmpl = Template::parse(
      "k",
      "/* diecast\n" + lines + "launch grid(1) block(32)\n*/\n" + code + "\nDIECAST_KERNEL {}\n",
      files);
  if (!tmpl) return tmpl.error().message();
  const auto one = Specialization::make(*tmpl, {}, target("sm_90a"));
  const auto source = render(one.value(), files);
  return source ? source->text : source.error().message();
}

TEST(OwnHeader, IsInlinedOnceUnderItsNameBehindWhatItIncludes) {
  const TemplateFiles files =
      files_with({{"my/common.h", "#pragma once\n#include <my/deep/base.h>\nint common;\n"},
                  {"my/deep/base.h", "int base;\n"}});
  const std::string text = source_with(
      files, "#include <my/common.h>\n#include <my/deep/base.h>\n#include <my/common.h>");
  const std::string inlined =
      "using namespace diecast;\n#line 1 \"my/deep/base.h\"\nint base;\n#line 1 "
      "\"my/common.h\"\n\n\nint common;\n";
  const std::size_t at = text.find(inlined);
  ASSERT_NE(at, text.npos) << text;
  EXPECT_EQ(text.find("int common;", at + inlined.size()), text.npos);
  EXPECT_LT(at, text.find("diecast/constants"));
}

TEST(OwnHeader, IsPartOfTheSource) {
  const std::string code = "#include <my/common.h>";
  const auto source_of = [&](const char* text) {
    return source_with(files_with({{"my/common.h", text}}), code);
  };
  EXPECT_EQ(source_of("int a;\n"), source_of("int a;\n"));
  EXPECT_NE(source_of("int a;\n"), source_of("int b;\n"));
}

TEST(OwnHeader, LendsLinesToATemplate) {
  const TemplateFiles files =
      files_with({{"my/options.h", "/* diecast\noption enum WAY {short, long} = long\n*/\n"}});
  const std::string text = source_with(files, "int way = WAY_short;", "use <my/options.h>\n");
  EXPECT_NE(text.find("constexpr int WAY = WAY_long;"), text.npos) << text;
}

TEST(OwnHeader, HasANameThatATemplateCanInclude) {
  TemplateFiles files = golden_files();
  for (const char* name : {"", "common.h", "my/common", "my/common.hpp", "/my/common.h", "my//c.h",
                           "my/../c.h", "../c.h", "my/c.d.h", "my/c-d.h", "my/.h", "my/1.h",
                           "diecast/device/base/types.h", "diecast/mine.h", "my/c\n.h"}) {
    const auto added = files.add_header(name, "int a;");
    ASSERT_FALSE(added.ok()) << name;
    EXPECT_EQ(added.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(files.add_header("../c.h", "").error().message(),
            "diecast: invalid_argument: \"../c.h\" cannot name a header of your own\n"
            "  fix: name it as templates include it, by a folder that is not diecast, letters, "
            "digits and _: my/common.h");
  EXPECT_FALSE(files.add_header(std::string(300, 'a') + "/b.h", "").ok());
  EXPECT_FALSE(files.add_header("my/zero.h", std::string_view("a\0b", 3)).ok());
  EXPECT_TRUE(files.add_header("my/Common_2.h", "int a;").ok());
}

TEST(OwnHeader, OfAnotherTextUnderOneNameIsRefused) {
  TemplateFiles files = files_with({{"my/common.h", "int a;\n"}});
  EXPECT_TRUE(files.add_header("my/common.h", "int a;\n").ok());
  EXPECT_EQ(files.add_header("my/common.h", "int b;\n").error().message(),
            "diecast: file_exists: another header is already named my/common.h\n"
            "  fix: rename one, or put it into a folder of another name");
  EXPECT_TRUE(files.add_header("other/common.h", "int b;\n").ok());
}

TEST(OwnHeader, ThatIsMissingSaysHowToAddIt) {
  EXPECT_EQ(source_with(golden_files(), "#include <my/common.h>"),
            "diecast: unknown_template: k.cu:4: no header is called <my/common.h>\n"
            "  fix: add yours by runtime.add_header(\"my/common.h\", FILE), --add-header "
            "my/common.h=FILE, or name the folder that has it in DIECAST_INCLUDE");
  EXPECT_EQ(source_with(files_with({{"my/common.h", ""}}), "#include <my/comon.h>").substr(0, 96),
            "diecast: unknown_template: k.cu:4: no header is called <my/comon.h>; did you mean "
            "<my/common.h>?");
}

TEST(OwnHeader, ThatIncludesItselfEnds) {
  const TemplateFiles files = files_with(
      {{"my/a.h", "#include <my/b.h>\nint a;\n"}, {"my/b.h", "#include <my/a.h>\nint b;\n"}});
  const std::string text = source_with(files, "#include <my/a.h>");
  EXPECT_LT(text.find("int b;"), text.find("int a;")) << text;
  EXPECT_NE(text.find("int a;"), text.npos) << text;
}

TEST(OwnHeader, OfALongChainIsRefusedBeforeTheStackEnds) {
  TemplateFiles files = golden_files();
  for (int i = 0; i < 100'000; ++i)
    files.add_header(cat("my/h", i, ".h"), cat("#include <my/h", i + 1, ".h>\n")).value();
  const std::string text = source_with(files, "#include <my/h0.h>");
  EXPECT_EQ(text,
            "diecast: parse_error: my/h64.h:1: headers include one another 64 deep\n"
            "  fix: include what is needed where it is needed");
}

TEST(OwnHeader, OfAHugeLineIsShownInPart) {
  const std::string huge(1 << 20, 'x');
  const TemplateFiles files = files_with(
      {{"my/a.h", "#include \"" + huge + "\"\n"}, {"my/b.h", "#include <" + huge + "/a.h>"}});
  for (const char* name : {"a", "b"}) {
    const std::string error = source_with(files, cat("#include <my/", name, ".h>"));
    EXPECT_LT(error.size(), 1000u);
    EXPECT_NE(error.find("parse_error: my/"), error.npos) << error;
  }
}

TEST(OwnHeader, ThatNoCacheEntryHasRoomForIsRefused) {
  const std::string long_line = "// " + std::string(1 << 20, 'x') + "\n";
  const std::string error =
      source_with(files_with({{"my/common.h", long_line}}), "#include <my/common.h>");
  EXPECT_EQ(error.find("diecast: not_supported: the text of k.cu, its headers included, has 10"),
            0u)
      << error.substr(0, 200);
  EXPECT_NE(error.find("fix: give large tables as tensors"), error.npos);
}

TEST(OwnHeader, OfAFolderHasItsPathThere) {
  const testing::TemporaryDirectory folder;
  std::filesystem::create_directories(folder / "my/deep");
  testing::write_text(folder / "my/common.h", "int a;\n");
  testing::write_text(folder / "my/deep/base.h", "int b;\n");
  testing::write_text(folder / "my/notes.txt", "no header");
  testing::write_text(folder / "my/c-d.h", "no template can include it");
  testing::write_text(folder / "alone.h", "nor this");
  TemplateFiles files;
  files.add_headers_of(folder.path()).value();
  EXPECT_EQ(files.header_names(), (std::vector<std::string>{"my/common.h", "my/deep/base.h"}));
  EXPECT_FALSE(files.add_headers_of(folder / "none").ok());
}

TEST(OwnHeader, OfAFolderOfLinksInCirclesEnds) {
  const testing::TemporaryDirectory folder;
  for (const char* link : {"a", "b", "c", "d", "e", "f"})
    std::filesystem::create_directory_symlink(folder.path(), folder / link);
  TemplateFiles files;
  const auto added = files.add_headers_of(folder.path());
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(added.error().fix, "name a folder that has nothing but the headers of your kernels");
}

}  // namespace
}  // namespace diecast
