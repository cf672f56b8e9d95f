// diecast doctor on machines that have and lack each part: what it finds, the fix, what works.
#include <diecast/runtime/tuning/record.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::ToolRun;

// The ToolRun is a machine without a GPU and with NVRTC 13.0.
class Doctor : public ::testing::Test {
 protected:
  void has_gpus(const std::string& capabilities) {
    diecast_.set("DIECAST_LIBCUDA", DIECAST_FAKE_DIR "/libfake_cuda.so");
    diecast_.set("DIECAST_FAKE_CUDA_CC", capabilities);
  }
  // The part's lines, its fix among them; empty where there is no such part.
  std::string finding(const std::string& part) {
    const std::string output = diecast_({"doctor"}).output;
    const std::size_t begin = output.find("   " + part + " ");
    if (begin == std::string::npos) return "";
    std::size_t end = output.find('\n', begin);
    while (output.compare(end + 1, 4, "    ") == 0) end = output.find('\n', end + 1);
    return output.substr(begin - 2, end - begin + 2);
  }
  bool says(const std::string& ability) {
    return diecast_({"doctor"}).output.find(ability + "\n") != std::string::npos;
  }

  ToolRun diecast_;
};

TEST_F(Doctor, NamesEveryGpuAndWhatItRuns) {
  has_gpus("90 120");
  EXPECT_EQ(finding("CUDA driver"), "ok   CUDA driver   supports CUDA 13.0");
  EXPECT_EQ(finding("GPU 0"),
            "ok   GPU 0         Fake GPU, 1 GiB, 132 multiprocessors, runs sm_90a");
  EXPECT_EQ(finding("GPU 1"),
            "ok   GPU 1         Fake GPU, 1 GiB, 132 multiprocessors, runs sm_120a, sm_120f");
  EXPECT_TRUE(says("yes  run on a GPU"));
}

TEST_F(Doctor, HasNoGpuWithoutADriver) {
  EXPECT_EQ(finding("GPU 0"), "");
  EXPECT_TRUE(finding("CUDA driver").starts_with("--   CUDA driver   no CUDA driver: cannot open"));
  EXPECT_TRUE(says("no   run on a GPU"));
  EXPECT_TRUE(says("yes  build kernels for GPUs (warm, compile)"));
}

TEST_F(Doctor, NamesTheGpusThatCuBlasLtIsFor) {
  const std::string library = DIECAST_FAKE_DIR "/libfake_cublaslt.so";
  diecast_.set("DIECAST_CUBLASLT", library);
  const std::string found =
      "ok   cuBLASLt      cuBLASLt 13.1.0 (" + library + "), for gemm_nvfp4 on ";
  EXPECT_EQ(finding("cuBLASLt"), found + "GPUs with FP4 tensor cores; this machine has none");
  has_gpus("90 100 120");
  EXPECT_EQ(finding("cuBLASLt"), found + "GPU 1, GPU 2");
}

TEST_F(Doctor, TellsHowToHaveCuBlasLtAndWhatUsesIt) {
  const std::string found = finding("cuBLASLt");
  EXPECT_TRUE(found.starts_with("--   cuBLASLt      cannot open the library ")) << found;
  EXPECT_NE(found.find("fix: install CUDA 12.8 or newer, or set DIECAST_CUBLASLT to the path of "
                       "its libcublasLt.so; only gemm_nvfp4's path cublaslt uses it, on GPUs with "
                       "FP4 tensor cores"),
            std::string::npos)
      << found;
}

TEST_F(Doctor, TellsADriverThatDoesNotStart) {
  has_gpus("90");
  diecast_.set("DIECAST_FAKE_CUDA_FAIL", "cuInit=999");
  const std::string driver = finding("CUDA driver");
  EXPECT_TRUE(driver.starts_with("--   CUDA driver   ")) << driver;
  EXPECT_NE(driver.find("CUDA_ERROR_UNKNOWN (999)"), std::string::npos) << driver;
  EXPECT_NE(driver.find("fix: "), std::string::npos) << driver;
  EXPECT_TRUE(says("no   run on a GPU"));
}

TEST_F(Doctor, NamesTheTargetsThatAnOldNvrtcCannotBuild) {
  diecast_.set("DIECAST_FAKE_NVRTC_ARCHS", "80 86 89 90");
  const std::string nvrtc = finding("NVRTC");
  EXPECT_TRUE(nvrtc.starts_with("ok   NVRTC         NVRTC 13.0 (")) << nvrtc;
  EXPECT_NE(nvrtc.find(", cannot build sm_100a, sm_103a, sm_120a, sm_121a"), std::string::npos)
      << nvrtc;
}

