// How a runtime uses its cache: policies, layers, late work after freeze, publishing behind
// the caller's back.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "child_process.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;
using testing::kAmax;
using Origin = Resolved::Origin;

class Policies : public ::testing::Test {
 protected:
  std::shared_ptr<Runtime> runtime(CachePolicy policy) {
    RuntimeOptions options = machine_.options();
    options.cache_policy = policy;
    return Runtime::create(options).value();
  }
  static Result<Resolved> amax(Runtime& runtime, const char* spelling = kAmax) {
    return runtime.resolve(runtime.specialize(spelling).value());
  }
  void warm() {
    const auto warmed = runtime(CachePolicy::automatic);
    ASSERT_TRUE(amax(*warmed));
    warmed->flush();
  }
  std::size_t compiles() const { return machine_.nvrtc.compiles().size(); }
  FakeMachine machine_;
};

TEST_F(Policies, RequireHitServesHitsAndRefusesMissesWithTheLineToAdd) {
  warm();
  const auto strict = runtime(CachePolicy::require_hit);
  EXPECT_EQ(amax(*strict).value().origin, Origin::disk);
  const auto miss = amax(*strict, "amax IN=f16 @ sm_90a");
  EXPECT_EQ(
      miss.error().message(),
      "diecast: not_cached: the cache policy is require-hit, and no cache root has\n  " +
          strict->specialize("amax IN=f16 @ sm_90a").value().spelling() +
          "\n  roots: " + machine_.cache.path() +
          "\n  fix: warm a root with this line in a manifest; `diecast cache explain` says why "
          "it is a miss");
  EXPECT_EQ(compiles(), 1u);
}

TEST_F(Policies, RequireHitOpensNoCompiler) {
  warm();
  RuntimeOptions options = machine_.options();
  options.cache_policy = CachePolicy::require_hit;
  options.nvrtc.path = "/nonexistent/libnvrtc.so.13";
  const auto server = Runtime::create(options).value();
  EXPECT_EQ(amax(*server).value().origin, Origin::disk);
  EXPECT_EQ(amax(*server, "amax IN=f16 @ sm_90a").error().code, ErrorCode::not_cached);
}

// A serving machine whose cache was switched off by mistake compiles nothing all the same.
TEST_F(Policies, RequireHitWithoutACacheRefusesEveryKernel) {
  RuntimeOptions options = machine_.options();
  options.cache_policy = CachePolicy::require_hit;
  options.cache = "off";
  const auto server = Runtime::create(options).value();
  EXPECT_EQ(amax(*server).error().code, ErrorCode::not_cached);
  EXPECT_EQ(compiles(), 0u);
}

// A root that is misspelt would be made and stay empty.
TEST_F(Policies, RequireHitMakesNoRootThatIsNamed) {
  RuntimeOptions options = machine_.options();
  options.cache_policy = CachePolicy::require_hit;
  options.cache = machine_.cache.path() + "/misspelt";
  const auto server = Runtime::create(options).value();
  ASSERT_EQ(server->refused_roots().size(), 1u);
  EXPECT_EQ(server->refused_roots()[0].error.code, ErrorCode::file_not_found);
  EXPECT_FALSE(std::filesystem::exists(options.cache));
  options.cache_policy = CachePolicy::automatic;
  options.creates_roots = false;
  EXPECT_EQ(Runtime::create(options).value()->refused_roots().size(), 1u);
  options.creates_roots = true;
  EXPECT_TRUE(Runtime::create(options).value()->refused_roots().empty());
  EXPECT_TRUE(std::filesystem::exists(options.cache));
}

TEST_F(Policies, RequireHitUnderExactSaysThatThereIsNoCompiler) {
  warm();
  RuntimeOptions options = machine_.options();
  options.cache_policy = CachePolicy::require_hit;
  options.cache_compilers = CompilerChoice::exact;
  EXPECT_EQ(amax(*Runtime::create(options).value()).value().origin, Origin::disk);
  options.nvrtc.path = "/nonexistent/libnvrtc.so.13";
  const auto server = Runtime::create(options).value();
  const std::string text = amax(*server).error().message();
  EXPECT_TRUE(
      text.starts_with("diecast: not_cached: the cache policy is require-hit, the choice "
                       "of compilers is exact, and there is no compiler for\n"))
      << text;
  EXPECT_TRUE(
      text.ends_with("fix: set DIECAST_CACHE_COMPILERS=found: without a compiler the newest "
                     "artifact is taken"))
      << text;
}

