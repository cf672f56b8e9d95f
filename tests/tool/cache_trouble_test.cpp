// What the cache's subcommands say where something is wrong with the cache: roots that are left
// out, disks that take nothing, entries that are damaged; and that no exit code hides it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::text_of;
using testing::ToolRun;
using testing::tree;

class CacheTrouble : public ::testing::Test {
 protected:
  static constexpr char kLine[] = "amax IN=bf16 @ sm_90a\n";

  std::string manifest(const std::string& text = kLine) {
    testing::write_text(diecast_.folder / "manifest.txt", text);
    return diecast_.folder / "manifest.txt";
  }
  std::string warmed() {
    EXPECT_EQ(diecast_({"warm", manifest()}).exit_code, 0);
    return diecast_.cache_path();
  }
  std::string entry() const {
    for (const std::string& name : tree(diecast_.cache_path())) {
      if (name.ends_with(".dce")) return diecast_.cache_path() + "/" + name;
    }
    return "";
  }
  static void expect_has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\n  lacks: " << part;
  }
  ToolRun diecast_;
};

TEST_F(CacheTrouble, ARootThatIsLeftOutShowsInPathStatsVerifyAndDoctor) {
  const std::string root = warmed();
  diecast_.set("DIECAST_CACHE", "bundle:/nonexistent/k.dcb,rw:" + root);
  const auto path = diecast_({"cache", "path"});
  EXPECT_EQ(path.exit_code, 1);
  EXPECT_EQ(path.output, root + "\n");
  expect_has(path.errors, "/nonexistent/k.dcb");
  const auto stats = nlohmann::json::parse(diecast_({"cache", "stats", "--json"}).output);
  EXPECT_EQ(stats.at("left_out").at(0).at("root"), "/nonexistent/k.dcb");
  const auto verified = diecast_({"cache", "verify"});
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_EQ(verified.output, "1 good, 0 damaged\n1 roots left out\n");
  const std::string doctor = diecast_({"doctor"}).output;
  expect_has(doctor, "--   bundle:/nonexistent/k.dcb cannot open ");
  expect_has(doctor, "yes  keep what was built\n");
}

TEST_F(CacheTrouble, DoctorKeepsNothingWhereNoRootMayBeWritten) {
  const std::string root = warmed();
  diecast_.set("DIECAST_CACHE", "ro:" + root);
  const std::string shipped = diecast_({"doctor"}).output;
  expect_has(shipped, "ok   cache         ro:" + root + "\n");
  expect_has(shipped, "--   keeping       no cache root may be written: ro:" + root);
  expect_has(shipped, "fix: add rw:DIRECTORY, of your own, to DIECAST_CACHE\n");
  expect_has(shipped, "no   keep what was built\n");
  diecast_.set("DIECAST_CACHE", root);
  diecast_.set("DIECAST_CACHE_POLICY", "read-only");
  expect_has(diecast_({"doctor"}).output, "the cache policy is read-only");
  EXPECT_EQ(diecast_({"cache", "clear"}).exit_code, 1);
}

// On a disk that takes no files of more than a kilobyte.
TEST_F(CacheTrouble, CompileSaysThatItsKernelIsNotKept) {
  ProcessRequest request;
  request.arguments = {"/bin/bash",  "-c",      "ulimit -f 1; exec \"$0\" \"$@\"",
                       DIECAST_TOOL, "compile", "amax IN=bf16 @ sm_90a"};
  request.environment = diecast_.environment();
  const auto run = run_process(request).value();
  EXPECT_EQ(run.exit_code, 0);
  expect_has(run.output, "compiled  amax ");
  expect_has(run.errors, "diecast: cache: not kept: cannot write 1 kernel to \"" +
                             diecast_.cache_path() + "\": File too large (errno 27)\n  fix: ");
  diecast_.set("DIECAST_CACHE_POLICY", "read-only");  // nobody asked for it to be kept
  EXPECT_EQ(diecast_({"compile", "amax IN=bf16 @ sm_90a"}).errors, "");
  diecast_.set("DIECAST_CACHE_POLICY", "auto");
  EXPECT_EQ(diecast_({"compile", "amax IN=bf16 @ sm_90a"}).errors, "");
}

