// Rendering: the golden texts, what is inlined and what is refused.
#include <diecast/template/source.h>
#include <gtest/gtest.h>
#include <template/scale_rows.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace diecast {
namespace {

std::string read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The sources themselves are the record: DIECAST_WRITE_GOLDEN=1 renews them, and a review sees how.
void expect_golden(const Source& source, const std::string& file) {
  const std::string path = golden_directory() + "/" + file;
  if (std::getenv("DIECAST_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << source.text;
  }
  EXPECT_EQ(source.text, read(path)) << path;
}

Source rendered(std::string_view on, const Bindings& bindings) {
  return render(Specialization::make(scale_rows(), bindings, target(on)).value(), golden_files())
      .value();
}

// The source of a template with this code, or the error.
std::string source_of(const std::string& code, std::string_view on = "sm_90a",
                      const std::string& lines = "") {
  const auto tmpl = Template::parse("k", "/* diecast\n" + lines + "launch grid(1) block(32)\n*/\n" +
                                             code + "\nDIECAST_KERNEL {}\n");
  if (!tmpl) return tmpl.error().message();
  const auto made = Specialization::make(*tmpl, {}, target(on));
  if (!made) return made.error().message();
  const auto source = render(*made, golden_files());
  return source ? source->text : source.error().message();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Source, IsTheGoldenOneForAGpu) {
  const Source source = rendered("sm_90a", Bindings().set("COLS", 4096).set("IN", DType::bf16));
  EXPECT_EQ(source.name, "scale_rows.cu");
  EXPECT_EQ(source.symbol, "scale_rows");
  expect_golden(source, "scale_rows.sm_90a.txt");
}

TEST(Source, IsTheGoldenOneForTheHost) {
  expect_golden(rendered("host", Bindings().set("COLS", 0).set("IN", DType::f32).set("BLOCK", 32)),
                "scale_rows.host.txt");
}

TEST(Source, NamesTheParametersThatAreZero) {
  const auto text = [](std::int64_t cols) {
    return rendered("sm_90a", Bindings().set("COLS", cols).set("IN", DType::bf16)).text;
  };
  EXPECT_TRUE(has(text(0), "#define DIECAST_NO_COLS 1\n"));
  EXPECT_FALSE(has(text(4096), "DIECAST_NO_COLS"));
  EXPECT_FALSE(has(text(0), "DIECAST_NO_IN"));  // bf16 is the first type, and no zero
  EXPECT_TRUE(has(source_of("", "host", "option enum MODE {off, on} = off\n"),
                  "#define DIECAST_NO_MODE 1\n"));
  EXPECT_FALSE(has(source_of("", "host", "option enum MODE {off, on} = on\n"), "DIECAST_NO_"));
}

TEST(Source, IsTheSameFromAnyPlace) {
  const std::filesystem::path copy =
      std::filesystem::path(::testing::TempDir()) / "diecast_source_test" / "deep er";
  std::filesystem::remove_all(copy.parent_path());
  std::filesystem::create_directories(copy.parent_path());
  std::filesystem::copy(golden_directory(), copy, std::filesystem::copy_options::recursive);
  const TemplateFiles files = TemplateFiles::from_directory(copy.string()).value();
  const auto tmpl = Template::parse("scale_rows", *files.template_text("scale_rows")).value();
  const Bindings bindings = Bindings().set("COLS", 4096).set("IN", DType::bf16);
  const auto made = Specialization::make(tmpl, bindings, target("sm_90a")).value();
  EXPECT_EQ(render(made, files).value().text, rendered("sm_90a", bindings).text);
  EXPECT_FALSE(has(rendered("sm_90a", bindings).text, golden_directory()));
  std::filesystem::remove_all(copy.parent_path());
}

TEST(Source, WindowsLineEndsRenderTheSame) {
  std::string text;
  for (char c : scale_rows_text()) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const auto tmpl = Template::parse("scale_rows", text).value();
  const Bindings bindings = Bindings().set("COLS", 4096).set("IN", DType::bf16);
  const auto made = Specialization::make(tmpl, bindings, target("sm_90a")).value();
  EXPECT_EQ(render(made, golden_files()).value().text, rendered("sm_90a", bindings).text);
}

TEST(Source, LowerCaseTunesAreNotInIt) {
  const Bindings bindings = Bindings().set("COLS", 16).set("IN", DType::f16);
  Bindings other = bindings;
  other.set("waves", 1);
  EXPECT_EQ(rendered("sm_90a", bindings).text, rendered("sm_90a", other).text);
}

TEST(Source, ConstantsBeyondAnIntAreWide) {
  const std::string lines =
      "option int A = 2147483647\noption int B = 2147483648\noption int C = -2147483648\n"
      "option int D = -9223372036854775807\n";
  const std::string text = source_of("", "host", lines);
  EXPECT_TRUE(has(text, "constexpr int A = 2147483647;\n"));
  EXPECT_TRUE(has(text, "constexpr i64 B = 2147483648LL;\n"));
  EXPECT_TRUE(has(text, "constexpr i64 C = -2147483648LL;\n"));
  EXPECT_TRUE(has(text, "constexpr i64 D = -9223372036854775807LL;\n"));
}

TEST(Source, ADependentLaunchWaitsAtItsBeginningUnlessItsBodyDoes) {
  const auto entry = [](const std::string& clause, const std::string& cc) {
    const auto tmpl = Template::parse("k", "/* diecast\nlaunch grid(1) block(32) " + clause +
                                               "\n*/\nDIECAST_KERNEL { launch_before_ended(p); }\n")
                          .value();
    return render(Specialization::make(tmpl, {}, target(cc)).value(), golden_files()).value().text;
  };
  EXPECT_TRUE(has(entry("dependent", "sm_90a"), "griddepcontrol.wait"));
  EXPECT_FALSE(has(entry("dependent(late)", "sm_90a"), "griddepcontrol.wait"));
  EXPECT_FALSE(has(entry("dependent", "sm_89"), "griddepcontrol.wait"));
}

TEST(Source, AKernelWithoutArgumentsHasNoParameters) {
  EXPECT_TRUE(has(source_of("", "host"),
                  "extern \"C\" void k(diecast::HostBlock* diecast_block, void**) { "
                  "diecast::host_run_block(diecast_block, [&] { k_body(); }); } "));
  EXPECT_TRUE(
      has(source_of(""), "extern \"C\" __global__ void __launch_bounds__(32) k() { k_body(); }"));
}

TEST(Source, ResidentBlocksBoundTheRegisters) {
  const auto bounds = [](const std::string& resident) {
    const auto tmpl = Template::parse("k",
                                      "/* diecast\ntune int THREADS = 256\n"
                                      "launch grid(1) block(THREADS) resident(" +
                                          resident + ")\n*/\nDIECAST_KERNEL {}\n")
                          .value();
    const auto made = Specialization::make(tmpl, {}, target("sm_90a")).value();
    const auto source = render(made, golden_files());
    return source ? source->text : source.error().message();
  };
  EXPECT_TRUE(has(bounds("1024 / THREADS"), "__launch_bounds__(256, 4) k()"));
  EXPECT_TRUE(has(bounds("THREADS == 256 ? 0 : 1"), "__launch_bounds__(256) k()"));
  EXPECT_EQ(bounds("33"),
            "diecast: constraint_violated: k.cu:3: resident(33) of blocks of 256 threads: no "
            "multiprocessor holds more than 32 blocks or 2048 threads\n"
            "  fix: write resident(8) or less, min(8, ...) of an expression");
  EXPECT_TRUE(has(bounds("8"), "__launch_bounds__(256, 8) k()"));
  EXPECT_TRUE(has(bounds("9"), "resident(9) of blocks of 256 threads"));
}

// What is known now and no device launches is refused now.
TEST(Source, BlocksClustersAndSharedMemoryThatNoDeviceLaunchesAreRefused) {
  const auto error = [](const std::string& launch, const std::string& on = "sm_90a") {
    const auto tmpl = Template::parse("k", "/* diecast\ntune int THREADS = -64\nlaunch grid(1) " +
                                               launch + "\n*/\nDIECAST_KERNEL {}\n")
                          .value();
    const auto made = Specialization::make(tmpl, {}, target(on)).value();
    const auto rendered = render(made, golden_files());
    return rendered ? "rendered" : rendered.error().message();
  };
  const std::string fix = "\n  fix: correct the launch line, or require what keeps it in range";
  const std::string begin = "diecast: constraint_violated: k.cu:3: ";
  for (const char* on : {"sm_90a", "host"}) {
    EXPECT_EQ(error("block(2048)", on),
              begin + "block(...) is 2048 threads: devices take 1 to 1024" + fix);
    EXPECT_EQ(error("block(64, 32)", on),
              begin + "block(...) is 2048 threads: devices take 1 to 1024" + fix);
    EXPECT_EQ(error("block(THREADS)", on),
              begin + "block(...) is -64 threads: devices take 1 to 1024" + fix);
    EXPECT_EQ(error("block(32) shared(228 * 1024)", on),
              begin + "shared(...) is 233472 bytes: devices take 0 to 232448" + fix);
    EXPECT_EQ(error("block(32) shared(227 * 1024)", on), "rendered");
    EXPECT_EQ(error("block(32) shared(THREADS)", on),
              begin + "shared(...) is -64 bytes: devices take 0 to 232448" + fix);
  }
  EXPECT_EQ(error("block(32) cluster(99)"),
            begin + "cluster(...) is 99 blocks: devices take 1 to 16" + fix);
  // Each clause is told where it stands.
  EXPECT_EQ(
      error("dependent\nlaunch cluster(99) block(32)"),
      "diecast: constraint_violated: k.cu:4: cluster(...) is 99 blocks: devices take 1 to 16" +
          fix);
}

TEST(Source, AClusterThatIsKnownIsPartOfTheCode) {
  const auto entry = [](const std::string& cluster) {
    const auto tmpl = Template::parse("k",
                                      "/* diecast\ntune int CLUSTER {1, 4} = 4\n"
                                      "launch grid(8) block(32) cluster(" +
                                          cluster + ")\ntarget sm_90+\n*/\nDIECAST_KERNEL {}\n")
                          .value();
    const auto made = Specialization::make(tmpl, {}, target("sm_90a")).value();
    return render(made, golden_files()).value().text;
  };
  EXPECT_TRUE(has(entry("CLUSTER"), "__launch_bounds__(32) __cluster_dims__(4, 1, 1) k()"));
  EXPECT_TRUE(has(entry("CLUSTER / 4"), "__launch_bounds__(32) k()"));
}

TEST(Source, AClusterWhereThereAreNoneIsRefused) {
  const auto rendered = [](const std::string& cluster, const std::string& on) {
    const auto tmpl = Template::parse("k", "/* diecast\nlaunch grid(8) block(32)\nlaunch cluster(" +
                                               cluster + ")\n*/\nDIECAST_KERNEL {}\n")
                          .value();
    const auto made = Specialization::make(tmpl, {}, target(on)).value();
    const auto source = render(made, golden_files());
    return source ? "rendered" : source.error().message();
  };
  for (const std::string on : {"host", "sm_89"}) {
    EXPECT_EQ(rendered("2", on),
              "diecast: constraint_violated: k.cu:3: cluster(...) is 2 blocks: " + on +
                  " has no clusters\n"
                  "  fix: write `target sm_90+`, or a cluster of 1 elsewhere: cc >= 90 ? 2 : 1");
    EXPECT_EQ(rendered("cc >= 90 ? 2 : 1", on), "rendered");
  }
  EXPECT_EQ(rendered("2", "sm_90a"), "rendered");
}

TEST(Source, ABlockThatIsKnownAtLaunchHasNoLaunchBounds) {
  const auto tmpl = Template::parse("k",
                                    "/* diecast\ntune int warps = 4\n"
                                    "launch grid(1) block(32, warps)\n*/\nDIECAST_KERNEL {}\n")
                        .value();
  const auto made = Specialization::make(tmpl, {}, target("sm_90a")).value();
  EXPECT_TRUE(has(render(made, golden_files()).value().text, "extern \"C\" __global__ void k() {"));
}

TEST(Source, OnlyDeviceHeadersAndOwnOnesAreIncluded) {
  EXPECT_EQ(source_of("  #  include \"mine.h\""),
            "diecast: parse_error: k.cu:4:3: only <diecast/device/...> headers and your own, "
            "<my/common.h>, can be included\n"
            "    #  include \"mine.h\"\n"
            "    ^\n"
            "  fix: a source is complete in itself: use a device header, write it here, or add a "
            "header by runtime.add_header, --add-header or DIECAST_INCLUDE");
  for (const char* line :
       {"#include <cuda_bf16.h>", "#include <diecast/base/error.h>", "#include X",
        "#include <diecast/device/", "#include_next <a.h>", "%:include <a.h>", "#embed \"x\"",
        "#import <x.h>", "/* */ # /* */ include <x.h>"})
    EXPECT_TRUE(has(source_of(line), "diecast: parse_error: k.cu:4:")) << source_of(line);
}

TEST(Source, WhatLooksLikeAnIncludeInACommentOrLiteralIsNone) {
  for (const char* code :
       {"// #include <x.h>", "/*\n#include <x.h>\n*/", "auto s = R\"(\n#include <x.h>\n)\";",
        "#define TEXT \"#include\"", "int n = 1'000;\n// '\n#define A 'x'"})
    EXPECT_TRUE(has(source_of(code), std::string("#line 4 \"k.cu\"\n") + code)) << source_of(code);
}

TEST(Source, AnIncludeLeavesItsLineAndWhatFollowsOnIt) {
  const std::string text = source_of("#include <diecast/device/unit.h> /* from\nhere */ int x;");
  EXPECT_TRUE(has(text, "#line 4 \"k.cu\"\n /* from\nhere */ int x;\n")) << text;
}

TEST(Source, AnUnknownDeviceHeaderSaysWhatWasMeant) {
  EXPECT_EQ(
      source_of("#include <diecast/device/twcie.h>"),
      "diecast: unknown_template: k.cu:4: there is no device header <diecast/device/twcie.h>; did "
      "you mean <diecast/device/twice.h>?\n"
      "  fix: correct the name, or write what it has into this file");
  EXPECT_EQ(
      source_of("\n#include <diecast/device/something_else.h>"),
      "diecast: unknown_template: k.cu:5: there is no device header "
      "<diecast/device/something_else.h>\n"
      "  fix: the device headers are diecast/device/base/simt.h, diecast/device/base/types.h, "
      "diecast/device/order.h, diecast/device/twice.h, diecast/device/unit.h");
}

TEST(Source, ADeviceHeaderThatMovedIsFoundByItsName) {
  EXPECT_EQ(source_of("#include <diecast/device/simt.h>"),
            "diecast: unknown_template: k.cu:4: there is no device header "
            "<diecast/device/simt.h>; simt.h is <diecast/device/base/simt.h>\n"
            "  fix: correct the name, or write what it has into this file");
}

}  // namespace
}  // namespace diecast