TEST_F(Policies, ARootThatIsLeftOutIsNamedWhereOneLooksForAKernel) {
  warm();
  RuntimeOptions options = machine_.options();
  options.cache_policy = CachePolicy::require_hit;
  options.cache = "bundle:/nonexistent/k.dcb,rw:" + machine_.cache.path();
  const auto server = Runtime::create(options).value();
  EXPECT_EQ(amax(*server).value().origin, Origin::disk);
  ASSERT_EQ(server->refused_roots().size(), 1u);
  EXPECT_EQ(root_name(server->refused_roots()[0].setting), "bundle:/nonexistent/k.dcb");
  EXPECT_EQ(server->counters().degraded, 1u);
  const std::string text = amax(*server, "amax IN=f16 @ sm_90a").error().message();
  EXPECT_NE(text.find("\n  fix: mend what is left out (`diecast doctor` says how), or warm a root"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("; left out: bundle:/nonexistent/k.dcb: cannot open "), std::string::npos)
      << text;
}

TEST_F(Policies, HoldsTellsWithoutCompiling) {
  warm();
  const auto engine = runtime(CachePolicy::automatic);
  EXPECT_TRUE(engine->holds(engine->specialize(kAmax).value()).value());
  EXPECT_FALSE(engine->holds(engine->specialize("amax IN=f16 @ sm_90a").value()).value());
  EXPECT_EQ(compiles(), 1u);
}

TEST_F(Policies, ReadOnlyCompilesButWritesNothing) {
  warm();
  const auto before = testing::tree(machine_.cache.path());
  const std::string counts = testing::text_of(machine_.cache / "v1/counts");
  {
    const auto reader = runtime(CachePolicy::read_only);
    EXPECT_EQ(amax(*reader).value().origin, Origin::disk);
    EXPECT_EQ(amax(*reader, "amax IN=f16 @ sm_90a").value().origin, Origin::compiled);
  }
  EXPECT_EQ(testing::tree(machine_.cache.path()), before);
  EXPECT_EQ(testing::text_of(machine_.cache / "v1/counts"), counts);

  RuntimeOptions options = machine_.options();
  options.cache_policy = CachePolicy::read_only;
  options.cache = machine_.cache / "none";
  EXPECT_TRUE(amax(*Runtime::create(options).value()));
  EXPECT_EQ(testing::tree(machine_.cache.path()), before);  // nor is a root made
}

TEST_F(Policies, OffNeitherLooksNorWrites) {
  warm();
  const auto off = runtime(CachePolicy::off);
  EXPECT_EQ(off->cache(), nullptr);
  EXPECT_EQ(off->cache_state(), "off");
  EXPECT_EQ(amax(*off).value().origin, Origin::compiled);
}

TEST_F(Policies, RebuildCompilesAgainAndReplaces) {
  warm();
  const auto again = runtime(CachePolicy::rebuild);
  EXPECT_EQ(amax(*again).value().origin, Origin::compiled);
  EXPECT_EQ(amax(*again).value().origin, Origin::memory);
  again->flush();
  EXPECT_EQ(again->cache()->writable()->statistics().replaced, 1u);
  EXPECT_EQ(compiles(), 2u);
  EXPECT_EQ(amax(*runtime(CachePolicy::automatic)).value().origin, Origin::disk);
}

TEST_F(Policies, AreReadFromTheEnvironment) {
  EXPECT_EQ(RuntimeOptions().cache_bytes, 2ull << 30);
  ::setenv("DIECAST_CACHE_POLICY", "require-hit", 1);
  ::setenv("DIECAST_CACHE_COMPILERS", "newest", 1);
  ::setenv("DIECAST_CACHE_BYTES", "3G", 1);
  const RuntimeOptions options = RuntimeOptions::from_environment();
  EXPECT_EQ(options.cache_policy, CachePolicy::require_hit);
  EXPECT_EQ(options.cache_compilers, CompilerChoice::newest);
  EXPECT_EQ(options.cache_bytes, 3ull << 30);
  for (const char* bad : {"-1", "10XB", "99999999999999999999G", "G", "9999999999T"}) {
    ::setenv("DIECAST_CACHE_BYTES", bad, 1);
    EXPECT_EQ(Runtime::create().error().message(),
              std::string("diecast: invalid_argument: DIECAST_CACHE_BYTES: \"") + bad +
                  "\" is no number of bytes\n"
                  "  fix: write digits, then nothing or K, M, G or T: 2G; 0 for no limit");
  }
  ::unsetenv("DIECAST_CACHE_BYTES");
  ::unsetenv("DIECAST_CACHE_COMPILERS");
  ::setenv("DIECAST_CACHE_POLICY", "never", 1);
  EXPECT_EQ(Runtime::create().error().message(),
            "diecast: invalid_argument: DIECAST_CACHE_POLICY: no cache policy is named \"never\"\n"
            "  fix: use auto, require-hit, read-only, off or rebuild");
  ::unsetenv("DIECAST_CACHE_POLICY");
}

TEST_F(Policies, AMachineWithoutACompilerServesFromAReadOnlyRoot) {
  warm();
  RuntimeOptions options = machine_.options();
  options.nvrtc.path = "/nonexistent/libnvrtc.so.13";
  options.cache = "ro:" + machine_.cache.path();
  const auto server = Runtime::create(options).value();
  EXPECT_TRUE(server->preload(server->specialize(kAmax).value(), machine_.cuda.device()).ok());
  options.cache_compilers = CompilerChoice::exact;
  const auto exact = Runtime::create(options).value();
  EXPECT_EQ(amax(*exact).error().code, ErrorCode::compiler_unavailable);
}

TEST_F(Policies, AfterFreezeWithAWarningLateWorkIsDoneAndTold) {
  const auto engine = runtime(CachePolicy::automatic);
  engine->freeze(Late::warn);
  machine_.events.clear();
  EXPECT_TRUE(engine->preload(engine->specialize(kAmax).value(), machine_.cuda.device()).ok());
  engine->flush();
  EXPECT_EQ(engine->counters().late, 2u);  // a compile and a load
  EXPECT_EQ(std::count(machine_.events.begin(), machine_.events.end(), "late"), 2);
}

// E-01, R34: one event, and the artifact is used all the same.
TEST_F(Policies, ARootThatRefusesWritingIsToldOnce) {
  warm();
  struct rlimit whole;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &whole), 0);
  const int ended = testing::in_child([&] {
    machine_.nvrtc.unset("JOURNAL");
    const struct rlimit none = {1, whole.rlim_max};
    if (::setrlimit(RLIMIT_FSIZE, &none) != 0) return 9;
    std::atomic<int> degraded = 0;
    RuntimeOptions options = machine_.options();
    options.on_event = [&](const RuntimeEvent& event) {
      degraded += event.kind == RuntimeEvent::Kind::degraded;
    };
    const auto full = Runtime::create(options).value();
    for (const char* in : {"amax IN=f16 @ sm_90a", "amax IN=f32 @ sm_90a", "amax IN=bf16 @ sm_80",
                           "amax IN=f16 @ sm_80", "amax IN=f32 @ sm_80"}) {
      if (!amax(*full, in)) return 1;
    }
    full->flush();
    return full->counters().published != 0 ? 2 : degraded != 1 ? 3 : 0;
  });
  EXPECT_EQ(ended, 0);
}