TEST_F(Doctor, TellsHowToHaveNvrtcAndThatHostStillWorks) {
  diecast_.set("DIECAST_NVRTC", "/nonexistent/libnvrtc.so.13");
  const std::string nvrtc = finding("NVRTC");
  EXPECT_TRUE(nvrtc.starts_with("--   NVRTC         ")) << nvrtc;
  EXPECT_NE(nvrtc.find("fix: "), std::string::npos) << nvrtc;
  EXPECT_TRUE(says("no   build kernels for GPUs (warm, compile)"));
}

TEST_F(Doctor, TellsHowToHaveAHostCompiler) {
  diecast_.set("DIECAST_CXX", "/nonexistent/g++");
  const std::string compiler = finding("host compiler");
  EXPECT_TRUE(compiler.starts_with("--   host compiler ")) << compiler;
  EXPECT_NE(compiler.find("/nonexistent/g++"), std::string::npos) << compiler;
  EXPECT_NE(compiler.find("fix: "), std::string::npos) << compiler;
  EXPECT_TRUE(says("no   run on this processor"));
}

TEST_F(Doctor, TellsThatNothingIsKeptWithoutACache) {
  diecast_.set("DIECAST_CACHE", "off");
  const std::string cache = finding("cache");
  EXPECT_TRUE(cache.starts_with("--   cache         ")) << cache;
  EXPECT_NE(cache.find("fix: set DIECAST_CACHE to an absolute directory of your own"),
            std::string::npos)
      << cache;
  EXPECT_TRUE(says("no   keep what was built"));
}

// A file that says nothing of this machine would go unnoticed: serving takes the defaults then.
TEST_F(Doctor, TellsWhatTuningRecordsSayOfThisMachine) {
  EXPECT_EQ(finding("tuning"), "");
  diecast_.set("DIECAST_TUNING", "/nonexistent/mine.txt");
  const std::string missing = finding("tuning");
  EXPECT_TRUE(missing.starts_with("--   tuning        ")) << missing;
  EXPECT_NE(missing.find("/nonexistent/mine.txt"), std::string::npos) << missing;
  EXPECT_NE(missing.find("fix: "), std::string::npos) << missing;

  has_gpus("90");
  const std::string path = diecast_.folder / "mine.txt";
  const auto write = [&](const std::string& device, const std::string& more) {
    auto records = read_tuning_file(testing::kSource + "/cache/tuned/h200.txt").value().records;
    records.resize(2);
    records[0].device = device;
    std::ofstream(path) << records[0].line() << "\n" << records[1].line() << "\n" << more;
  };
  diecast_.set("DIECAST_TUNING", path);
  write("Fake_GPU/90/132", "1 | no record\n");
  const std::string some = finding("tuning");
  EXPECT_TRUE(some.starts_with("ok   tuning        " + path +
                               ": 2 records, 1 for devices of this machine\n" +
                               std::string(19, ' ') + "line 3: "))
      << some;
  write("Another_GPU/90/132", "");
  EXPECT_EQ(finding("tuning"),
            "--   tuning        " + path + ": 2 records, 0 for devices of this machine\n" +
                std::string(19, ' ') + "fix: measure on this machine: `diecast tune`");
  EXPECT_NE(diecast_({"doctor", "--json"}).output.find("\"part\": \"tuning\""), std::string::npos);
}

TEST_F(Doctor, ExaminesTheRestUnderASettingThatMakesNoSense) {
  has_gpus("90");
  diecast_.set("DIECAST_CACHE", "relative/folder");
  const std::string settings = finding("settings");
  EXPECT_TRUE(settings.starts_with(
      "--   settings      no absolute path in the cache setting \"relative/folder\"\n"))
      << settings;
  EXPECT_NE(settings.find("fix: set DIECAST_CACHE to an absolute directory, to `off`, or to roots"),
            std::string::npos)
      << settings;
  EXPECT_EQ(finding("cache"), "");
  EXPECT_TRUE(finding("GPU 0").starts_with("ok   GPU 0"));
  EXPECT_TRUE(says("no   keep what was built"));
}

}  // namespace
}  // namespace diecast
