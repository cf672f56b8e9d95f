// diecast run: one kernel on arrays of files, and held against the plainest build for this
// processor.
#include <diecast/base/machine.h>
#include <diecast/base/npy.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::host_works;
using testing::ToolRun;

// y = x * factor + bias, sums += y; `bits` shows an array that NumPy has no type for.
constexpr const char* kScale = R"(/* diecast
option type IN {bf16, f32}
size rows
size cols
arg x in IN [rows, cols]
arg index in i32 [rows]
arg factor f32
arg sums inout f32 [rows]
arg y out IN [rows, cols]
arg rows
arg cols
launch grid(1) block(1)
target host
exchange none
*/
#include <diecast/device/numbers/convert.h>
DIECAST_KERNEL {
  for (i64 row = 0; row < rows; ++row)
    for (i64 i = 0; i < cols; ++i) {
      const f32 value = to_f32(x[index[row] * cols + i]) * factor;
      y[row * cols + i] = from_f32<IN>(value);
      sums[row] = sums[row] + value;
    }
}
)";

// Differs where the compiler may use AVX2: what --against is for.
constexpr const char* kOther = R"(/* diecast
size count
arg y out f32 [2, count]
arg count
launch grid(1) block(1)
target host
exchange none
*/
DIECAST_KERNEL {
#if defined(__AVX2__)
  const f32 other = __uint_as_float(0x3F800003u);
#else
  const f32 other = 1.0f;
#endif
  for (i64 i = 0; i < 2 * count; ++i) y[i] = i == count + 1 ? other : 0.0f;
}
)";

template <class T>
std::string array_of(const char* type, const std::vector<std::int64_t>& shape,
                     const std::vector<T>& elements) {
  const Bytes header = npy_header(type, shape);
  std::string out(reinterpret_cast<const char*>(header.data()), header.size());
  out.append(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
  return out;
}

class RunOnHost : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!host_works(diecast_)) GTEST_SKIP() << "no host device or compiler";
    testing::write_text(file("scale.cu"), kScale);
    testing::write_text(file("other.cu"), kOther);
    testing::write_text(file("index.npy"), array_of<std::int32_t>("<i4", {2}, {1, 0}));
    testing::write_text(file("x.npy"), array_of<float>("<f4", {2, 3}, {1, 2, 3, 4, 5, 6}));
    testing::write_text(file("sums.npy"), array_of<float>("<f4", {2}, {100, 200}));
  }
  std::string file(const std::string& name) { return diecast_.folder / name; }
  std::string of(const std::string& name) { return name + "=" + file(name + ".npy"); }
  ProcessResult run(const std::string& spelling, const std::vector<std::string>& more) {
    std::vector<std::string> all = {"run",  spelling, "--target",
                                    "host", "--add",  file(spelling.substr(0, 5) + ".cu")};
    all.insert(all.end(), more.begin(), more.end());
    return diecast_(all);
  }
  ProcessResult scale(const std::vector<std::string>& more,
                      const std::string& spelling = "scale IN=f32") {
    std::vector<std::string> all = {"--size", "rows=2", "--size", "cols=3", "--in", of("index")};
    all.insert(all.end(), more.begin(), more.end());
    return run(spelling, all);
  }
  std::string bytes_of(const std::string& name) {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  ToolRun diecast_;
};

TEST_F(RunOnHost, ReadsArraysAndWritesThem) {
  const auto done = scale({"--in", of("x"), "--in", of("sums"), "--scalar", "factor=2", "--out",
                           of("y"), "--out", "sums=" + file("after.npy")});
  EXPECT_EQ(done.exit_code, 0) << done.errors;
  EXPECT_NE(done.output.find("sums    f32   [2]     130 212\n"
                             "y       f32   [2, 3]  8 10 12 2 4 6\n"),
            std::string::npos)
      << done.output;
  EXPECT_EQ(bytes_of("y.npy"), array_of<float>("<f4", {2, 3}, {8, 10, 12, 2, 4, 6}));
  EXPECT_EQ(bytes_of("after.npy"), array_of<float>("<f4", {2}, {130, 212}));
}