TEST_F(CacheTrouble, AnErrorOfARootThatIsOffHasOneFix) {
  const std::string root = diecast_.folder / "shared";
  ASSERT_EQ(::chmod(diecast_.folder.path().c_str(), 0755), 0);  // others get here
  ASSERT_EQ(::mkdir(root.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(root.c_str(), 0777), 0);
  diecast_.set("DIECAST_CACHE", root);
  const std::string errors = diecast_({"cache", "ls"}).errors;
  const std::string error = errors.substr(errors.find("diecast: unsafe_directory: there is no"));
  expect_has(error,
             "there is no cache: the cache root \"" + root + "\" can be written by everybody");
  EXPECT_EQ(error.find("fix: "), error.rfind("fix: ")) << error;
  expect_has(error, "fix: chmod 700 " + root);
}

TEST_F(CacheTrouble, ExplainSaysThatTheEntryItselfIsDamaged) {
  (void)warmed();
  testing::write_text(entry(), "no entry");
  const auto run = diecast_({"cache", "explain", "amax IN=bf16 @ sm_90a"});
  EXPECT_EQ(run.exit_code, 1);
  expect_has(run.output, "its own entry is no good: too_short, in " + diecast_.cache_path());
}

TEST_F(CacheTrouble, VerifyThatCanRebuildNothingFails) {
  (void)warmed();
  diecast_.set("DIECAST_NVRTC", "/nonexistent/libnvrtc.so.13");
  EXPECT_EQ(diecast_({"cache", "verify"}).exit_code, 0);
  const auto run = diecast_({"cache", "verify", "--rebuild"});
  EXPECT_EQ(run.exit_code, 1);
  expect_has(run.errors, "compiler_unavailable: none of the 1 entries could be compiled again");
}

TEST_F(CacheTrouble, AnEmptyExportIsAnErrorAndADamagedEntryShows) {
  const std::string bundle = diecast_.folder / "k.dcb";
  const auto empty = diecast_({"bundle", "export", "-o", bundle});
  EXPECT_EQ(empty.exit_code, 1);
  expect_has(empty.errors, "not_cached: nothing to export: " + diecast_.cache_path());
  EXPECT_NE(::access(bundle.c_str(), F_OK), 0);
  ASSERT_EQ(diecast_({"warm", manifest("amax IN=bf16,f16 @ sm_90a\n")}).exit_code, 0);
  testing::write_text(entry(), "no entry");
  const auto part = diecast_({"bundle", "export", "-o", bundle});
  EXPECT_EQ(part.exit_code, 1);
  expect_has(part.output, ".dce: too_short\n");
  expect_has(part.output, ": 1 kernel, ");
}

TEST_F(CacheTrouble, ABundleCanBeOpenedWhateverTheUmaskWas) {
  (void)warmed();
  const std::string bundle = diecast_.folder / "k.dcb";
  const mode_t before = ::umask(0);
  const auto made = diecast_({"bundle", "export", "-o", bundle});
  ::umask(before);
  EXPECT_EQ(made.exit_code, 0) << made.errors;
  EXPECT_EQ(testing::mode_of(bundle) & 07777, 0644u);
  EXPECT_EQ(diecast_({"bundle", "verify", bundle}).exit_code, 0);
}

// A disk that takes no files of more than a kilobyte.
TEST_F(CacheTrouble, AnImportSaysWhyTheDiskTookNothing) {
  (void)warmed();
  const std::string bundle = diecast_.folder / "k.dcb";
  ASSERT_EQ(diecast_({"bundle", "export", "-o", bundle}).exit_code, 0);
  ToolRun other;
  ProcessRequest request;
  request.arguments = {"/bin/bash",  "-c",     "ulimit -f 1; exec \"$0\" \"$@\"",
                       DIECAST_TOOL, "bundle", "import",
                       bundle};
  request.environment = other.environment();
  const auto run = run_process(request).value();
  EXPECT_EQ(run.exit_code, 1);
  expect_has(run.output, "0 imported, 0 already there, 0 damaged, 1 not written");
  expect_has(run.errors, "diecast: io_error: cannot write 1 kernel to \"" + other.cache_path() +
                             "\": File too large");
}

TEST_F(CacheTrouble, WarmTellsProgramsWhatFailed) {
  diecast_.set("DIECAST_FAKE_NVRTC_FAIL", "nvrtcCompileProgram=6");
  const auto run = diecast_({"warm", manifest(), "--json"});
  EXPECT_EQ(run.exit_code, 1);
  const auto failed = nlohmann::json::parse(run.output).at("failed").at(0);
  EXPECT_TRUE(failed.at("specialization").get<std::string>().starts_with("amax COLS=0 "));
  EXPECT_EQ(failed.at("code"), "compile_failed");
}

TEST_F(CacheTrouble, ALimitThatTheCompilerDoesNotStartInIsNamed) {
#ifdef DIECAST_SANITIZER
  GTEST_SKIP() << "a sanitizer takes terabytes of address space, so that it cannot be limited";
#endif
  diecast_.set("DIECAST_FAKE_NVRTC_START_BYTES", std::to_string(1u << 30));
  const auto run = diecast_({"warm", manifest(), "--memory-limit", "512M"});
  EXPECT_EQ(run.exit_code, 1);
  expect_has(run.errors, "process_failed: the compiler does not start within its limits: ");
  expect_has(run.errors, "(--memory-limit");
}

TEST_F(CacheTrouble, DoctorTriesWhetherTheRootTakesAFile) {
  (void)warmed();
  for (const char* const kib : {"1", "100"}) {  // nothing fits, and not what most kernels are
    ProcessRequest request;
    request.arguments = {"/bin/bash", "-c", "ulimit -f \"$1\"; exec \"$0\" doctor", DIECAST_TOOL,
                         kib};
    request.environment = diecast_.environment();
    const std::string output = run_process(request).value().output;
    expect_has(output, "--   keeping       cannot write to \"" + diecast_.cache_path() +
                           "\": File too large (errno 27)\n");
    expect_has(output, "no   keep what was built\n");
  }
}

TEST_F(CacheTrouble, DoctorFailsUnderASettingThatMakesNoSense) {
  EXPECT_EQ(diecast_({"doctor"}).exit_code, 0);
  diecast_.set("DIECAST_CACHE_POLICY", "never");
  EXPECT_EQ(diecast_({"doctor"}).exit_code, 1);
}

TEST_F(CacheTrouble, WarmFailsWhereSomethingElseHasAnEntrysName) {
  (void)warmed();
  const std::string name = entry();
  ASSERT_EQ(::unlink(name.c_str()), 0);
  ASSERT_EQ(::symlink("/nowhere", name.c_str()), 0);
  const auto run = diecast_({"warm", manifest()});
  EXPECT_EQ(run.exit_code, 1);
  expect_has(run.errors, "io_error: 1 kernel could not be kept in " + diecast_.cache_path());
  ASSERT_EQ(::unlink(name.c_str()), 0);
  EXPECT_EQ(diecast_({"warm", manifest()}).exit_code, 0);
  ASSERT_EQ(::chmod(name.c_str(), 0664), 0);  // as a copy makes it: mended
  EXPECT_EQ(diecast_({"warm", manifest()}).exit_code, 0);
  EXPECT_EQ(diecast_({"warm", manifest(), "--expect-no-new"}).exit_code, 0);
}

// A folder in the root that others may write: every command says so, and other kernels are kept.
TEST_F(CacheTrouble, AFolderThatOthersMayWriteIsSaidWhereverOneLooks) {
  (void)warmed();
  const std::string folder = entry().substr(0, entry().rfind('/'));
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  const auto verified = diecast_({"cache", "verify"});
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_EQ(verified.output, "damaged: " + entry() + ": not_private\n0 good, 1 damaged\n");
  expect_has(diecast_({"cache", "explain", "amax IN=bf16 @ sm_90a"}).output,
             "its own entry is no good: not_private, in " + diecast_.cache_path());
  expect_has(diecast_({"cache", "stats"}).output, "not an entry: not_private");
  const auto run = diecast_({"warm", manifest("amax IN=bf16,f16,f32 @ sm_90a\n")});
  EXPECT_EQ(run.exit_code, 1);
  expect_has(run.output, "3 compiled, 0 found, 0 failed, 0 not buildable here; 2 published");
  expect_has(run.errors, "diecast: unsafe_directory: 1 kernel could not be kept in " +
                             diecast_.cache_path() + ": their folders in it are links or files, ");
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  EXPECT_EQ(diecast_({"cache", "verify"}).output, "3 good, 0 damaged\n");
}

// What stands in the root already is looked at: damage is mended, what is no file is told.
TEST_F(CacheTrouble, AnImportMendsWhatIsDamaged) {
  (void)warmed();
  const std::string bundle = diecast_.folder / "k.dcb", name = entry();
  ASSERT_EQ(diecast_({"bundle", "export", "-o", bundle}).exit_code, 0);
  testing::write_text(name, "no entry");
  expect_has(diecast_({"bundle", "import", bundle}).output, ": 1 imported, 0 already there, ");
  EXPECT_EQ(diecast_({"cache", "verify"}).output, "1 good, 0 damaged\n");
  expect_has(diecast_({"bundle", "import", bundle}).output, ": 0 imported, 1 already there, ");
  ASSERT_EQ(::unlink(name.c_str()), 0);
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  const auto run = diecast_({"bundle", "import", bundle});
  EXPECT_EQ(run.exit_code, 1);
  expect_has(run.output, ": 0 imported, 0 already there, 0 damaged, 1 not written");
  expect_has(run.errors, "`diecast cache verify` names the files: remove them");
}

TEST_F(CacheTrouble, ExplainNamesTheRootThatHasIt) {
  const std::string root = warmed(), mine = diecast_.folder / "mine";
  diecast_.set("DIECAST_CACHE", "rw:" + mine + ",ro:" + root);
  const auto run = diecast_({"cache", "explain", "amax IN=bf16 @ sm_90a"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(run.output.ends_with(" in ro:" + root + "\n")) << run.output;
}

TEST_F(CacheTrouble, ExpectNoNewMakesNoRoot) {
  const std::string root = diecast_.folder / "typo";
  diecast_.set("DIECAST_CACHE", root);
  EXPECT_EQ(diecast_({"warm", manifest(), "--expect-no-new"}).exit_code, 1);
  EXPECT_NE(::access(root.c_str(), F_OK), 0);
}

TEST_F(CacheTrouble, WarmNamesWhatFailed) {
  diecast_.set("DIECAST_FAKE_NVRTC_FAIL", "nvrtcCompileProgram=6");
  const auto run = diecast_({"warm", manifest("amax COLS=0,16 IN=bf16 @ sm_90a\n")});
  expect_has(run.output, "failed: amax COLS=0 ");
  expect_has(run.output, "failed: amax COLS=16 ");
}

TEST_F(CacheTrouble, ATraceThatCannotBeWrittenIsSaid) {
  diecast_.set("DIECAST_TRACE", "/dev/full");
  const auto run = diecast_({"warm", manifest()});
  EXPECT_EQ(run.exit_code, 0);
  expect_has(run.errors, "diecast: cache: the trace lacks lines: diecast: io_error: ");
  EXPECT_EQ(run.errors.find("the trace lacks"), run.errors.rfind("the trace lacks"));
}

TEST_F(CacheTrouble, ASizeIsNotNegative) {
  EXPECT_EQ(diecast_({"cache", "prune", "--max-bytes=-1"}).exit_code, 2);
}

TEST_F(CacheTrouble, ABundleIsNotBegunWhereItCannotBeWritten) {
  const auto run = diecast_({"bundle", "create", manifest(), "-o", "/nonexistent/k.dcb"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(diecast_.nvrtc.compiles().size(), 0u);
}

}  // namespace
}  // namespace diecast
