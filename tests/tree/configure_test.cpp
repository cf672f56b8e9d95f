// What configuring says where packages are missing: all of them in one line, and what is off.
#include <gtest/gtest.h>
#include <tree/files.h>

#include <set>

#include "temporary_directory.h"

namespace diecast {
namespace {

ProcessResult configure(const std::vector<std::string>& options,
                        const testing::TemporaryDirectory& folder = {},
                        const std::string& source = tree::kRoot) {
  ProcessRequest request;
  request.arguments = {DIECAST_CMAKE,    "-S",
                       source,           "-B",
                       folder / "build", "-DCMAKE_CXX_COMPILER=" DIECAST_CXX_COMPILER};
  for (const std::string& option : options) request.arguments.push_back(option);
  request.time_limit = std::chrono::minutes(2);
  return run_process(request).value();
}

// The same where it must succeed.
ProcessResult configured(const std::vector<std::string>& options,
                         const testing::TemporaryDirectory& folder = {},
                         const std::string& source = tree::kRoot) {
  ProcessResult run = configure(options, folder, source);
  EXPECT_EQ(run.exit_code, 0) << run.output << run.errors;
  return run;
}

TEST(Configure, NamesEveryMissingPackageInOneLineAndGoesOn) {
  const auto run = configured(
      {"-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON",
       "-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON"});
  EXPECT_NE((run.output + run.errors)
                .find("diecast: some packages are missing. To build everything:\n"
                      "  apt-get install nlohmann-json3-dev libcli11-dev libboost-context-dev "
                      "libgtest-dev\n"
                      "Until then these parts are off:\n"
                      "  the diecast command, checkpoints and the C library (nlohmann-json3-dev)\n"
                      "  the diecast command (libcli11-dev)\n"
                      "  the host device: kernels on the CPU (libboost-context-dev)\n"
                      "  the tests (libgtest-dev)\n"),
            std::string::npos)
      << run.output << run.errors;
}

TEST(Configure, EndsInAnErrorWithoutXxhash) {
  const auto run = configure({"-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include"});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_NE((run.output + run.errors)
                .find("diecast needs xxHash's header; fix: apt-get install libxxhash-dev"),
            std::string::npos)
      << run.output << run.errors;
}

// CMake takes a name for a pattern. A second clone in a browser's folder is called so.
TEST(Configure, SaysThatItsFolderHasANameThatCMakeCannotTake) {
  const testing::TemporaryDirectory folder;
  const std::string clone = folder / "diecast [1]";
  std::filesystem::create_directory(clone);
  for (const char* part : {"CMakeLists.txt", "cache", "examples", "src", "templates", "tests"})
    std::filesystem::create_symlink(std::filesystem::path(tree::kRoot) / part, clone + "/" + part);
  const auto run = configure({}, folder, clone);
  EXPECT_NE(run.exit_code, 0);
  EXPECT_NE(run.errors.find(" because a name in it has one of [ ] * ? # \" ;\n"), std::string::npos)
      << run.errors;
  EXPECT_EQ(run.errors.find("is not built"), std::string::npos) << run.errors;
}

TEST(Configure, RefusesToBuildAmongTheSources) {
  const testing::TemporaryDirectory folder;
  const std::string clone = folder / "build";
  std::filesystem::create_directory(clone);
  std::filesystem::copy(std::filesystem::path(tree::kRoot) / "CMakeLists.txt", clone);
  const auto run = configure({}, folder, clone);
  EXPECT_NE(run.exit_code, 0);
  EXPECT_NE(run.errors.find(" a build inside the source folder is not supported\n"),
            std::string::npos)
      << run.errors;
}

// An installed command finds its libraries wherever the prefix is.
TEST(Configure, InstalledSharedLibrariesAreFoundBesideTheCommand) {
  const testing::TemporaryDirectory folder;
  configured({"-DBUILD_SHARED_LIBS=ON", "-DCMAKE_INSTALL_BINDIR=bin",
              "-DCMAKE_INSTALL_LIBDIR=lib/here", "-DDIECAST_BUILD_TESTS=OFF"},
             folder);
  const std::string installing = tree::text_of(folder / "build/src/cmake_install.cmake");
  for (const char* file : {"/lib/here/libdiecast_checkpoint.so", "/bin/diecast"})
    EXPECT_NE(installing.find(file), installing.npos) << file;
  EXPECT_NE(installing.find("$ORIGIN/../lib/here"), installing.npos) << installing;
}

// The libraries that it needs were found in its own folder, where the project does not see them.
TEST(Configure, IsAPartOfAnotherProject) {
  const testing::TemporaryDirectory folder;
  const std::string project = folder / "project";
  std::filesystem::create_directory(project);
  std::ofstream(project + "/CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.22)\nproject(engine LANGUAGES CXX)\n"
      << "add_subdirectory(\"" << tree::kRoot << "\" diecast)\n"
      << "add_executable(engine \"" << tree::kRoot << "/tests/tree/consumer/template_names.cpp\")\n"
      << "target_link_libraries(engine PRIVATE diecast::diecast)\n"
      << "if(TARGET test_base_unit OR TARGET example_warm)\n"
      << "  message(FATAL_ERROR \"tests and examples\")\nendif()\n";
  configured({}, folder, project);
}

// GNUInstallDirs allows it: a distribution's package of headers has a prefix of its own.
TEST(Configure, TakesFoldersOutsideThePrefix) {
  const testing::TemporaryDirectory folder;
  configured({"-DCMAKE_INSTALL_PREFIX=/out/diecast", "-DCMAKE_INSTALL_LIBDIR=/out/lib/here",
              "-DCMAKE_INSTALL_INCLUDEDIR=/dev-out/include", "-DBUILD_SHARED_LIBS=ON",
              "-DDIECAST_BUILD_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release"},
             folder);
  const std::string pkg_config = tree::text_of(folder / "build/src/Release/diecast.pc");
  for (const char* line : {"\nprefix=${pcfiledir}/../../../diecast\n",
                           "\nCflags: -I/dev-out/include\n", "\nLibs: -L/out/lib/here -ldiecast\n"})
    EXPECT_NE(pkg_config.find(line), pkg_config.npos) << line << pkg_config;
  const std::string installing = tree::text_of(folder / "build/src/cmake_install.cmake");
  EXPECT_NE(installing.find("$ORIGIN/../../lib/here"), installing.npos) << installing;
  EXPECT_NE(installing.find("cmake_path(APPEND DESTINATION \"/dev-out/include\")"), installing.npos)
      << installing;
}

TEST(Configure, TakesNoPrefixForTheTop) {
  const testing::TemporaryDirectory folder;
  configured({"-DCMAKE_INSTALL_PREFIX=", "-DDIECAST_BUILD_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release"},
             folder);
  const std::string pkg_config = tree::text_of(folder / "build/src/Release/diecast.pc");
  EXPECT_NE(pkg_config.find("\nCflags: -I${prefix}/include\n"), pkg_config.npos) << pkg_config;
}

// The library is a part of somebody's project, whose options come first: that hides its symbols,
// say, throws nothing, and computes as fast as it can.
TEST(Configure, KeepsItsLanguageAndItsSymbolsWhateverAProjectAsksFor) {
  const testing::TemporaryDirectory folder;
  configured({"-DCMAKE_CXX_FLAGS=-ffast-math -fno-exceptions", "-DBUILD_SHARED_LIBS=ON",
              "-DCMAKE_CXX_VISIBILITY_PRESET=hidden", "-DCMAKE_VISIBILITY_INLINES_HIDDEN=ON",
              "-DDIECAST_BUILD_TESTS=OFF", "-DDIECAST_BUILD_EXAMPLES=OFF"},
             folder);
  std::size_t seen = 0;
  const std::string commands = tree::text_of(folder / "build/compile_commands.json");
  for (const std::string_view line : split(commands, '\n')) {
    if (line.find("\"command\"") == line.npos) continue;
    ++seen;
    const std::size_t asked = line.find("-ffast-math -fno-exceptions ");
    ASSERT_NE(asked, line.npos) << line;
    for (const char* own : {" -fexceptions ", " -fno-fast-math ", " -ffp-contract=off "})
      EXPECT_NE(line.find(own, asked), line.npos) << own << line;
    if (line.find("src/diecast/tool/main.cpp") != line.npos) continue;  // shows nothing to anybody
    EXPECT_EQ(line.find("-fvisibility=hidden"), line.npos) << line;
    EXPECT_EQ(line.find("-fvisibility-inlines-hidden"), line.npos) << line;
  }
  EXPECT_GT(seen, 50u);
  for (const char* library : {"diecast", "diecast_checkpoint"}) {
    const std::string link = cat("build/src/CMakeFiles/", library, ".dir/link.txt");
    EXPECT_NE((tree::text_of(folder / link) + tree::text_of(folder / "build/build.ninja"))
                  .find("--version-script=" + tree::kRoot + "/src/exports.map"),
              std::string::npos)
        << library;
  }
}

// What others' templates leave in it may be of another version than the program's, which the linker
// would take for the same.
TEST(Configure, SharedLibrariesShowWhatIsDiecasts) {
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "library.cpp")
      << "namespace other { template <class T> T shared(T value) { return value; } }\n"
      << "struct Visible { virtual ~Visible() = default; };\n"
      << "namespace diecast {\n"
      << "struct Device : Visible { void launch() const; };\n"
      << "void Device::launch() const { other::shared(1); }\n"
      << "Device device; }\n";
  const std::string library = folder / "library.so";
  ProcessRequest request;
  request.arguments = {DIECAST_CXX_COMPILER,
                       "-shared",
                       "-fPIC",
                       folder / "library.cpp",
                       "-Wl,--version-script=" + tree::kRoot + "/src/exports.map",
                       "-o",
                       library};
  const auto built = run_process(request).value();
  ASSERT_EQ(built.exit_code, 0) << built.errors;
  request.arguments = {"nm", "-D", "--defined-only", "--format=posix", library};
  const auto shown = run_process(request);
  if (!shown) GTEST_SKIP() << "no nm";
  std::set<std::string_view> names;
  for (const std::string_view line : split(shown->output, '\n'))
    if (!line.empty()) names.insert(line.substr(0, line.find(' ')));
  for (const char* own : {"_ZN7diecast6deviceE", "_ZNK7diecast6Device6launchEv",
                          "_ZTIN7diecast6DeviceE", "_ZTVN7diecast6DeviceE"})
    EXPECT_EQ(names.count(own), 1u) << own << "\n" << shown->output;
  for (const std::string_view name : names)
    EXPECT_NE(name.find("7diecast"), name.npos) << name << "\n" << shown->output;
}

}  // namespace
}  // namespace diecast
