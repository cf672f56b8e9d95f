// What a reader does with an installed diecast: find_package, ten lines of C++, and the snippets of
// the README pages, compiled and run.
#include <diecast/base/version.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <tree/files.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <string>

#include "page_snippets.h"

namespace diecast {
namespace {

namespace fs = std::filesystem;
using testing::snippets;

// Runs to the end or fails the test with all that was printed.
std::string run(std::vector<std::string> arguments) {
  ProcessRequest request;
  request.arguments = std::move(arguments);
  request.time_limit = std::chrono::minutes(8);
  const auto result = run_process(request);
  if (!result) return ADD_FAILURE() << result.error().message(), "";
  EXPECT_EQ(result->exit_code, 0) << join(request.arguments, " ") << "\n"
                                  << result->output << result->errors;
  return result->output;
}

// The names in the dynamic section's DT_NEEDED entries of a 64-bit ELF file.
std::vector<std::string> needed_libraries(const std::string& bytes) {
  const auto at = [&]<class T>(std::uint64_t offset, T value) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  std::vector<std::string> names;
  const auto header = at(0, Elf64_Ehdr{});
  for (int i = 0; i < header.e_shnum; ++i) {
    const auto section = at(header.e_shoff + i * sizeof(Elf64_Shdr), Elf64_Shdr{});
    if (section.sh_type != SHT_DYNAMIC) continue;
    const auto strings =
        at(header.e_shoff + section.sh_link * sizeof(Elf64_Shdr), Elf64_Shdr{}).sh_offset;
    for (std::uint64_t d = 0; d < section.sh_size; d += sizeof(Elf64_Dyn)) {
      const auto entry = at(section.sh_offset + d, Elf64_Dyn{});
      if (entry.d_tag == DT_NEEDED) names.emplace_back(bytes.data() + strings + entry.d_un.d_val);
    }
  }
  return names;
}

// An installation in a temporary folder, and programs built against it.
class Install : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "diecast_install_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    run({DIECAST_CMAKE, "--install", DIECAST_BUILD_DIR, "--prefix", (folder_ / "prefix").string()});
  }
  void TearDown() override { fs::remove_all(folder_); }

  void build(const std::vector<std::string>& programs,
             const std::vector<std::string>& shared = {}) {
    run({DIECAST_CMAKE, "-S", tree::kRoot + "/tests/tree/consumer", "-B",
         (folder_ / "build").string(), "-DCMAKE_CXX_COMPILER=" DIECAST_CXX_COMPILER,
         "-DCMAKE_PREFIX_PATH=" + (folder_ / "prefix").string(),
         "-DPROGRAMS=" + join(programs, ";"), "-DSHARED=" + join(shared, ";")});
    run({DIECAST_CMAKE, "--build", (folder_ / "build").string()});
  }

  fs::path folder_;
};

// Beside it a program that includes all that was installed: no header includes a missing one.
TEST_F(Install, IsFoundByAProgramOfTenLinesAndByAnotherOfEveryHeader) {
  const fs::path include = folder_ / "prefix/include";
  std::string everything = "// Every installed header.\n";
  std::size_t headers = 0;
  for (const auto& entry : fs::recursive_directory_iterator(include)) {
    if (entry.path().extension() != ".h") continue;
    everything += "#include <" + entry.path().lexically_relative(include).string() + ">\n";
    ++headers;
  }
  EXPECT_GT(headers, 20u);
  std::ofstream(folder_ / "everything.cpp") << everything << "int main() {}\n";
  build({"template_names.cpp", (folder_ / "everything.cpp").string()});
  std::set<std::string> names;  // of the built-in templates, sorted
  for (const auto& file :
       fs::recursive_directory_iterator(fs::path(DIECAST_SOURCE_DIR) / "templates")) {
    if (file.path().extension() == ".cu") names.insert(file.path().stem().string() + "\n");
  }
  EXPECT_GT(names.size(), 3u);
  EXPECT_EQ(run({(folder_ / "build/template_names").string()}),
            std::accumulate(names.begin(), names.end(), std::string()));
}

// Static objects end in the reverse order of their making: the engine's after whatever diecast made
// later, unless that never ends.
TEST_F(Install, IsUsedAsTheProcessEndsToo) {
  build({"ending.cpp"});
  const std::string shown =
      run({"env", "MALLOC_PERTURB_=165", (folder_ / "build/ending").string()});
  const std::size_t end = shown.find("ends\n");
  ASSERT_NE(end, shown.npos) << shown;
  EXPECT_EQ(shown.substr(end + 5), shown.substr(0, end));
}

// What a program may rely on, and nothing that a change of the inside would break.
TEST_F(Install, HasPublicHeadersAlone) {
  const fs::path include = folder_ / "prefix/include";
  for (const char* inside :
       {"runtime/state.h", "cache/disk_cache_state.h", "launch/cuda/code.h", "base/text.h"})
    EXPECT_FALSE(fs::exists(include / "diecast" / inside)) << inside;
  for (const auto& entry : fs::recursive_directory_iterator(include)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(tree::text_of(entry.path()).find("Not a public header"), std::string::npos)
        << entry.path();
  }
}

