// The parts of a runtime without the runtime: what each keeps, and what it asks of those below it.
#include "runtime/parts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/fake_machine.h"
#include "runtime/tuning_samples.h"

namespace diecast {
namespace {

using testing::FakeMachine;
using testing::Parts;
using Origin = Resolved::Origin;

Target target(std::string_view name) { return Target::parse(name).value(); }

class PartsTest : public ::testing::Test {
 protected:
  Specialization amax(Parts& parts) const {
    return Specialization::make(parts.templates.find("amax").value(),
                                Bindings().set("IN", DType::bf16), target("sm_90a"))
        .value();
  }
  FakeMachine machine_;
};

TEST_F(PartsTest, CommonKeepsEventsWhileOthersWait) {
  std::vector<std::string> told;
  RuntimeOptions options;
  options.on_event = [&](const RuntimeEvent& event) { told.push_back(event.spelling); };
  const Common common(options);
  std::vector<RuntimeEvent> kept;
  {
    const KeepEvents keep(kept);
    common.tell(RuntimeEvent::Kind::rendered, "kept", "", 0);
  }
  common.tell(RuntimeEvent::Kind::rendered, "told", "", 0);
  EXPECT_EQ(told, std::vector<std::string>{"told"});
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].spelling, "kept");
}

TEST_F(PartsTest, CommonSaysWhatIsLate) {
  Common common{RuntimeOptions()};
  EXPECT_TRUE(common.allow_late("k", "not resident"));
  common.frozen = true;
  EXPECT_EQ(common.allow_late("k", "not resident").error().message(),
            "diecast: frozen: after freeze() a kernel is not resident:\n  k\n"
            "  fix: prepare what launches it before freeze(), or call that once; "
            "a warm cache alone is not enough");
  common.late = Late::warn;
  EXPECT_TRUE(common.allow_late("k", "not resident"));
  EXPECT_EQ(common.count.late, 1u);
}

TEST_F(PartsTest, TemplatesParseATemplateOnce) {
  Common common{RuntimeOptions()};
  Templates templates(common);
  ASSERT_TRUE(templates.open());
  EXPECT_EQ(templates.find("amax").value(), templates.find("amax").value());
  EXPECT_EQ(templates.find("amix").error().code, ErrorCode::unknown_template);
  const std::string own = machine_.cache / "k.cu";
  testing::write_text(own, testing::kTunedText);
  const auto added = templates.add(own).value();
  EXPECT_EQ(templates.find("k").value(), added);
}

TEST_F(PartsTest, CompilersAreOpenedOnceAndSayWhatTheyBuild) {
  machine_.nvrtc.set("ARCHS", "80 90");
  const RuntimeOptions options = machine_.options();
  Compilers compilers(options);
  const auto first = compilers.open(target("sm_90a")).value();
  EXPECT_EQ(compilers.usable(target("sm_80")).value(), first);
  EXPECT_TRUE(compilers.builds_for(target("sm_90a")));
  EXPECT_FALSE(compilers.builds_for(target("sm_120a")));
}

TEST_F(PartsTest, CompilersBuildNothingUnderRequireHit) {
  RuntimeOptions options = machine_.options();
  options.cache_policy = CachePolicy::require_hit;
  {
    Compilers compilers(options);
    EXPECT_EQ(compilers.usable(target("sm_90a")).error().message(),
              "diecast: not_cached: the cache policy is require-hit\n  fix: warm the cache");
    EXPECT_FALSE(compilers.builds_for(target("sm_90a")));
  }
  options.cache_compilers = CompilerChoice::exact;  // its identity is asked for, nothing else
  Compilers compilers(options);
  EXPECT_TRUE(compilers.usable(target("sm_90a")));
  EXPECT_FALSE(compilers.builds_for(target("sm_90a")));
}

