// Headers of the user's own on the command line, from a folder, and in a runtime's keys.
#include <diecast/runtime/runtime.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tool/run_tool.h"

namespace diecast {
namespace {

constexpr const char* kTemplate =
    "/* diecast\narg y out f32 [1]\nlaunch grid(1) block(1)\n*/\n"
    "#include <my/common.h>\nDIECAST_KERNEL { y[0] = kOne; }\n";

class OwnHeader : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(run_.folder / "include/my");
    write(kHeader_);
    testing::write_text(run_.folder / "k.cu", kTemplate);
  }
  void write(const std::string& text) {
    testing::write_text(run_.folder / "include/my/common.h", text);
  }
  ProcessResult compile(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"compile", "k @ sm_90a", "--add", run_.folder / "k.cu"};
    all.insert(all.end(), more.begin(), more.end());
    return run_(std::move(all));
  }
  const std::string kHeader_ = "constexpr float kOne = 1;\n";
  testing::ToolRun run_;
};

TEST_F(OwnHeader, ComesByAnOption) {
  const auto run =
      compile({"--source", "--add-header", "my/common.h=" + (run_.folder / "include/my/common.h")});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(run.output.find("#line 1 \"my/common.h\"\n" + kHeader_), std::string::npos);
}

TEST_F(OwnHeader, ComesFromAFolder) {
  run_.set("DIECAST_INCLUDE", run_.folder / "include");
  const auto run = compile({"--source"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_NE(run.output.find("#line 1 \"my/common.h\"\n" + kHeader_), std::string::npos);
  run_.set("DIECAST_INCLUDE", run_.folder / "none");
  const auto none = compile({});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.errors.find("file_not_found: DIECAST_INCLUDE: "), std::string::npos)
      << none.errors;
}

TEST_F(OwnHeader, WithoutItsNameSaysHowToWriteIt) {
  const auto run = compile({"--add-header", run_.folder / "include/my/common.h"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("write --add-header my/common.h=FILE for #include <my/common.h>"),
            std::string::npos)
      << run.errors;
  EXPECT_NE(compile({}).errors.find("no header is called <my/common.h>"), std::string::npos);
}

TEST_F(OwnHeader, IsPartOfTheKey) {
  const auto key = [&] {
    RuntimeOptions options;
    options.cache = "off";
    options.include = run_.folder / "include";
    options.nvrtc.path = run_.nvrtc.path();
    const auto runtime = Runtime::create(std::move(options)).value();
    runtime->add(run_.folder / "k.cu").value();
    return runtime->key(runtime->specialize("k @ sm_90a").value()).value().hex();
  };
  const std::string before = key();
  EXPECT_EQ(key(), before);
  write("constexpr float kOne = 2;\n");
  EXPECT_NE(key(), before);
}

TEST_F(OwnHeader, IsAddedToARuntimeOnce) {
  RuntimeOptions options;
  options.cache = "off";
  const auto runtime = Runtime::create(std::move(options)).value();
  const std::string path = run_.folder / "include/my/common.h";
  EXPECT_TRUE(runtime->add_header("my/common.h", path).ok());
  EXPECT_TRUE(runtime->add_header("my/common.h", path).ok());
  write("constexpr float kOne = 2;\n");
  EXPECT_EQ(runtime->add_header("my/common.h", path).error().code, ErrorCode::file_exists);
  EXPECT_EQ(runtime->add_header("my/none.h", path + ".none").error().code,
            ErrorCode::file_not_found);
  EXPECT_EQ(runtime->add_header("none.h", path).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace diecast
