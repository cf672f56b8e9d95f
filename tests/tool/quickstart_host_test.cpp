// examples/quickstart.sh from its first line to its last, on checkpoints of any name. What it would
// build is there already: `cmake` is a program that does nothing. It stands in a tree whose only
// reference vectors are torchao's: all of them are replayed by checkpoint/kernels_host_test.cpp.
#include <gtest/gtest.h>

#include <filesystem>

#include "tool/run_tool.h"
#include "tool/small_checkpoint.h"

namespace diecast {
namespace {

namespace fs = std::filesystem;
using testing::kSource;

class Quickstart : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(DIECAST_SANITIZER)
    GTEST_SKIP() << "the scripts are not what a sanitizer watches";
#endif
    const std::string build = folder_ / "builds/quickstart";
    fs::create_directories(build);
    fs::create_directories(folder_ / "bin");
    fs::create_directories(here());
    testing::write_text(build + "/CMakeCache.txt", "");
    fs::create_symlink(DIECAST_TOOL, build + "/diecast");
    fs::create_symlink("/bin/true", folder_ / "bin/cmake");
    const fs::path tree = folder_ / "tree", source = kSource;
    for (const char* name : {"examples", "tests/golden"}) fs::create_directories(tree / name);
    for (const char* name : {"examples/quickstart.sh", "tests/setup.sh"}) {
      fs::copy(source / name, tree / name);  // these ask where they lie
    }
    for (const char* name :
         {"cache", "tests/gpu-results", "tests/golden/nvfp4_torchao.safetensors"}) {
      fs::create_symlink(source / name, tree / name);
    }
  }

  ProcessResult run(const std::string& model) {
    ProcessRequest request;
    request.arguments = {"bash", folder_ / "tree/examples/quickstart.sh"};
    request.directory = here();
    const char* path = std::getenv("PATH");
    request.environment = {"MODEL=" + model,
                           "DIECAST_BUILDS=" + (folder_ / "builds"),
                           "PATH=" + (folder_ / "bin") + ":" + (path ? path : "/usr/bin:/bin"),
                           "HOME=" + folder_.path(),
                           "CDPATH=" + folder_.path(),
                           "DIECAST_CACHE=" DIECAST_BUILD_DIR "/test-cache-quickstart",
                           "DIECAST_NVRTC=/nonexistent/libnvrtc.so",
                           "DIECAST_LIBCUDA=/nonexistent/libcuda.so.1"};
    return run_process(request).value();
  }

  std::string here() const { return folder_ / "here"; }  // where it is started

 private:
  testing::TemporaryDirectory folder_;
};

TEST_F(Quickstart, TakesAFolderOfAnyName) {
  const std::string name = "-rf * $(touch pwned) `touch pwned`; 'a\" %s\n\\";
  const std::string model = here() + "/" + name;
  fs::create_directory(model);
  testing::write_small_checkpoint(model + "/part.safetensors");
  testing::write_text(model + "/model.safetensors.index.json",
                      R"({"weight_map":{"l.0.n.up.weight":"part.safetensors"}})");
  const auto run = this->run(name);  // relative, and with a dash in front
  if (run.errors.find("compiler_unavailable: no C++ compiler") != std::string::npos) {
    GTEST_SKIP() << "no compiler for the host target";
  }
  EXPECT_EQ(run.exit_code, 0) << run.output << run.errors;
  EXPECT_NE(run.output.find("no kernels for GPUs: NVRTC is missing"), std::string::npos);
  EXPECT_NE(run.output.find("second run: quantize compiled 0, dequantize 0\n"), std::string::npos)
      << run.output;
  EXPECT_NE(run.output.find(" passed, 0 failed, 0 skipped\n"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("round trip: all values: largest error "), std::string::npos);
  EXPECT_NE(run.output.find("the last recorded GPU run, tests/gpu-results/"), std::string::npos);
  EXPECT_NE(run.output.find("  % of copy\n"), std::string::npos) << run.output;
  EXPECT_TRUE(run.output.ends_with("/quickstart/diecast quantize MODEL OUT\n")) << run.output;
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(here())) left.push_back(entry.path().filename());
  EXPECT_EQ(left, std::vector<std::string>{name});
  // NVRTC's absence is one error, not one for every kernel.
  const auto first = run.errors.find("compiler_unavailable: the NVRTC");
  EXPECT_NE(first, std::string::npos) << run.errors;
  EXPECT_EQ(run.errors.find("compiler_unavailable: the NVRTC", first + 1), std::string::npos);
}

TEST_F(Quickstart, SaysWhatIsWrongWithACheckpoint) {
  for (const std::string model : {"/nonexistent/model.safetensors", ".", "two\nlines"}) {
    const auto missing = run(model);
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_EQ(missing.errors.substr(missing.errors.find("quickstart: ")),
              "quickstart: MODEL is no checkpoint: " +
                  (model.starts_with("/") ? model : here() + "/" + model) + "\n");
  }
  testing::write_text(here() + "/cut.safetensors", "\xff\xff\xff\xff\xff\xff\xff\x7f{}");
  const auto cut = run("cut.safetensors");
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_NE(cut.errors.find("diecast: file_corrupt: "), std::string::npos) << cut.errors;
  EXPECT_TRUE(cut.errors.ends_with("quickstart: quantizing failed\n")) << cut.errors;
}

}  // namespace
}  // namespace diecast
