// libdiecast_c.so.1 as a file: what it shows, what it is called, and that C99 can use it.
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/c.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "page_snippets.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

const std::string kLibrary = DIECAST_BUILD_DIR "/src/libdiecast_c.so.1";

ProcessResult run(std::vector<std::string> arguments) {
  ProcessRequest request;
  request.arguments = std::move(arguments);
  request.time_limit = std::chrono::minutes(4);
  return run_process(request).value();
}

// c_exports.map: the committed list.
std::set<std::string> listed_names() {
  std::set<std::string> names;
  const std::string text = testing::text_of(DIECAST_SOURCE_DIR "/src/c_exports.map");
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view name = trim(line);
    if (name.starts_with("diecast_")) names.emplace(name.substr(0, name.size() - 1));
  }
  return names;
}

TEST(CLibrary, ShowsTheListedNamesAndNoOther) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "a sanitizer shows names of its own";
#endif
  const auto shown =
      run({"/usr/bin/env", "nm", "-D", "--defined-only", "--format=posix", kLibrary});
  if (shown.exit_code == 127) GTEST_SKIP() << "no nm";
  std::set<std::string> names;
  for (const std::string_view line : split(shown.output, '\n'))
    if (!line.empty()) names.emplace(line.substr(0, line.find(' ')));
  EXPECT_EQ(names, listed_names());
  EXPECT_GT(names.size(), 25u);
}

TEST(CLibrary, IsUsedFromC99) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "the program would have to be built with the sanitizer too";
#endif
  const testing::TemporaryDirectory folder;
  const auto built =
      run({DIECAST_CXX_COMPILER, "-x", "c", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
           "-I" DIECAST_SOURCE_DIR "/src", DIECAST_SOURCE_DIR "/tests/c/program.c", "-x", "none",
           kLibrary, "-Wl,-rpath," DIECAST_BUILD_DIR "/src", "-o", folder / "program"});
  ASSERT_EQ(built.exit_code, 0) << built.errors;
  const auto ran = run({folder / "program", DIECAST_BUILD_DIR "/test-cache"});
  if (ran.exit_code == 77) GTEST_SKIP() << ran.output;
  EXPECT_EQ(ran.exit_code, 0) << ran.output << ran.errors;
  EXPECT_EQ(ran.output, "amax 6, codes 77 77, scale 7e\n");
}

TEST(CLibrary, TakesTheLinesOfThePageOfLinearLayers) {
  const std::string page = testing::text_of(DIECAST_SOURCE_DIR "/src/diecast/ops/linear/README.md");
  const auto lines = testing::snippets(page, "c");
  ASSERT_EQ(lines.size(), 1u);
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "lines.c") << lines[0];
  const auto built =
      run({DIECAST_CXX_COMPILER, "-x", "c", "-std=c99", "-fsyntax-only", "-Wall", "-Wextra",
           "-Wpedantic", "-Werror", "-I" DIECAST_SOURCE_DIR "/src", folder / "lines.c"});
  EXPECT_EQ(built.exit_code, 0) << built.errors;
}

// DLPack's own layout, so that a DLTensor may be passed as it is.
TEST(CTensorLayout, IsThatOfADLTensor) {
  EXPECT_EQ(sizeof(diecast_tensor), 48u);
  EXPECT_EQ(offsetof(diecast_tensor, data), 0u);
  EXPECT_EQ(offsetof(diecast_tensor, device_type), 8u);
  EXPECT_EQ(offsetof(diecast_tensor, device_id), 12u);
  EXPECT_EQ(offsetof(diecast_tensor, ndim), 16u);
  EXPECT_EQ(offsetof(diecast_tensor, type_code), 20u);
  EXPECT_EQ(offsetof(diecast_tensor, type_bits), 21u);
  EXPECT_EQ(offsetof(diecast_tensor, type_lanes), 22u);
  EXPECT_EQ(offsetof(diecast_tensor, shape), 24u);
  EXPECT_EQ(offsetof(diecast_tensor, strides), 32u);
  EXPECT_EQ(offsetof(diecast_tensor, byte_offset), 40u);
}

}  // namespace
}  // namespace diecast