// Nor what the standard library makes of types of ours, such as a thread of a lambda.
TEST_F(Install, LeavesNothingOfAStaticLibraryToSeeInAnEnginesSharedOne) {
  if (run({"find", (folder_ / "prefix").string(), "-name", "libdiecast.a"}).empty())
    GTEST_SKIP() << "diecast is shared";
  if (::system("nm --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no nm";
  build({}, {"engine.cpp"});
  const std::string shown =
      run({"nm", "-D", "-C", "--defined-only", (folder_ / "build/libengine.so").string()});
  EXPECT_NE(shown.find(" T engine_quantizes\n"), shown.npos) << shown;
  for (const std::string_view line : split(shown, '\n'))
    EXPECT_EQ(line.find("diecast"), line.npos) << line;
}

// One build serves machines with and without CUDA: its libraries are opened, never linked.
TEST_F(Install, NeedsNoLibraryOfCuda) {
  std::ifstream file(folder_ / "prefix/bin/diecast", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto needed = needed_libraries(bytes);
  EXPECT_TRUE(
      std::ranges::any_of(needed, [](const auto& name) { return name.starts_with("libc."); }));
  for (const std::string& name : needed) {
    EXPECT_FALSE(name.starts_with("libcuda") || name.starts_with("libnvrtc")) << name;
  }
}

// A project that has these lines alone, and what does not need building is where it is told to be.
TEST_F(Install, IsFoundByTheLinesOfTheReadme) {
  const auto lines = snippets(tree::text_of("README.md"), "cmake");
  ASSERT_EQ(lines.size(), 1u);
  const fs::path project = folder_ / "project";
  fs::create_directory(project);
  std::ofstream(project / "CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.22)\nproject(reader LANGUAGES CXX)\n"
      << "add_executable(engine " << tree::kRoot << "/tests/tree/consumer/template_names.cpp)\n"
      << lines[0];
  const std::string built = (project / "build").string();
  run({DIECAST_CMAKE, "-S", project.string(), "-B", built,
       "-DCMAKE_CXX_COMPILER=" DIECAST_CXX_COMPILER,
       "-DCMAKE_PREFIX_PATH=" + (folder_ / "prefix").string()});
  run({DIECAST_CMAKE, "--build", built});
  EXPECT_NE(run({built + "/engine"}).find("quantize_nvfp4\n"), std::string::npos);
  for (const char* name : {"LICENSE", "cache/manifests/nvfp4.txt", "templates/README.md"})
    EXPECT_TRUE(fs::exists(folder_ / "prefix/share/diecast" / name)) << name;
}

// Builds without CMake, with the line that the README has for them.
TEST_F(Install, IsFoundByPkgConfig) {
  if (::system("pkg-config --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no pkg-config";
  const std::string page = tree::text_of("README.md"), start = "c++ -std=c++20 engine.cpp ";
  const std::size_t at = page.find(start);
  ASSERT_NE(at, page.npos);
  const std::string words = page.substr(at + start.size(), page.find('`', at) - at - start.size());
  const std::string program = (folder_ / "engine").string();
  run({"sh", "-c",
       "PKG_CONFIG_PATH=$(dirname $(find " + (folder_ / "prefix").string() +
           " -name diecast.pc)) && export PKG_CONFIG_PATH && " DIECAST_CXX_COMPILER " -std=c++20 " +
           tree::kRoot + "/tests/tree/consumer/template_names.cpp " + words + " -o " + program});
  EXPECT_NE(run({"env", "LD_LIBRARY_PATH=" + (folder_ / "prefix/lib").string(), program})
                .find("quantize_nvfp4\n"),
            std::string::npos);
}

TEST_F(Install, IsFoundByAProgramOfC) {
  if (::system("pkg-config --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no pkg-config";
  std::ofstream(folder_ / "engine.c") << "#include <diecast/c.h>\n#include <stdio.h>\n"
                                         "int main(void) { return puts(diecast_version()) < 0; }\n";
  const std::string program = (folder_ / "engine").string();
  run({"sh", "-c",
       "PKG_CONFIG_PATH=$(dirname $(find " + (folder_ / "prefix").string() +
           " -name diecast_c.pc)) && export PKG_CONFIG_PATH && " DIECAST_CXX_COMPILER " -x c " +
           program + ".c -x none $(pkg-config --cflags --libs diecast_c) -o " + program});
  EXPECT_EQ(
      run({"env", "LD_LIBRARY_PATH=" + (folder_ / "prefix/lib").string(), program}),
      cat(DIECAST_VERSION_MAJOR, ".", DIECAST_VERSION_MINOR, ".", DIECAST_VERSION_PATCH, "\n"));
}

TEST_F(Install, CompilesAndRunsTheSnippetsOfEveryPage) {
  EXPECT_EQ(snippets("a\n```cpp\nint x;\n```\nb\n```\nno\n```\n```cpp\nint y;\n```\n"),
            (std::vector<std::string>{"int x;\n", "int y;\n"}));
  std::vector<std::string> programs;
  std::vector<bool> runs;
  for (const std::string& name : tree::files()) {
    if (!name.ends_with(".md")) continue;
    for (const std::string& snippet : snippets(tree::text_of(name))) {
      const bool has_main = snippet.find("int main(") != snippet.npos;
      programs.push_back((folder_ / cat("snippet_", programs.size(), ".cpp")).string());
      runs.push_back(has_main);
      std::ofstream(programs.back()) << "// From " << name << "\n"
                                     << snippet << (has_main ? "" : "int main() {}\n");
    }
  }
  ASSERT_TRUE(std::ranges::count(runs, true) > 0) << "no page has a C++ program";
  build(programs);
  fs::current_path(folder_);
  setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  for (std::size_t i = 0; i < programs.size(); ++i)
    if (runs[i]) run({(folder_ / "build" / fs::path(programs[i]).stem()).string()});
}

}  // namespace
}  // namespace diecast
