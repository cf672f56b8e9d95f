// The line from specialization to resident kernel: where an artifact comes from, what is counted
// and told, and what freeze forbids.
#include <diecast/runtime/runtime.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::CudaScript;
using testing::FakeMachine;
using testing::kAmax;
using Origin = Resolved::Origin;

TEST(Runtime, CompilesOnceThenFindsInMemoryThenOnDisk) {
  FakeMachine machine;
  const auto first = machine.runtime();
  const auto one = first->specialize(kAmax).value();
  EXPECT_EQ(first->resolve(one).value().origin, Origin::compiled);
  EXPECT_EQ(first->resolve(one).value().origin, Origin::memory);
  first->flush();
  EXPECT_EQ(machine.events, (std::vector<std::string>{"rendered", "compiled", "published"}));

  machine.events.clear();
  const auto second = machine.runtime();
  const auto found = second->resolve(second->specialize(kAmax).value()).value();
  EXPECT_EQ(found.origin, Origin::disk);
  EXPECT_EQ(found.artifact->spelling, one.spelling());
  EXPECT_EQ(machine.events, (std::vector<std::string>{"rendered", "found"}));
  EXPECT_EQ(machine.nvrtc.compiles().size(), 1u);
}

// A checkout's templates instead of those inside the library.
TEST(Runtime, ReadsTemplatesFromTheFolderOfTheVariable) {
  FakeMachine machine;
  const testing::TemporaryDirectory folder;
  std::filesystem::copy(
      DIECAST_SOURCE_DIR "/templates", folder.path(),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  std::string text = testing::text_of(folder / "amax/amax.cu");
  text.replace(text.find("THREADS {128, 256} = 256"), 24, "THREADS {128, 256} = 128");
  testing::write_text(folder / "amax/amax.cu", text);
  setenv("DIECAST_TEMPLATE_DIR", folder.path().c_str(), 1);
  RuntimeOptions options = RuntimeOptions::from_environment();
  unsetenv("DIECAST_TEMPLATE_DIR");
  options.nvrtc = machine.nvrtc.search();
  options.cache = machine.cache.path();
  const auto changed = Runtime::create(options).value()->specialize(kAmax).value();
  EXPECT_NE(changed.spelling().find("THREADS=128"), std::string::npos) << changed.spelling();
  const auto built_in = machine.runtime()->specialize(kAmax).value();
  EXPECT_NE(built_in.spelling().find("THREADS=256"), std::string::npos);

  options.template_directory = folder / "nothing";
  const auto missing = Runtime::create(options);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::file_not_found);
}

// As a program that parses a template anew after each edit.
TEST(Runtime, TellsTextsOfOneNameApart) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const auto known = runtime->specialize(kAmax).value();
  const auto edited = Template::parse("amax", known.tmpl().text() + "// edited\n").value();
  const auto other = Specialization::make(edited, known.bindings(), known.target()).value();
  ASSERT_EQ(other.spelling(), known.spelling());
  EXPECT_EQ(runtime->resolve(known).value().origin, Origin::compiled);
  EXPECT_FALSE(runtime->holds(other).value());
  EXPECT_EQ(runtime->resolve(other).value().origin, Origin::compiled);
  const auto of_known = runtime->preload(known, device).value();
  const auto of_other = runtime->preload(other, device).value();
  EXPECT_NE(of_known, of_other);
  const auto again = Template::parse("amax", known.tmpl().text()).value();
  const auto same = Specialization::make(again, known.bindings(), known.target()).value();
  EXPECT_EQ(runtime->preload(same, device).value(), of_known);
}

TEST(Runtime, CountsEachArrow) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto one = runtime->specialize(kAmax).value();
  (void)runtime->preload(one, machine.cuda.device()).value();
  (void)runtime->resolve(one).value();
  runtime->flush();
  const RuntimeCounters counters = runtime->counters();
  EXPECT_EQ(counters.rendered, 1u);
  EXPECT_EQ(counters.compiled, 1u);
  EXPECT_EQ(counters.published, 1u);
  EXPECT_EQ(counters.loaded, 1u);
  EXPECT_EQ(counters.memory_hits, 1u);
  EXPECT_EQ(counters.disk_hits, 0u);
  EXPECT_EQ(counters.failed, 0u);
}

