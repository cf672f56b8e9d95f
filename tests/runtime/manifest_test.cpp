// Manifests: lists, `*`, targets, comments, and errors that name the line.
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/warm.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;

std::vector<std::string> spellings(const std::vector<Specialization>& all) {
  std::vector<std::string> words;
  for (const Specialization& one : all) words.push_back(one.spelling());
  return words;
}

TEST(Manifest, ExpandsListsAndStarsForEveryTarget) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto all = expand_manifest(*runtime,
                                   "# what a server needs\n\n"
                                   "amax IN=bf16,f16 NANS=* @ sm_90a sm_100a  # eight\n"
                                   "amax IN=bf16 NANS=propagate @ sm_90a     # again\n",
                                   "m.txt", {})
                       .value();
  const auto words = spellings(all);
  EXPECT_EQ(words.size(), 8u);
  EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), 8u);
  EXPECT_EQ(words[0],
            "amax COLS=0 ROWS=dense IN=bf16 PER=tensor BLOCK=16 NANS=ignore RHT=none SIGN_MASK=0 "
            "THREADS=256 @ sm_90a");
  EXPECT_EQ(words[7],
            "amax COLS=0 ROWS=dense IN=f16 PER=tensor BLOCK=16 NANS=propagate RHT=none SIGN_MASK=0 "
            "THREADS=256 @ sm_100a");
}

TEST(Manifest, GivenTargetsStandInForTheLines) {
  FakeMachine machine;
  const Target targets[] = {Target::parse("sm_80").value()};
  const auto all =
      expand_manifest(*machine.runtime(), "amax IN=bf16 @ sm_90a\namax IN=f16\n", "m.txt", targets);
  ASSERT_EQ(all.value().size(), 2u);
  for (const Specialization& one : *all) EXPECT_EQ(one.target().name(), "sm_80");
}

// Clusters, say, of which GPUs before 9.0 have none: the line is for its own targets alone.
TEST(Manifest, ALineOfNoKernelSaysWhatItBreaks) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const Target older[] = {Target::parse("sm_80").value()};
  const char* const of_none = "quantize_nvfp4_amax_few IN=bf16 CLUSTER=8 @ sm_80\n";
  EXPECT_EQ(expand_manifest(*runtime, of_none, "m.txt", older).error().code,
            ErrorCode::constraint_violated);
}

TEST(Manifest, ATemplateUnderItsFormerNameIsAnErrorWithTheNameOfToday) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  EXPECT_EQ(expand_manifest(*runtime, "quantize_nvfp4_once IN=bf16 @ sm_90a\n", "m.txt", {})
                .error()
                .message(),
            "diecast: unknown_template: m.txt:1: the template quantize_nvfp4_once is now "
            "quantize_nvfp4_few\n  fix: write quantize_nvfp4_few in its place");
}

TEST(Manifest, AParameterUnderItsFormerNameIsAnErrorWithTheNameOfToday) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  EXPECT_EQ(expand_manifest(*runtime, "transpose_codes SIDE=64 @ sm_90a\n", "m.txt", {})
                .error()
                .message(),
            "diecast: unknown_parameter: m.txt:1: the parameter SIDE of transpose_codes is now "
            "TILE\n  fix: write TILE in its place");
}

TEST(Manifest, ErrorsNameTheFileAndTheLine) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto message = [&](std::string_view text) {
    return expand_manifest(*runtime, text, "m.txt", {}).error().message();
  };
  EXPECT_EQ(
      message("\namax IM=bf16 @ sm_90a\n"),
      "diecast: unknown_parameter: m.txt:2: amax has no parameter \"IM\"; did you "
      "mean `IN`?\n"
      "  fix: its parameters are COLS, ROWS, IN, PER, BLOCK, NANS, RHT, SIGN_MASK, THREADS, waves");
  EXPECT_EQ(message("amax IN=bf16"),
            "diecast: value_missing: m.txt:1: no target\n"
            "  fix: end the line in `@ sm_90a`, or give --target");
  EXPECT_EQ(
      message("amax IN=bf16 COLS=* @ sm_90a"),
      "diecast: value_not_allowed: m.txt:1: COLS=* needs a set to choose from, and COLS takes "
      "any integer\n"
      "  fix: list the values: COLS=4096,8192");
  EXPECT_EQ(message("# nothing\n"),
            "diecast: parse_error: m.txt: the manifest names no kernel\n"
            "  fix: write one spelling a line, for example `amax IN=bf16 @ sm_90a`");
}

TEST(Warm, ResolvesEverythingOnceAndSaysHow) {
  FakeMachine machine;
  RuntimeOptions options = machine.options();
  options.on_event = nullptr;
  const auto runtime = Runtime::create(options).value();
  const auto all = expand_manifest(*runtime, "amax IN=* PER=* @ sm_80 sm_90a", "m.txt", {}).value();
  std::size_t calls = 0;
  const auto first =
      warm(*runtime, all, {4, [&](const WarmOutcome&, std::size_t done, std::size_t total) {
                             EXPECT_EQ(done, ++calls);
                             EXPECT_EQ(total, all.size());
                           }});
  EXPECT_EQ(calls, all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(first[i].resolved) << first[i].error->message();
    EXPECT_EQ(first[i].resolved->origin, Resolved::Origin::compiled);
    EXPECT_EQ(first[i].resolved->artifact->spelling, all[i].spelling());
  }
  EXPECT_EQ(machine.nvrtc.compiles().size(), all.size());
  const auto again = Runtime::create(options).value();
  for (const WarmOutcome& outcome : warm(*again, all)) {
    EXPECT_EQ(outcome.resolved->origin, Resolved::Origin::disk);
  }
}

