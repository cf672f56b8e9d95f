// What a program that includes the headers may be built as, and what they and the package say of
// their version.
#include <diecast/base/version.h>
#include <gtest/gtest.h>
#include <tree/files.h>

#include <csignal>

#include "temporary_directory.h"

namespace diecast {
namespace {

// The compiler's run over this text with these options, in the repository's root.
ProcessResult compile(const std::string& text, std::vector<std::string> options) {
  const testing::TemporaryDirectory folder;
  const std::string source = folder / "program.cpp";
  std::ofstream(source) << text;
  ProcessRequest request;
  request.arguments = {DIECAST_CXX_COMPILER, "-I" + tree::kRoot + "/src", source};
  for (std::string& option : options) request.arguments.push_back(std::move(option));
  request.directory = tree::kRoot;
  request.time_limit = std::chrono::minutes(4);
  return run_process(request).value();
}

TEST(Headers, CompileWithoutExceptionsAndWarnings) {
  const auto run = compile("#include <diecast/diecast.h>\n",
                           {"-std=c++20", "-fno-exceptions", "-Wall", "-Wextra", "-Wpedantic",
                            "-Wshadow", "-Wconversion", "-Werror", "-fsyntax-only"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
}

TEST(Headers, WithoutExceptionsTheValueOfAnErrorEndsTheProgramWithItsMessage) {
  const testing::TemporaryDirectory folder;
  const auto built = compile(
      "#include <diecast/base/error.h>\n"
      "int main() {\n"
      "  diecast::Result<int>(diecast::Error{diecast::ErrorCode::internal, \"what\", \"mend\"})"
      ".value();\n"
      "}\n",
      {"-std=c++20", "-fno-exceptions", "src/diecast/base/error.cpp", "src/diecast/base/text.cpp",
       "-o", folder / "program"});
  ASSERT_EQ(built.exit_code, 0) << built.errors;
  ProcessRequest request;
  request.arguments = {folder / "program"};
  const auto run = run_process(request).value();
  EXPECT_EQ(run.exit_code, 128 + SIGABRT);
  EXPECT_EQ(run.errors, "diecast: internal: what\n  fix: mend\n");
}

// Of an older standard's compiler nothing else is said.
TEST(Headers, SayThatTheyNeedCpp20) {
  const auto run = compile("#include <diecast/diecast.h>\n", {"-std=c++17", "-fsyntax-only"});
  EXPECT_NE(run.exit_code, 0);
  const std::size_t first = run.errors.find("error: ");
  ASSERT_NE(first, run.errors.npos) << run.errors;
  EXPECT_NE(run.errors.find("diecast needs C++20: compile with -std=c++20", first), run.errors.npos)
      << run.errors;
  EXPECT_EQ(run.errors.find("error: ", first + 1), run.errors.npos) << run.errors;
}

TEST(Headers, HaveThePackagesVersion) {
  const std::string page = tree::text_of("CMakeLists.txt"), start = "project(diecast VERSION ";
  const std::size_t at = page.find(start);
  ASSERT_NE(at, page.npos);
  EXPECT_EQ(page.substr(at + start.size(), page.find(' ', at + start.size()) - at - start.size()),
            library_version());
  EXPECT_EQ(cat(DIECAST_VERSION_MAJOR, '.', DIECAST_VERSION_MINOR, '.', DIECAST_VERSION_PATCH),
            library_version());
}

}  // namespace
}  // namespace diecast