TEST(Runtime, ManyThreadsOnOneKeyCompileItOnce) {
  FakeMachine machine;
  machine.nvrtc.set("SLEEP_MS", "30");
  RuntimeOptions options = machine.options();
  options.on_event = nullptr;
  const auto runtime = Runtime::create(options).value();
  const auto one = runtime->specialize(kAmax).value();
  std::vector<std::shared_ptr<const Artifact>> artifacts(16);
  std::vector<std::thread> threads;
  for (auto& artifact : artifacts) {
    threads.emplace_back([&] { artifact = runtime->resolve(one).value().artifact; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& artifact : artifacts) EXPECT_EQ(artifact, artifacts[0]);
  EXPECT_EQ(machine.nvrtc.compiles().size(), 1u);
}

TEST(Runtime, GivesWaitingThreadsTheErrorAndLaterCallersAnotherTry) {
  FakeMachine machine;
  machine.nvrtc.set("FAIL", "nvrtcCompileProgram=6");
  const auto runtime = machine.runtime();
  const auto one = runtime->specialize(kAmax).value();
  EXPECT_EQ(runtime->resolve(one).error().code, ErrorCode::compile_failed);
  EXPECT_EQ(runtime->counters().failed, 1u);
  machine.nvrtc.unset("FAIL");
  EXPECT_EQ(runtime->resolve(one).value().origin, Origin::compiled);
}

// G-03: the driver refuses what the cache holds.
TEST(Runtime, CompilesAgainOnceWhatADeviceRefusesAndReplacesIt) {
  for (const int code : {200, 209, 222}) {
    FakeMachine machine;
    (void)machine.runtime()->resolve(machine.runtime()->specialize(kAmax).value()).value();
    const auto runtime = machine.runtime();
    const auto one = runtime->specialize(kAmax).value();
    const auto device = machine.cuda.device();
    machine.events.clear();
    machine.cuda->calls.clear();
    machine.cuda->fail["cuLibraryLoadData"] = {{1, code}};
    EXPECT_TRUE(runtime->preload(one, device).ok()) << code;
    runtime->flush();
    machine.events.resize(6);  // then "published", before or after "loaded"
    EXPECT_EQ(std::vector(machine.events.begin(), machine.events.begin() + 5),
              (std::vector<std::string>{"rendered", "found", "refused", "rendered", "compiled"}));
    EXPECT_EQ(machine.nvrtc.compiles().size(), 2u);
    const CacheStatistics cache = runtime->cache()->writable()->statistics();
    EXPECT_EQ(cache.replaced, 1u);
    EXPECT_GE(cache.refused, 1u);
    EXPECT_EQ(machine.runtime()->resolve(one).value().origin, Origin::disk);
  }
}

TEST(Runtime, CodeThatIsRefusedFreshIsAnErrorWithoutAnotherCompile) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  machine.cuda->fail["cuLibraryLoadData"] = {{CudaScript::kEveryCall, 222}};
  const auto refused = runtime->preload(runtime->specialize(kAmax).value(), device);
  EXPECT_EQ(refused.error().code, ErrorCode::file_corrupt);
  EXPECT_NE(refused.error().what.find("driver 13.0: cuLibraryLoadData returned "),
            std::string::npos);
  EXPECT_EQ(machine.nvrtc.compiles().size(), 1u);
  EXPECT_EQ(machine.cuda->count("cuLibraryLoadData"), 1);
}

TEST(Runtime, WithoutACompilerServesWhatTheCacheHas) {
  FakeMachine machine;
  (void)machine.runtime()->resolve(machine.runtime()->specialize(kAmax).value()).value();
  RuntimeOptions options = machine.options();
  options.nvrtc.path = "/nonexistent/libnvrtc.so.13";
  const auto runtime = Runtime::create(options).value();
  EXPECT_EQ(runtime->resolve(runtime->specialize(kAmax).value()).value().origin, Origin::disk);
  const auto missing = runtime->resolve(runtime->specialize("amax IN=f16 @ sm_90a").value());
  EXPECT_EQ(missing.error().code, ErrorCode::compiler_unavailable);
  EXPECT_TRUE(missing.error().what.ends_with("\nno cache root has the kernel either: " +
                                             machine.cache.path()))
      << missing.error().what;
}

TEST(Runtime, WorksWithoutACacheAndSaysWhyItHasNone) {
  FakeMachine machine;
  RuntimeOptions options = machine.options();
  options.cache = "off";
  const auto off = Runtime::create(options).value();
  EXPECT_EQ(off->cache(), nullptr);
  EXPECT_EQ(off->cache_state(), "off");
  EXPECT_EQ(off->resolve(off->specialize(kAmax).value()).value().origin, Origin::compiled);
  EXPECT_EQ(machine.events, (std::vector<std::string>{"rendered", "compiled"}));

  machine.events.clear();
  options.cache = machine.cache / "file";
  testing::write_text(options.cache, "in the way");
  const auto degraded = Runtime::create(options).value();
  EXPECT_EQ(degraded->cache(), nullptr);
  EXPECT_EQ(degraded->cache_state().find("off; left out: rw:" + options.cache + ": "), 0u)
      << degraded->cache_state();
  EXPECT_EQ(machine.events, std::vector<std::string>{"degraded"});
}

TEST(Runtime, RefusesACacheThatIsNoAbsolutePath) {
  RuntimeOptions options;
  options.cache = "cache";
  EXPECT_EQ(Runtime::create(options).error().message(),
            "diecast: invalid_argument: no absolute path in the cache setting \"cache\"\n"
            "  fix: set DIECAST_CACHE to an absolute directory, to `off`, or to roots such as "
            "ro:/opt/cache,bundle:/opt/kernels.dcb,rw:/var/cache/me");
}

TEST(Runtime, AfterFreezeALateCompileIsAnErrorThatNamesTheKernel) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const auto warm = runtime->specialize(kAmax).value();
  (void)runtime->preload(warm, device).value();
  runtime->freeze();
  EXPECT_TRUE(runtime->preload(warm, device).ok());
  const auto late = runtime->preload(runtime->specialize("amax IN=f16 @ sm_90a").value(), device);
  EXPECT_EQ(late.error().message(),
            "diecast: frozen: after freeze() a kernel is not resolved:\n  " +
                runtime->specialize("amax IN=f16 @ sm_90a").value().spelling() +
                "\n  fix: prepare what launches it before freeze(), or call that once; "
                "a warm cache alone is not enough");
  EXPECT_EQ(machine.nvrtc.compiles().size(), 1u);
}