// G-09, R-08: a forked child has no publishing thread and must neither hang nor lose its work.
TEST_F(Policies, AForkedChildPublishesByItself) {
  const auto engine = runtime(CachePolicy::automatic);
  ASSERT_TRUE(amax(*engine));
  engine->flush();
  const int ended = testing::in_child([&] {
    if (!amax(*engine, "amax IN=f16 @ sm_90a")) return 1;
    engine->flush();
    return engine->counters().published == 2 ? 0 : 2;
  });
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(DiskCache::open(machine_.cache.path()).value()->list().value().size(), 2u);
}

TEST_F(Policies, ARuntimesEndAddsItsCountsToTheRoots) {
  for (int i = 0; i < 2; ++i) {
    auto engine = runtime(CachePolicy::automatic);
    ASSERT_TRUE(amax(*engine));
    ASSERT_TRUE(amax(*engine));
    engine->flush();
    EXPECT_EQ(testing::in_child([&] {
                engine.reset();  // a child has its parent's counts: it must not add them again
                return 0;
              }),
              0);
  }
  (void)machine_.runtime();  // has done nothing and writes nothing
  Counts counts = machine_.runtime()->cache()->writable()->counts();
  EXPECT_EQ(counts["runtimes"], 2u);
  EXPECT_EQ(counts["compiled"], 1u);
  EXPECT_EQ(counts["disk_hits"], 1u);
  EXPECT_EQ(counts["memory_hits"], 2u);
  EXPECT_EQ(counts["root_misses"], 1u);  // asking again under the key's lock is none
}

TEST_F(Policies, ACacheAboveItsSizeIsPrunedAndTold) {
  RuntimeOptions options = machine_.options();
  options.cache_bytes = 4096;
  const auto engine = Runtime::create(options).value();
  for (const char* spelling : {kAmax, "amax IN=f16 @ sm_90a", "amax IN=f32 @ sm_90a"}) {
    ASSERT_TRUE(amax(*engine, spelling));
    engine->flush();
  }
  EXPECT_GT(engine->counters().pruned, 0u);
  EXPECT_NE(std::find(machine_.events.begin(), machine_.events.end(), "pruned"),
            machine_.events.end());
}

}  // namespace
}  // namespace diecast