TEST_F(PartsTest, ArtifactsCompileOnceAndThenFind) {
  Parts parts(machine_.options());
  const Specialization one = amax(parts);
  EXPECT_FALSE(parts.artifacts.holds(one).value());
  EXPECT_EQ(parts.artifacts.resolve(one)->origin, Origin::compiled);
  EXPECT_TRUE(parts.artifacts.holds(one).value());
  EXPECT_EQ(parts.artifacts.resolve(one)->origin, Origin::memory);
  parts.cache.flush();
  Parts later(machine_.options());
  EXPECT_TRUE(later.artifacts.holds(one).value());
  EXPECT_EQ(later.artifacts.resolve(one)->origin, Origin::memory);  // as it was found
  EXPECT_EQ(later.common.count.disk_hits, 1u);
  EXPECT_EQ(machine_.nvrtc.compiles().size(), 1u);
}

TEST_F(PartsTest, ArtifactsTellWhenTheOutcomeIsThere) {
  Parts* asked = nullptr;
  std::vector<std::string> seen;
  RuntimeOptions options = machine_.options();
  options.cache = "off";
  options.on_event = [&](const RuntimeEvent& event) {
    const bool there = asked->artifacts.holds(amax(*asked)).value();
    seen.push_back(std::string(event_name(event.kind)) + (there ? " there" : " not there"));
  };
  Parts parts(options);
  asked = &parts;
  ASSERT_TRUE(parts.artifacts.resolve(amax(parts)));
  EXPECT_EQ(seen, (std::vector<std::string>{"rendered there", "compiled there"}));
}

TEST_F(PartsTest, CacheAddsTheCountsOfItsRuntimeWhenItEnds) {
  const RuntimeOptions options = machine_.options();
  {
    Parts parts(options);
    ASSERT_TRUE(parts.artifacts.resolve(amax(parts)));
  }
  Parts later(options);
  const Counts counts = later.cache.roots()->writable()->counts();
  EXPECT_EQ(counts.at("runtimes"), 1u);
  EXPECT_EQ(counts.at("published"), 1u);  // it was waited for
}

TEST_F(PartsTest, KernelsAreMadeAndLoadedOnce) {
  Parts parts(machine_.options());
  const Specialization one = amax(parts);
  const auto device = machine_.cuda.device();
  std::atomic<int> failures = 0;
  const auto first = parts.kernels.preload(one, device).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { failures += parts.kernels.preload(one, device).value() != first; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(parts.common.count.loaded, 1u);
  EXPECT_EQ(machine_.cuda->count("cuLibraryLoadData"), 1);
  EXPECT_EQ(parts.kernels.preload(one, nullptr).error().code, ErrorCode::invalid_argument);
}

// Whoever serves an approx tune's value reads it in the log.
TEST_F(PartsTest, KernelsTellWhatRecordsChoseOfThem) {
  std::vector<std::string> told;
  RuntimeOptions options = machine_.options();
  options.on_event = [&](const RuntimeEvent& event) {
    if (event.kind == RuntimeEvent::Kind::loaded) told.push_back(event.detail);
  };
  Parts parts(options);
  std::string text = testing::kTunedText;
  text.replace(text.find("= 64"), 4, "= 64 approx");
  const auto tmpl = parts.templates.add_text("k", text).value();
  parts.tuning.add({testing::record("THREADS=128 waves=16", 10)});
  const auto device = machine_.cuda.device();
  const auto bindings = Bindings().set("IN", DType::bf16);
  const Target target = Target::parse("sm_90a").value();
  const auto one = parts.tuning.specialize(tmpl, bindings, target, *device).value();
  ASSERT_TRUE(parts.kernels.preload(one, device));
  EXPECT_EQ(told,
            std::vector<std::string>{"Fake GPU; THREADS=128 approx; rows=512 cols=4096: waves=16"});
}

TEST_F(PartsTest, DevicesAreOpenedOnce) {
  ::setenv("DIECAST_LIBCUDA", testing::FakeCuda::path().c_str(), 1);
  Devices devices;
  const auto first = devices.current();
  ::unsetenv("DIECAST_LIBCUDA");
  ASSERT_TRUE(first);
  EXPECT_EQ(devices.current().value(), *first);
}

}  // namespace
}  // namespace diecast
