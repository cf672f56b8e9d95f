// What the scripts install: as root, or through sudo once the user has agreed, by -y or at a
// terminal; else nothing, and the command is named. Stand-ins note what would have run.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <tree/files.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "child_process.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

constexpr const char* kInstall = "apt-get install -y --no-install-recommends libxxhash-dev";

class Setup : public ::testing::Test {
 protected:
  Setup() {
    stand_in("id", "echo $USER_NUMBER");
    stand_in("sudo", "echo sudo \"$@\" >>\"$DONE\"");
    stand_in("apt-get", "echo apt-get \"$@\" >>\"$DONE\"");
  }
  void stand_in(const std::string& name, const std::string& line) {
    std::ofstream(folder_ / name) << "#!/bin/sh\n" << line << "\n";
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }
  // install_packages for a user of this number; `yes` as the scripts' -y sets it.
  ProcessRequest request(const std::string& user, const std::string& yes) {
    const std::string words =
        "yes=" + yes + "; . '" + tree::kRoot + "/tests/setup.sh'; install_packages libxxhash-dev";
    ProcessRequest out;
    out.arguments = {"/usr/bin/env",
                     "PATH=" + folder_.path() + ":/usr/bin:/bin",
                     "USER_NUMBER=" + user,
                     "DONE=" + (folder_ / "done"),
                     "bash",
                     "-c",
                     words};
    return out;
  }
  std::string done() {
    std::ifstream in(folder_ / "done");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // The same at a terminal, where the question is answered so.
  std::string answered(const std::string& answer) {
    const int ours = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours < 0 || ::grantpt(ours) != 0 || ::unlockpt(ours) != 0) return "";
    const int theirs = ::open(::ptsname(ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
    std::vector<std::string> arguments = request("1000", "no").arguments;
    std::vector<char*> words;
    for (std::string& word : arguments) words.push_back(word.data());
    words.push_back(nullptr);
    const pid_t child = testing::start_child([&] {
      for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(theirs, fd);
      return ::execv(words[0], words.data());
    });
    ::close(theirs);
    EXPECT_EQ(::write(ours, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    std::string shown;
    char buffer[4096];
    for (ssize_t got; (got = ::read(ours, buffer, sizeof buffer)) > 0;)
      shown.append(buffer, static_cast<std::size_t>(got));
    ::close(ours);
    testing::wait_for_child(child);
    return shown;
  }

  const testing::TemporaryDirectory folder_;
};

TEST_F(Setup, RootInstalls) {
  EXPECT_EQ(run_process(request("0", "no")).value().exit_code, 0);
  EXPECT_EQ(done(), std::string("apt-get update -qq\n") + kInstall + " -qq\n");
}

TEST_F(Setup, WithoutATerminalNothingIsInstalledAndTheCommandIsNamed) {
  const auto run = run_process(request("1000", "no")).value();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.output,
            std::string("some packages are missing; to have everything: sudo ") + kInstall + "\n");
  EXPECT_EQ(done(), "");
}

TEST_F(Setup, YesAgreesToSudo) {
  EXPECT_EQ(run_process(request("1000", "yes")).value().exit_code, 0);
  const std::string by_sudo = "sudo env DEBIAN_FRONTEND=noninteractive ";
  EXPECT_EQ(done(), by_sudo + "apt-get update -qq\n" + by_sudo + kInstall + " -qq\n");
}

TEST_F(Setup, AtATerminalItAsksBeforeSudo) {
  const std::string question = std::string("Run `sudo ") + kInstall + "`? [y/N] ";
  for (const char* no : {"n\n", "\n", "what\n"}) {
    const std::string shown = answered(no);
    EXPECT_NE(shown.find(question), std::string::npos) << shown;
    EXPECT_NE(shown.find("to have everything: sudo "), std::string::npos) << shown;
    EXPECT_EQ(done(), "") << no;
  }
  EXPECT_NE(answered("y\n").find(question), std::string::npos);
  EXPECT_NE(done().find(std::string("sudo env DEBIAN_FRONTEND=noninteractive ") + kInstall),
            std::string::npos)
      << done();
}

TEST(Scripts, SayWhatTheyAreForAndWhatTheyTake) {
  for (const auto& [script, says] : {std::pair("tests/run.sh", "tests/run.sh [-y] all   "),
                                     std::pair("examples/quickstart.sh", "MODEL=/path/")}) {
    ProcessRequest request;
    request.arguments = {"/usr/bin/env", "bash", tree::kRoot + "/" + script, "--help"};
    request.directory = tree::kRoot;
    const auto help = run_process(request).value();
    EXPECT_EQ(help.exit_code, 0) << script;
    EXPECT_NE(help.output.find(says), std::string::npos) << help.output;
    EXPECT_EQ(help.errors, "") << script;
    request.arguments.back() = "--hlep";
    EXPECT_EQ(run_process(request).value().exit_code, 2) << script;
  }
}

// What the quickstart ends in where there is no GPU: of a run that has the ops' speeds.
TEST(Scripts, FindARecordedGpuRunOfAllThatTheQuickstartShows) {
  ProcessRequest request;
  request.arguments = {"/usr/bin/env", "bash", "-c",
                       ". '" + tree::kRoot + "/tests/setup.sh'; last_gpu_run"};
  const auto run = run_process(request).value();
  ASSERT_TRUE(run.output.starts_with("tests/gpu-results/")) << run.output << run.errors;
  const std::string record = tree::text_of(run.output.substr(0, run.output.size() - 1));
  EXPECT_TRUE(record.starts_with("date ")) << run.output;
  EXPECT_NE(record.find("\ncheck "), record.npos) << run.output;
  EXPECT_NE(record.find("\nquantize_nvfp4 bf16, amax given, "), record.npos) << run.output;
  EXPECT_NE(record.find("  % of copy "), record.npos) << run.output;
}

}  // namespace
}  // namespace diecast