TEST(Runtime, AfterFreezeALateLoadIsAnError) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto resolved = runtime->specialize(kAmax).value();
  (void)runtime->resolve(resolved).value();
  runtime->freeze();
  const auto late = runtime->preload(resolved, machine.cuda.device());
  EXPECT_EQ(late.error().code, ErrorCode::frozen);
  EXPECT_NE(late.error().what.find("not resident"), std::string::npos);
  EXPECT_EQ(machine.cuda->count("cuLibraryLoadData"), 0);
}

TEST(Runtime, LoadsOncePerDevice) {
  FakeMachine machine;
  machine.cuda->gpus.resize(2);
  const auto runtime = machine.runtime();
  const auto one = runtime->specialize(kAmax).value();
  const auto a = machine.cuda.device(0), b = machine.cuda.device(1);
  const auto on_a = runtime->preload(one, a).value();
  EXPECT_EQ(runtime->preload(one, a).value(), on_a);
  EXPECT_NE(runtime->preload(one, b).value(), on_a);
  EXPECT_EQ(runtime->counters().loaded, 2u);
  EXPECT_EQ(machine.nvrtc.compiles().size(), 1u);
}

TEST(Runtime, TakesTheBestTargetOfADevice) {
  FakeMachine machine;
  machine.cuda->gpus[0].cc = 103;
  const auto runtime = machine.runtime();
  const auto device = machine.cuda.device();
  const auto best =
      runtime->specialize_for("amax", Bindings{{"IN", Value::of(DType::bf16)}}, *device);
  EXPECT_EQ(best.value().target().name(), "sm_103a");
}

TEST(Runtime, SpellingsForOneKernelHaveOneValueEach) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  EXPECT_EQ(runtime->specialize("amax IN=bf16").error().code, ErrorCode::value_missing);
  EXPECT_EQ(runtime->specialize("amax IN=* @ sm_90a").error().code, ErrorCode::value_not_allowed);
  EXPECT_EQ(runtime->specialize("amx IN=bf16 @ sm_90a").error().message(),
            "diecast: unknown_template: no template is named \"amx\"; did you mean `amax`?\n"
            "  fix: `diecast list` shows the templates; your own come by --add NAME.cu, in a "
            "program by runtime.add(\"NAME.cu\")");
}

TEST(Runtime, TakesTemplatesOfItsOwner) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const std::string path = std::string(DIECAST_SOURCE_DIR) + "/examples/own_template/scale_rows.cu";
  const auto added = runtime->add(path).value();
  EXPECT_EQ(added->name(), "scale_rows");
  EXPECT_EQ(runtime->add(path).value(), added);
  EXPECT_TRUE(runtime->specialize("scale_rows T=f32 @ sm_80").ok());

  testing::TemporaryDirectory folder;
  testing::write_text(folder / "amax.cu", added->text());
  EXPECT_EQ(runtime->add(folder / "amax.cu").error().code, ErrorCode::file_exists);
  testing::write_text(folder / "amax.txt", added->text());
  EXPECT_EQ(runtime->add(folder / "amax.txt").error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace diecast
