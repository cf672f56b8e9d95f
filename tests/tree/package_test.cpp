// What an installed package asks of those who use it: configured here, built and used nowhere.
#include <gtest/gtest.h>
#include <tree/files.h>

#include "temporary_directory.h"

namespace diecast {
namespace {

ProcessResult cmake(std::vector<std::string> options) {
  ProcessRequest request;
  request.arguments = std::move(options);
  request.arguments.insert(request.arguments.begin(), DIECAST_CMAKE);
  request.arguments.push_back("-DCMAKE_CXX_COMPILER=" DIECAST_CXX_COMPILER);
  request.directory = tree::kRoot;
  request.time_limit = std::chrono::minutes(2);
  return run_process(request).value();
}

class Package : public ::testing::Test {
 protected:
  // diecast's package as it is configured, with these targets in place of what would be built.
  void configure(const std::string& shared, const std::string& targets) {
    const auto run = cmake({"-S", tree::kRoot, "-B", build_, "-DBUILD_SHARED_LIBS=" + shared,
                            "-DCMAKE_BUILD_TYPE=Release", "-DDIECAST_BUILD_TOOL=OFF",
                            "-DDIECAST_BUILD_TESTS=OFF", "-DDIECAST_BUILD_EXAMPLES=OFF"});
    ASSERT_EQ(run.exit_code, 0) << run.output << run.errors;
    std::ofstream(build_ + "/src/diecastTargets.cmake") << targets;
  }
  // "", or what find_package said.
  std::string found(const std::string& words, const std::vector<std::string>& options = {},
                    const std::string& language = "CXX") {
    const std::string user = folder_ / ("user_of_" + language);
    std::filesystem::create_directories(user);
    std::ofstream(user + "/CMakeLists.txt")
        << "cmake_minimum_required(VERSION 3.22)\nproject(user LANGUAGES " << language << ")\n"
        << "find_package(diecast " << words << ")\n";
    std::vector<std::string> all = {"-S", user, "-B", user + "/build",
                                    "-Ddiecast_DIR=" + build_ + "/src"};
    all.insert(all.end(), options.begin(), options.end());
    const auto run = cmake(all);
    return run.exit_code == 0 ? "" : run.errors;
  }
  std::string pkg_config() { return tree::text_of(build_ + "/src/Release/diecast.pc"); }

  const testing::TemporaryDirectory folder_;
  const std::string build_ = folder_ / "build";
};

constexpr const char* kLibrary = "add_library(diecast::diecast INTERFACE IMPORTED)\n";
constexpr const char* kCheckpoint = "add_library(diecast::checkpoint INTERFACE IMPORTED)\n";
constexpr const char* kC = "add_library(diecast::c INTERFACE IMPORTED)\n";

TEST_F(Package, HasTheComponentThatWasBuilt) {
  configure("OFF", std::string(kLibrary) + kCheckpoint);
  EXPECT_EQ(found("0.1 REQUIRED"), "");
  EXPECT_EQ(found("0.1 REQUIRED COMPONENTS checkpoint"), "");
  EXPECT_NE(found("REQUIRED COMPONENTS nothing")
                .find("this diecast has no component nothing; there are checkpoint and c"),
            std::string::npos);
}

TEST_F(Package, SaysWhyThereIsNoComponent) {
  configure("OFF", kLibrary);
  EXPECT_EQ(found("REQUIRED"), "");
  EXPECT_EQ(found("COMPONENTS checkpoint"), "");  // not required
  EXPECT_NE(found("REQUIRED COMPONENTS checkpoint").find("nlohmann-json3-dev"), std::string::npos);
}

// A shared library has what it needs; a static one's needs are looked for where it is linked.
TEST_F(Package, AsksForTheHostDevicesLibraryOnlyWhereItIsStatic) {
#if !defined(DIECAST_HAS_HOST_DEVICE)
  GTEST_SKIP() << "no Boost.Context";
#endif
  const std::vector<std::string> without = {"-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON"};
  configure("ON", kLibrary);
  EXPECT_EQ(found("REQUIRED", without), "");
  EXPECT_NE(pkg_config().find(" -ldiecast\n"), std::string::npos) << pkg_config();
  configure("OFF", kLibrary);
  EXPECT_NE(found("REQUIRED", without), "");
  EXPECT_NE(pkg_config().find(" -lboost_context\n"), std::string::npos) << pkg_config();
  EXPECT_EQ(pkg_config().find("libboost"), std::string::npos) << pkg_config();
}

// Boost's package cannot be found in a project of C, and nobody who links the C interface needs it.
TEST_F(Package, AsksForNothingWhereTheCInterfaceIsLinked) {
  const std::vector<std::string> without = {"-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON",
                                            "-DCMAKE_DISABLE_FIND_PACKAGE_Threads=ON"};
  configure("OFF", std::string(kLibrary) + kC);
  EXPECT_EQ(found("REQUIRED COMPONENTS c", without), "");
  EXPECT_EQ(found("REQUIRED", without, "C"), "");
  EXPECT_NE(found("REQUIRED", without), "");
}

}  // namespace
}  // namespace diecast
