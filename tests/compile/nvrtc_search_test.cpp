// Finding a libnvrtc: where it is looked for, in which order, and what is said when it is not
// there.
#include <gtest/gtest.h>

#include "environment_variable.h"
#include "fake/nvrtc_script.h"

namespace diecast {
namespace {

using testing::FakeNvrtc;
using testing::TemporaryDirectory;
using testing::Variable;

// A search that cannot find this machine's own NVRTC.
NvrtcSearch search_in(const std::vector<std::string>& directories) {
  NvrtcSearch search;
  search.names = {"libdiecast-nvrtc-test.so.1"};
  search.directories = directories;
  return search;
}

TEST(NvrtcSearch, TakesTheNamedFileAndNoOther) {
  const FakeNvrtc fake;
  NvrtcSearch search = fake.search();
  EXPECT_TRUE(open_nvrtc(search));
  search.directories = {fake.directory()};
  search.path = "/nowhere/libnvrtc.so.13";
  const auto compiler = open_nvrtc(search);
  ASSERT_FALSE(compiler);
  EXPECT_EQ(compiler.error().code, ErrorCode::compiler_unavailable);
  EXPECT_EQ(compiler.error().what,
            "the NVRTC that was asked for cannot be used\n"
            "cannot open the library \"/nowhere/libnvrtc.so.13\": cannot open shared object file: "
            "No such file or directory");
  EXPECT_EQ(compiler.error().fix, "correct DIECAST_NVRTC, or unset it to search the usual places");
}

TEST(NvrtcSearch, GoesThroughTheDirectoriesInOrder) {
  const FakeNvrtc fake;
  const TemporaryDirectory empty, good, later;
  for (const TemporaryDirectory* directory : {&good, &later})
    for (const char* name : {"libnvrtc.so.13", "libnvrtc-builtins.so.13.0"})
      std::filesystem::copy_file(
          fake.directory() + "/" + name,
          *directory /
              (std::string(name) == "libnvrtc.so.13" ? "libdiecast-nvrtc-test.so.1" : name));
  const auto compiler = open_nvrtc(search_in({empty.path(), good.path(), later.path()}));
  EXPECT_EQ(compiler.value()->description(),
            "NVRTC 13.0 (" + good.path() + "/libdiecast-nvrtc-test.so.1)");
}

TEST(NvrtcSearch, ListsEveryPlaceItTried) {
  const TemporaryDirectory empty, broken;
  testing::write_text(broken / "libdiecast-nvrtc-test.so.1", "no library");
  const auto compiler = open_nvrtc(search_in({empty.path(), broken.path()}));
  ASSERT_FALSE(compiler);
  const std::string what = compiler.error().what;
  EXPECT_EQ(what.find("no usable NVRTC (12.1 or later) was found\n"
                      "cannot open the library \"libdiecast-nvrtc-test.so.1\": "),
            0u)
      << what;
  EXPECT_NE(what.find("\n" + empty.path() + "/libdiecast-nvrtc-test.so.1: no such file"),
            std::string::npos);
  EXPECT_NE(
      what.find("\ncannot open the library \"" + broken.path() + "/libdiecast-nvrtc-test.so.1\": "),
      std::string::npos);
  EXPECT_EQ(
      compiler.error().fix,
      "install it (`pip install nvidia-cuda-nvrtc` or a CUDA toolkit) and name libnvrtc.so in "
      "DIECAST_NVRTC");
}

TEST(NvrtcSearch, WantsTheBuiltinsBesideTheLibrary) {
  const FakeNvrtc fake;
  std::filesystem::remove(fake.directory() + "/libnvrtc-builtins.so.13.0");
  EXPECT_EQ(open_nvrtc(fake.search()).error().what,
            "the NVRTC that was asked for cannot be used\n" + fake.path() + ": " + fake.path() +
                ": libnvrtc-builtins.so.13.0 is not beside it");
}

TEST(NvrtcSearch, RefusesWhatIsNotNvrtcOrTooOldOrSilent) {
  FakeNvrtc fake;
  const auto fault = [&] { return open_nvrtc(fake.search()).error().what; };
  NvrtcSearch other;
  other.path = DIECAST_FAKE_DIR "/libfake_answer.so";
  EXPECT_NE(open_nvrtc(other).error().what.find("not NVRTC: it has no nvrtcGetErrorString"),
            std::string::npos);
  for (const std::string version : {"11.8", "12.0"}) {
    fake.set("VERSION", version);
    EXPECT_NE(fault().find("NVRTC " + version + " is too old: 12.1 or later is needed"),
              std::string::npos)
        << fault();
  }
  fake.set("VERSION", "13.0");
  fake.set("FAIL", "nvrtcVersion=3");
  EXPECT_NE(fault().find("it does not tell its version"), std::string::npos);
  for (const char* call : {"nvrtcGetNumSupportedArchs=3", "nvrtcGetSupportedArchs=3"}) {
    fake.set("FAIL", call);
    EXPECT_NE(fault().find("it does not name the architectures"), std::string::npos);
  }
  fake.unset("FAIL");
  fake.set("ARCHS", " ");
  EXPECT_NE(fault().find("it does not name the architectures"), std::string::npos);
}

TEST(NvrtcSearch, FollowsTheEnvironment) {
  const TemporaryDirectory python;
  for (const char* version : {"python3.9", "python3.11", "other"})
    std::filesystem::create_directories(python / ("lib/" + std::string(version)));
  const Variable path("DIECAST_NVRTC", "/opt/nvrtc/libnvrtc.so.13");
  const Variable toolkit("CUDA_HOME", "/opt/toolkit");
  const Variable relative("CUDA_PATH", "toolkit");
  const Variable environment("VIRTUAL_ENV", python.path());
  const NvrtcSearch search = NvrtcSearch::from_environment();
  EXPECT_EQ(search.path, "/opt/nvrtc/libnvrtc.so.13");
  const std::string lib = python.path() + "/lib/";
  EXPECT_EQ(search.directories,
            (std::vector<std::string>{"/opt/toolkit/lib64",
                                      lib + "python3.11/site-packages/nvidia/cu13/lib",
                                      lib + "python3.11/site-packages/nvidia/cuda_nvrtc/lib",
                                      lib + "python3.9/site-packages/nvidia/cu13/lib",
                                      lib + "python3.9/site-packages/nvidia/cuda_nvrtc/lib",
                                      "/usr/local/cuda/lib64", "/opt/cuda/lib64"}));
}

}  // namespace
}  // namespace diecast