TEST(Warm, GoesOnWhereItsCallersProgressThrows) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto all = expand_manifest(*runtime, "amax IN=* @ sm_90a", "m.txt", {}).value();
  std::size_t calls = 0;
  const auto outcomes = warm(*runtime, all, {2, [&](const WarmOutcome&, std::size_t, std::size_t) {
                                               ++calls;
                                               throw std::runtime_error("the caller's own");
                                             }});
  EXPECT_EQ(calls, all.size());
  for (const WarmOutcome& outcome : outcomes) EXPECT_TRUE(outcome.resolved);
}

TEST(Warm, NamesWhatItsCompilerCannotBuildAndGoesOn) {
  FakeMachine machine;
  machine.nvrtc.set("ARCHS", "80 90");
  const auto runtime = machine.runtime();
  const auto all = expand_manifest(*runtime, "amax IN=bf16 @ sm_100a sm_90a", "m.txt", {}).value();
  const auto outcomes = warm(*runtime, all, {1, {}});
  EXPECT_EQ(outcomes[0].error->code, ErrorCode::target_not_supported);
  EXPECT_TRUE(outcomes[1].resolved.has_value());
}

// What a line of an op expands to is told by who knows ops; this floor does not.
TEST(Manifest, ALineOfAnOpIsExpandedByTheFunctionThatIsGiven) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  const std::string text = "amax IN=f16 @ sm_90a\n op  any in=bf16 @ sm_90a  # all of it\n";
  const ExpandLine expand = [](Runtime& of, std::string_view line, std::string_view where,
                               std::span<const Target> targets) {
    EXPECT_EQ(line, "op  any in=bf16 @ sm_90a");
    EXPECT_EQ(where, "m.txt:2");
    return expand_spelling(of, "amax IN=bf16 @ sm_90a", where, targets);
  };
  EXPECT_EQ(expand_manifest(*runtime, text, "m.txt", {}, expand).value().size(), 2u);
  const std::string refused =
      "names an op, and here only kernels are known\n"
      "  fix: expand it by expand_op() of diecast/ops/expand_ops.h, as `diecast warm` does";
  EXPECT_EQ(expand_manifest(*runtime, text, "m.txt", {}).error().message(),
            "diecast: not_supported: m.txt:2: \"op  any in=bf16 @ sm_90a\" " + refused);
  EXPECT_EQ(expand_spelling(*runtime, "op any", "m:1", {}).error().message(),
            "diecast: not_supported: m:1: \"op any\" " + refused);
}

TEST(Manifest, ALineOfWhichNothingHoldsSaysWhyTheLastOneDoesNot) {
  FakeMachine machine;
  const auto message = [&](std::string_view line) {
    return expand_spelling(*machine.runtime(), line, "m:1", {}).error().message();
  };
  const std::string broken =
      message("quantize_nvfp4 IN=bf16 PROFILE=pr546,torchao FOUR_OVER_SIX=mae @ sm_90a sm_80");
  EXPECT_TRUE(broken.starts_with(
      "diecast: constraint_violated: m:1: diecast/device/nvfp4/four_over_six_options.h:"))
      << broken;
  EXPECT_TRUE(
      broken.ends_with(": require PROFILE == te || FOUR_OVER_SIX == off (four over six is "
                       "defined by profile te)\n"
                       "  PROFILE = torchao\n"
                       "  FOUR_OVER_SIX = mae\n"
                       "  fix: PROFILE = te; or FOUR_OVER_SIX = off"))
      << broken;
  const std::string missing = message("quantize_nvfp4 PROFILE=* @ sm_90a");
  EXPECT_TRUE(missing.starts_with(
      "diecast: value_missing: m:1: quantize_nvfp4 needs a value for IN (element type of x)\n"
      "  fix: give IN one of "))
      << missing;
}

// A slip that the fuzzer found: of many combinations hardly any holds, and none may cost a search
// for values that fit.
TEST(Manifest, CombinationsThatDoNotHoldCostLittle) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  std::string list = "1";
  for (int i = 2; i <= 19999; ++i) list += "," + std::to_string(i);
  const auto start = std::chrono::steady_clock::now();
  const auto all = expand_spelling(
      *runtime, "quantize_nvfp4 IN=bf16 SIGN_MASK=0," + list + " @ sm_90a", "m:1", {});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(all.value().size(), 1u);
  EXPECT_LT(took.count(), 5.0);  // some 30 ms; with a search each it was minutes
}

TEST(Manifest, ALineOfMoreKernelsThanAnybodyWantsIsRefused) {
  FakeMachine machine;
  const auto runtime = machine.runtime();
  std::string list = "1";
  for (int i = 2; i <= 100001; ++i) list += "," + std::to_string(i);
  const auto refused =
      expand_spelling(*runtime, "amax IN=bf16 COLS=" + list + " @ sm_90a", "m:1", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "diecast: not_supported: m:1: the line names more than 20000 kernels\n"
            "  fix: list fewer values of its parameters, or write several lines");
}

}  // namespace
}  // namespace diecast
