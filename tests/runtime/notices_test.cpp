// What a program hears of its cache without a sink: notices, DIECAST_LOG, and that no root stops
// it.
#include <diecast/base/text.h>
#include <diecast/runtime/event_log.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>

#include "child_process.h"
#include "environment_variable.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;
using testing::kAmax;
using testing::TemporaryDirectory;
using testing::Variable;

// A machine whose runtimes have the default root, below this home.
struct AtHome {
  explicit AtHome(const std::string& path) : home("HOME", path), cache("XDG_CACHE_HOME", "") {}
  std::shared_ptr<Runtime> runtime() {
    RuntimeOptions options = machine.options();
    options.cache.clear();
    options.on_event = nullptr;
    return Runtime::create(options).value();
  }
  FakeMachine machine;
  Variable home, cache;
};

void resolve_amax(Runtime& runtime) {
  EXPECT_TRUE(runtime.resolve(runtime.specialize(kAmax).value()));
  runtime.flush();
}

TEST(DefaultRootOfARuntime, IsAPathWhateverItsNameSaysAsASetting) {
  const TemporaryDirectory folder;
  for (const std::string name : {"a,b", "rw:c", "off", "bundle:k.dcb#sha256=1", " blank "}) {
    AtHome at(folder / name);
    ASSERT_EQ(::mkdir((folder / name).c_str(), 0700), 0);
    const auto runtime = at.runtime();
    resolve_amax(*runtime);
    EXPECT_EQ(runtime->cache_state(), (folder / name) + "/.cache/diecast");
    EXPECT_TRUE(std::filesystem::exists((folder / name) + "/.cache/diecast/v1")) << name;
    EXPECT_TRUE(runtime->notices().empty()) << name;
  }
}

TEST(DefaultRootOfARuntime, ThatCannotBeUsedStopsNoProgram) {
  const TemporaryDirectory folder;
  testing::write_text(folder / "file", "");
  ASSERT_EQ(::mkdir((folder / "open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((folder / "open").c_str(), 0777), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  for (const std::string& home : {folder / "file", folder / "open", folder / "none/there",
                                  std::string("relative"), std::string(5000, 'x')}) {
    AtHome at(home);
    const auto runtime = at.runtime();
    resolve_amax(*runtime);
    EXPECT_EQ(runtime->cache(), nullptr) << home;
    ASSERT_EQ(runtime->notices().size(), 1u) << home;
    EXPECT_EQ(runtime->notices()[0].kind, RuntimeEvent::Kind::degraded);
  }
}

TEST(DefaultRootOfARuntime, IsUsedUnderAUmaskOf002) {
  const TemporaryDirectory folder;  // 0700, as a home
  const mode_t before = ::umask(002);
  std::filesystem::create_directory(folder / ".cache");
  AtHome at(folder.path());
  const auto runtime = at.runtime();
  resolve_amax(*runtime);
  ::umask(before);
  EXPECT_EQ(testing::mode_of(folder / ".cache") & 0777, 0775u);
  EXPECT_EQ(runtime->counters().published, 1u);
  EXPECT_TRUE(runtime->notices().empty());
}

TEST(Notices, HaveTheReasonAndItsFixWithoutASink) {
  const TemporaryDirectory folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0775), 0);
  AtHome at(folder.path());
  const auto runtime = at.runtime();
  resolve_amax(*runtime);
  ASSERT_EQ(runtime->notices().size(), 1u);
  const std::string text = event_text(runtime->notices()[0]);
  EXPECT_EQ(text.find("degraded: left out: rw:" + folder.path() + "/.cache/diecast: the directory"),
            0u)
      << text;
  EXPECT_NE(text.find("; fix: chmod go-w " + folder.path()), text.npos) << text;
}

TEST(Notices, AreKernelsThatCameLateAndNoMoreThanSoMany) {
  FakeMachine machine;
  RuntimeOptions options = machine.options();
  options.on_event = nullptr;
  const auto runtime = Runtime::create(options).value();
  runtime->freeze(Late::warn);
  for (int cols = 0; cols < 70; ++cols)
    EXPECT_TRUE(runtime->resolve(
        runtime->specialize(cat("amax IN=bf16 COLS=", 16 * cols, " @ sm_90a")).value()));
  EXPECT_EQ(runtime->counters().late, 70u);
  ASSERT_EQ(runtime->notices().size(), 64u);
  EXPECT_EQ(event_text(runtime->notices()[0]),
            cat("late: ", runtime->specialize("amax IN=bf16 COLS=0 @ sm_90a").value().spelling(),
                ": not resolved"));
}

// What a child with this setting writes to its standard error.
std::string errors_under(const std::string& log) {
  const TemporaryDirectory folder;
  const std::string errors = folder / "errors";
  const int outcome = testing::in_child([&] {
    if (std::freopen(errors.c_str(), "w", stderr) == nullptr) return 2;
    FakeMachine machine;
    RuntimeOptions options = machine.options();
    options.cache = "ro:/nonexistent/root";
    options.on_event = nullptr;
    options.log = log;
    const auto runtime = Runtime::create(options);
    if (!runtime) return 3;
    return (*runtime)->resolve((*runtime)->specialize(kAmax).value()) ? 0 : 4;
  });
  EXPECT_EQ(outcome, 0);
  return testing::text_of(errors);
}

TEST(EventLog, PrintsWhatItIsAskedFor) {
  EXPECT_EQ(errors_under(""), "");
  EXPECT_EQ(errors_under("off"), "");
  const std::string warned = errors_under("warn"), all = errors_under("info");
  EXPECT_EQ(warned.find("diecast: degraded: left out: ro:/nonexistent/root: "), 0u) << warned;
  EXPECT_EQ(std::ranges::count(warned, '\n'), 1) << warned;
  EXPECT_EQ(all.find(warned), 0u) << all;
  for (const char* kind : {"rendered", "compiled"})
    EXPECT_NE(all.find(cat("\ndiecast: ", kind, ": amax ")), all.npos) << all;
  const TemporaryDirectory folder;
  testing::write_text(folder / "log", "before\n");
  EXPECT_EQ(errors_under(folder / "log"), "");
  const std::string logged = testing::text_of(folder / "log");
  EXPECT_EQ(logged.find("before\ndiecast: degraded: left out: ro:/"), 0u) << logged;
  EXPECT_NE(logged.find("\ndiecast: compiled: amax "), logged.npos) << logged;
}

TEST(EventLog, RefusesASettingThatIsNone) {
  const auto opened = EventLog::open("loud");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message(),
            "diecast: invalid_argument: DIECAST_LOG: no way to log is named \"loud\"\n"
            "  fix: use off, warn, info, or the absolute path of a file");
  EXPECT_EQ(EventLog::open("/nonexistent/log").error().code, ErrorCode::file_not_found);
}

TEST(EventLog, ALineIsOneLineWithoutControlCharacters) {
  EXPECT_EQ(event_text({RuntimeEvent::Kind::degraded, "", "a\n  fix: b\033[1m", 0}),
            "degraded: a; fix: b\\x1b[1m");
}

}  // namespace
}  // namespace diecast
