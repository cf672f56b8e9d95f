// diecast tune --given: tensors and structures from files, in this process and in others.
#include <gtest/gtest.h>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::host_works;
using testing::ToolRun;

// Reads far outside of x for any index but those given, and of a wrong structure nothing.
constexpr const char* kGather = R"(/* diecast
tune int THREADS {1, 2} = 1
size count
arg index in i32 [count]
arg x in f32 [4]
arg how struct How 8
arg y out f32 [count]
arg count
launch grid(1) block(THREADS)
target host
exchange none
*/
struct How { i32 times, plus; };
DIECAST_KERNEL {
  for (i64 i = threadIdx.x; i < count; i += THREADS)
    y[i] = how.times == 3 ? x[index[i]] * 3.0f + how.plus : x[i64{index[i]} << 40];
}
)";

class TuneGiven : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!host_works(diecast_)) GTEST_SKIP() << "no host device or compiler";
    testing::write_text(diecast_.folder / "gather.cu", kGather);
    write("index.bin", std::vector<std::int32_t>{3, 0, 0, 1, 2});
    write("how.bin", std::vector<std::int32_t>{3, 4});
  }
  void write(const char* name, const std::vector<std::int32_t>& numbers) {
    testing::write_text(diecast_.folder / name, {reinterpret_cast<const char*>(numbers.data()),
                                                 numbers.size() * sizeof(numbers[0])});
  }
  std::string file(const char* name) { return diecast_.folder / name; }
  ProcessResult tune(const std::vector<std::string>& more, const std::string& count = "5") {
    std::vector<std::string> all = {
        "tune",   "gather",         "--target",  "host", "--add", file("gather.cu"),
        "--size", "count=" + count, "--samples", "1"};
    all.insert(all.end(), more.begin(), more.end());
    if (*GetParam() != '\0') all.emplace_back(GetParam());
    return diecast_(all);
  }
  ToolRun diecast_;
};

TEST_P(TuneGiven, LaunchesWithTheBytesOfFiles) {
  const auto run =
      tune({"--given", "index=" + file("index.bin"), "--given", "how=" + file("how.bin")});
  EXPECT_EQ(run.exit_code, 0) << run.errors << run.output;
}

TEST_P(TuneGiven, OfOtherBytesOrNamesIsRefused) {
  const std::string how = "how=" + file("how.bin"), index = "index=" + file("index.bin");
  EXPECT_NE(
      tune({"--given", how, "--given", index}, "6")
          .errors.find("shape_mismatch: --given index has 20 bytes, and the kernel takes 24 at "
                       "count=6"),
      std::string::npos);
  EXPECT_NE(tune({"--given", "how=" + file("index.bin"), "--given", index})
                .errors.find("--given how has 20 bytes, and the kernel takes 8"),
            std::string::npos);
  EXPECT_NE(
      tune({"--given", "idnex=x"})
          .errors.find("unknown_parameter: --given: gather reads no tensor or structure named "
                       "\"idnex\"; did you mean `index`?"),
      std::string::npos);
  EXPECT_NE(tune({"--given", "index"}).errors.find("write it as --given NAME=FILE"),
            std::string::npos);
  EXPECT_NE(tune({"--given", "index=" + file("none.bin")}).errors.find("file_not_found"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Processes, TuneGiven, ::testing::Values("", "--in-process"));

}  // namespace
}  // namespace diecast