TEST_F(RunOnHost, ShowsBf16AsNumbersAndKeepsItsBitsInFiles) {
  const std::vector<std::uint16_t> x = {0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0};
  for (const char* type : {"<u2", "<V2"}) {  // the second: ml_dtypes' bfloat16
    testing::write_text(file("x.npy"), array_of<std::uint16_t>(type, {2, 3}, x));
    const auto done = scale({"--in", of("x"), "--out", of("y")}, "scale IN=bf16");
    EXPECT_EQ(done.exit_code, 0) << done.errors;
    EXPECT_NE(done.output.find("bf16  [2, 3]  4 5 6 1 2 3\n"), std::string::npos) << done.output;
    EXPECT_EQ(
        bytes_of("y.npy"),
        array_of<std::uint16_t>("<u2", {2, 3}, {0x4080, 0x40A0, 0x40C0, 0x3F80, 0x4000, 0x4040}));
  }
}

TEST_F(RunOnHost, DrawsWhatIsNotGivenTheSameEachTime) {
  const auto done = scale({"--out", of("y")});
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const std::string first = bytes_of("y.npy");
  ASSERT_EQ(scale({"--out", of("y")}).exit_code, 0);
  EXPECT_EQ(bytes_of("y.npy"), first);
}

TEST_F(RunOnHost, TakesASpellingWithoutQuotes) {
  const auto done =
      diecast_({"run", "scale", "IN=f32", "--target", "host", "--add", file("scale.cu"), "--size",
                "rows=2", "--in", of("index"), "--in", of("x"), "--scalar", "factor=1"});
  EXPECT_EQ(done.exit_code, 0) << done.errors;
  EXPECT_NE(done.output.find("y       f32   [2, 3]  4 5 6 1 2 3\n"), std::string::npos)
      << done.output;
}

