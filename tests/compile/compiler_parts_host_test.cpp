// Who compiles for the host: every program and library that does the work is in the identity, by
// what it is and not by where or since when.
#include <diecast/base/needed_libraries.h>
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/compile/compiler_parts.h>
#include <diecast/compile/host_cxx.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "environment_variable.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::TemporaryDirectory;

void write_program(const std::string& path, const std::string& lines) {
  testing::write_text(path, "#!/bin/sh\n" + lines + "\n");
  EXPECT_EQ(::chmod(path.c_str(), 0700), 0);
}

// A g++ that takes each of its parts from its own folder, where it is a script.
std::string own_parts(const TemporaryDirectory& folder) {
  for (const std::string part : {"cc1plus", "as", "ld", "collect2"}) {
    ProcessRequest request;
    request.arguments = {"g++", "-print-prog-name=" + part};
    write_program(folder / part,
                  cat("exec ", trim(run_process(request).value().output), " \"$@\""));
  }
  write_program(folder / "c++", "exec g++ -B\"$(dirname \"$0\")/\" \"$@\"");
  return folder / "c++";
}

std::string identity(const std::string& program, const std::string& id = "") {
  const auto opened = open_host_cxx({program, "", id});
  return opened ? (*opened)->identity() : opened.error().message();
}

TEST(CompilerParts, AnotherPartIsAnotherCompiler) {
  if (find_program("g++").empty()) GTEST_SKIP() << "no g++ on this machine";
  const TemporaryDirectory folder;
  const std::string program = own_parts(folder);
  std::set<std::string> identities = {identity(program), identity("g++")};
  EXPECT_EQ(identities.size(), 2u);
  for (const std::string part : {"cc1plus", "as", "ld", "collect2", "c++"}) {
    const std::string text = testing::text_of(folder / part);
    testing::write_text(folder / part, text + "# another build of it\n");
    EXPECT_TRUE(identities.insert(identity(program)).second) << part;
    testing::write_text(folder / part, text);
    EXPECT_EQ(identity(program), *identities.find(identity(program))) << part;
  }
}

TEST(CompilerParts, TheSamePartsAreTheSameCompilerWhereverAndSinceWhenever) {
  if (find_program("g++").empty()) GTEST_SKIP() << "no g++ on this machine";
  const TemporaryDirectory folder, other;
  const std::string first = identity(own_parts(folder));
  EXPECT_EQ(identity(own_parts(other)), first);
  const timespec times[2] = {{1000, 0}, {1000, 0}};
  EXPECT_EQ(::utimensat(AT_FDCWD, (folder / "cc1plus").c_str(), times, 0), 0);
  EXPECT_EQ(identity(folder / "c++"), first);
}

TEST(CompilerParts, AUsersOwnWordIsPartOfIt) {
  const std::string plain = identity("c++");
  const std::set<std::string> all = {plain, identity("c++", "a"), identity("c++", "b")};
  EXPECT_EQ(all.size(), 3u);
  const testing::Variable word("DIECAST_CXX_ID", "a"), program("DIECAST_CXX", "c++");
  HostCxxOptions options = HostCxxOptions::from_environment();
  options.sanitizer.clear();
  EXPECT_EQ(open_host_cxx(options).value()->identity(), identity("c++", "a"));
}

// What a clang's driver is linked to does its work.
TEST(CompilerParts, AnotherLibraryIsAnotherCompiler) {
  const std::string clang = find_program("clang++");
  if (clang.empty()) GTEST_SKIP() << "no clang++ on this machine";
  std::string library;
  for (const NeededLibrary& needed : needed_libraries(clang))
    if (needed.name.starts_with("libLLVM")) library = needed.name;
  if (library.empty()) GTEST_SKIP() << "this clang++ has its libraries inside";
  const Record before = compiler_parts(clang, {});
  const TemporaryDirectory folder;
  testing::write_text(folder / library, "another");
  const testing::Variable path("LD_LIBRARY_PATH", folder.path());
  EXPECT_NE(compiler_parts(clang, {}).digest(), before.digest());
}

TEST(CompilerParts, AreThoseThatADryRunNames) {
  const DryRun gcc = read_dry_run(
      "COLLECT_GCC=/usr/bin/g++\nTarget: x86_64-linux-gnu\n /lib/cc1plus -quiet \"-O2\"\n"
      " as --64 -o a.o\nCOMPILER_PATH=/lib/:/lib/gcc/\n"
      " /lib/collect2 -plugin /lib/lto.so --eh-frame-hdr\n");
  EXPECT_EQ(gcc.target, "x86_64-linux-gnu");
  EXPECT_EQ(gcc.folders, (std::vector<std::string>{"/lib/", "/lib/gcc/"}));
  EXPECT_EQ(gcc.programs, (std::vector<std::string>{"/usr/bin/g++", "/lib/cc1plus", "as",
                                                    "/lib/collect2", "ld", "/lib/lto.so"}));
  const DryRun clang = read_dry_run(
      "clang version 14\nTarget: x86_64-pc-linux-gnu\nInstalledDir: /usr/bin\n (in-process)\n"
      " \"/lib/my clang\" \"-cc1\" \"-triple\"\n \"/usr/bin/ld\" \"-o\"\n");
  EXPECT_EQ(clang.programs, (std::vector<std::string>{"/lib/my clang", "/usr/bin/ld"}));
  EXPECT_EQ(read_dry_run("no compiler").target, "");
}

TEST(CompilerParts, OfAnyFileHaveAMark) {
  const TemporaryDirectory folder;
  EXPECT_EQ(mark_of_file(folder / "none"), "unreadable");
  testing::write_text(folder / "script", "a");
  const std::string mark = mark_of_file(folder / "script");
  EXPECT_TRUE(mark.starts_with("content ")) << mark;
  testing::write_text(folder / "script", "b");
  EXPECT_NE(mark_of_file(folder / "script"), mark);
  EXPECT_TRUE(mark_of_file(DIECAST_FAKE_DIR "/libfake_nvrtc.so").starts_with("build id "));
  for (const std::string& cut :
       {std::string(), std::string("\177ELF"), std::string(200, '\xff').insert(0, "\177ELF")}) {
    testing::write_text(folder / "cut", cut);
    EXPECT_TRUE(needed_libraries(folder / "cut").empty());
  }
}

}  // namespace
}  // namespace diecast