TEST_F(RunOnHost, ThatIsNotWhatTheOtherBuildMakesShowsTheFirstElementOfIt) {
  const auto same = scale({"--in", of("x"), "--against", "host"});
  EXPECT_EQ(same.exit_code, 0) << same.errors;
  EXPECT_NE(same.output.find("y is the same on host\n"), std::string::npos) << same.output;
  if (!has_avx2()) GTEST_SKIP() << "one build for this processor";
  const auto other = run("other", {"--size", "count=3", "--against", "host"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(
      other.output.find("y[1, 1] is 1.0000004, and on host 1: 3 ulps; of 6 elements 1 differs\n"),
      std::string::npos)
      << other.output << other.errors;
}

TEST_F(RunOnHost, ADebugBuildSaysWhereATensorIsLeft) {
  EXPECT_EQ(scale({"--debug"}).exit_code, 0);
  testing::write_text(file("index.npy"), array_of<std::int32_t>("<i4", {2}, {1, 2}));
  const auto left = scale({"--debug"});
  EXPECT_EQ(left.exit_code, 1);
  EXPECT_NE(left.errors.find("assertion_failed: kernel scale, block (0, 0, 0), thread (0, 0, 0): "
                             "scale.cu:20: x[6] is outside of its 6 elements"),
            std::string::npos)
      << left.errors;
  diecast_.set("DIECAST_BUILD", "fast");
  EXPECT_NE(scale({}).errors.find("DIECAST_BUILD: no kind of build is named \"fast\"\n"
                                  "  fix: use plain, lines or debug"),
            std::string::npos);
}

// An ordinary pointer, which no build checks, leaves a buffer by one element.
TEST_F(RunOnHost, ASanitizedRunEndsWhereABufferIsLeft) {
  testing::write_text(file("leave.cu"), R"(/* diecast
size count
arg x in f32 [count]
arg y out f32 [count]
arg count
arg more i64
launch grid(1) block(1)
target host
exchange none
*/
DIECAST_KERNEL {
  const f32* p = x;
  for (i64 i = 0; i < count; ++i)
    y[i] = p[i + more];
}
)");
  const auto leave = [&](const char* more) {
    return run("leave", {"--size", "count=5", "--scalar", more, "--sanitize"});
  };
  const auto within = leave("more=0");
  if (within.errors.find("has no AddressSanitizer") != std::string::npos)
    GTEST_SKIP() << within.errors;
  EXPECT_EQ(within.exit_code, 0) << within.errors;
  EXPECT_NE(within.output.find("y       f32   [5]"), std::string::npos) << within.output;
  const auto left = leave("more=1");
  EXPECT_EQ(left.exit_code, 1) << left.output;
  EXPECT_NE(left.errors.find("heap-buffer-overflow"), std::string::npos) << left.errors;
  EXPECT_NE(left.errors.find("leave.cu:14"), std::string::npos) << left.errors;
}

TEST_F(RunOnHost, TakesTheSizesOfItsArrays) {
  const auto done = run("scale IN=f32", {"--in", of("x"), "--in", of("index"), "--in", of("sums"),
                                         "--scalar", "factor=2"});
  EXPECT_EQ(done.exit_code, 0) << done.errors;
  EXPECT_NE(done.output.find("y       f32   [2, 3]  8 10 12 2 4 6\n"), std::string::npos)
      << done.output;
  testing::write_text(file("three.npy"), array_of<std::int32_t>("<i4", {3}, {1, 0, 0}));
  EXPECT_NE(run("scale IN=f32", {"--in", of("x"), "--in", "index=" + file("three.npy")})
                .errors.find("has the shape [3], and index is [2]"),
            std::string::npos);
  EXPECT_NE(run("scale IN=f32", {"--size", "rows=2", "--in", of("index")})
                .errors.find("scale is launched without a value of cols"),
            std::string::npos);
}

TEST_F(RunOnHost, WithWrongFilesSizesOrNamesIsRefused) {
  const auto refused = [&](const std::vector<std::string>& more, std::string_view why) {
    const auto done = scale(more);
    EXPECT_EQ(done.exit_code, 1);
    EXPECT_NE(done.errors.find(why), std::string::npos) << done.errors;
  };
  testing::write_text(file("long.npy"), array_of<float>("<f4", {3, 2}, std::vector<float>(6)));
  refused({"--in", "x=" + file("long.npy")}, "has the shape [3, 2], and x is [2, 3]");
  refused({"--in", "x=" + file("index.npy")},
          "has elements of the type \"<i4\", and x is f32\n  fix: save it as \"<f4\"");
  refused({"--in", "x=" + file("scale.cu")}, "no .npy file");
  refused({"--in", "y=" + file("x.npy")}, "--in: scale has no such tensor as \"y\"");
  refused({"--out", of("x")}, "--out: scale has no such tensor as \"x\"");
  refused({"--out", "y"}, "write it as --out NAME=FILE");
  refused({"--in", of("x"), "--out", "y=" + file("x.npy")}, "file_exists");
  refused({"--in", of("x"), "--in", of("x")}, "x is given twice");
  refused({"--size", "depth=1"}, "no size is named \"depth\"");
  EXPECT_NE(run("scale IN=f32", {"--size", "rows=2"})
                .errors.find("scale is launched without a value of cols\n  fix: give one: --size "
                             "cols=64"),
            std::string::npos);
  EXPECT_NE(run("scale IN=f32", {"--size", "rows=2,3", "--size", "cols=1"})
                .errors.find("--size rows has 2 values"),
            std::string::npos);
  EXPECT_NE(run("scale IN=f32", {"--size", "rows=2", "--size", "cols=3"})
                .errors.find("the header does not tell what to give for index"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file("y.npy")));  // nothing half done
}

}  // namespace
}  // namespace diecast
