// Tuning bounds: one line of text each; what they choose for a row length and a target.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/bound.h>
#include <gtest/gtest.h>

#include "runtime/tuning_samples.h"

namespace diecast {
namespace {

std::string error_of(std::string_view text) {
  const auto parsed = parse_tuning_bounds(text, "bounds.txt");
  return parsed ? "" : parsed.error().message();
}

TEST(TuningBound, IsALineOfFiveFields) {
  const auto all = parse_tuning_bounds(
                       "# which is fastest\n\n"
                       "1 | k IN=bf16,f32 | GPU/90/132 | cols<=4096 elements/sm<7200 | THREADS=64 "
                       "waves=4\n"
                       "1 | k | GPU/90/132 | elements<4097 | THREADS=128 waves=1  # the last\n",
                       "bounds.txt")
                       .value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kernel.name, "k");
  EXPECT_EQ(all[0].device, "GPU/90/132");
  EXPECT_EQ(all[0].cols, 4096);
  EXPECT_EQ(all[0].below, 7200);
  EXPECT_TRUE(all[0].each_processor);
  EXPECT_EQ(all[1].cols, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(all[1].below, 4097);
  EXPECT_FALSE(all[1].each_processor);
}

TEST(TuningBound, ThatIsWrongIsNamedWithItsLine) {
  EXPECT_EQ(
      error_of("\n1 | k | GPU | elements<0 | THREADS=64"),
      "diecast: parse_error: bounds.txt:2: the list of bounds of a tuning bound is \"elements<0\"\n"
      "  fix: write a bound as cache/tuned/README.md has it");
  const auto named = [](std::string_view line, std::string_view field, std::string_view is) {
    const std::string message = error_of(line);
    EXPECT_TRUE(message.find(cat("bounds.txt:1: the ", field, " of a tuning bound is \"", is,
                                 "\"")) != message.npos)
        << line << "\n"
        << message;
  };
  named("2 | k | GPU | elements<1 | THREADS=64", "version", "2");
  named("1 | k | GPU | elements<1", "number of fields", "4");
  named("1 | k IN= | GPU | elements<1 | THREADS=64", "kernel", "k IN=");
  named("1 | k @ sm_90a | GPU | elements<1 | THREADS=64", "kernel", "k @ sm_90a");
  named("1 | k | | elements<1 | THREADS=64", "device", "");
  named("1 | k | GPU | elements<1 | THREADS=64,128", "list of tunes", "THREADS=64,128");
  for (const char* const bounds :
       {"", "cols", "elements/sm", "cols<=16", "cols<=0 elements<1", "cols<16 elements<1",
        "elements<=1", "elements<x", "elements/sm<-1", "elements<1 cols<=16",
        "elements<1 elements/sm<1", "elements<1099511627777"})
    named(cat("1 | k | GPU | ", bounds, " | THREADS=64"), "list of bounds", bounds);
}

TEST(TuningBound, IsHeldAgainstItsTemplate) {
  const auto tmpl = Template::parse("k", testing::kTunedText).value();
  const auto checked = [&](std::string_view kernel, std::string_view tunes) {
    const auto parsed =
        parse_tuning_bounds(cat("1 | ", kernel, " | GPU | elements<1 | ", tunes), "b").value();
    const auto result = check_tuning_bound(parsed[0], *tmpl);
    return result ? "" : result.error().what;
  };
  EXPECT_EQ(checked("k IN=bf16,f32", "THREADS=64 waves=1"), "");
  EXPECT_EQ(checked("k IN=bf17", "THREADS=64 waves=1"),
            "IN cannot be \"bf17\"; did you mean `bf16`?");
  EXPECT_EQ(checked("k", "THREADS=65 waves=1"), "THREADS cannot be \"65\"");
  EXPECT_EQ(checked("k", "THREADS=64 wave=1"),
            "k has no parameter \"wave\"; did you mean `waves`?");
  EXPECT_EQ(checked("k", "THREADS=64"), "the list of tunes of a tuning bound is \"THREADS\"");
  EXPECT_EQ(checked("k THREADS=64", "waves=1"), "the kernel of a tuning bound is \"THREADS\"");
  EXPECT_EQ(checked("k", "IN=bf16 THREADS=64 waves=1"),
            "the list of tunes of a tuning bound is \"IN\"");
}

constexpr const char* kClusters = R"(/* diecast
shape int COLS
option type IN {bf16, f32}
tune int CLUSTER {1, 2, 8} = 1
tune enum NEXT {elements, amax} = elements
size rows
size cols = COLS
arg x in IN [rows, cols]
arg rows
arg cols
require CLUSTER == 1 || cc >= 90
require NEXT == NEXT_elements || cc >= 90
require COLS <= 4096 * CLUSTER  // a row has threads enough
launch grid(rows) block(128)
target sm_80+
exchange none
*/
DIECAST_KERNEL {}
)";

// "below CLUSTER NEXT, ..." of what is chosen.
std::string chosen(std::string_view text, std::int64_t cols, const char* target,
                   int multiprocessors = 10) {
  const auto tmpl = Template::parse("k", kClusters).value();
  const auto bounds = parse_tuning_bounds(text, "bounds.txt").value();
  Bindings options;
  options.set("COLS", cols).set("IN", DType::bf16);
  std::string out;
  for (const auto& [below, tunes] :
       bounded_tunes(*tmpl, bounds, options, cols, Target::parse(target).value(), multiprocessors)
           .value())
    out += cat(below, " ", tunes.find("CLUSTER")->number, " ", tunes.find("NEXT")->word, ", ");
  return out;
}

TEST(TuningBound, CountsForEachMultiprocessorUnlessItIsOfItsTunesAlone) {
  constexpr std::string_view text =
      "1 | k | GPU | elements<4097 | CLUSTER=1 NEXT=elements\n"
      "1 | k | GPU | elements/sm<700 | CLUSTER=2 NEXT=amax\n";
  EXPECT_EQ(chosen(text, 16, "sm_90a"), "4097 1 elements, 7000 2 amax, ");
  EXPECT_EQ(chosen(text, 16, "sm_90a", 132), "4097 1 elements, 92400 2 amax, ");
}

TEST(TuningBound, OfTheLeastColumnsThatRowsFitInServes) {
  constexpr std::string_view text =
      "1 | k IN=bf16 | GPU | cols<=64 elements/sm<1 | CLUSTER=2 NEXT=amax\n"
      "1 | k IN=f32 | GPU | cols<=96 elements/sm<2 | CLUSTER=2 NEXT=amax\n"
      "1 | k IN=f32,bf16 | GPU | cols<=128 elements/sm<3 | CLUSTER=2 NEXT=amax\n"
      "1 | other | GPU | cols<=64 elements/sm<4 | CLUSTER=2 NEXT=amax\n"
      "1 | k IN=bf16 | GPU | cols<=64 elements/sm<5 | CLUSTER=8 NEXT=amax\n";
  EXPECT_EQ(chosen(text, 64, "sm_90a"), "10 2 amax, 50 8 amax, ");
  EXPECT_EQ(chosen(text, 65, "sm_90a"), "30 2 amax, ");
  EXPECT_EQ(chosen(text, 129, "sm_90a"), "");
}

// Clusters and launches that begin early are of 9.0 and later.
TEST(TuningBound, HasDefaultsForWhatTheTargetLacksAndElseIsLeftOut) {
  constexpr std::string_view text =
      "1 | k | GPU | elements/sm<1 | CLUSTER=8 NEXT=amax\n"
      "1 | k | GPU | elements/sm<2 | CLUSTER=1 NEXT=amax\n"
      "1 | k | GPU | elements<30 | CLUSTER=2 NEXT=elements\n"
      "1 | k | GPU | elements/sm<4 | CLUSTER=2 NEXT=elements\n"
      "1 | k | GPU | elements/sm<5 | CLUSTER=3 NEXT=elements\n"
      "1 | k | GPU | elements/sm<6 | CLUSTERS=1 NEXT=elements\n";
  EXPECT_EQ(chosen(text, 64, "sm_90a"), "10 8 amax, 20 1 amax, 30 2 elements, 40 2 elements, ");
  EXPECT_EQ(chosen(text, 64, "sm_80"), "10 1 elements, 20 1 elements, 40 1 elements, ");
  // Of rows that need a cluster of two nothing is left without one.
  EXPECT_EQ(chosen(text, 8192, "sm_90a"), "10 8 amax, 30 2 elements, 40 2 elements, ");
  EXPECT_EQ(chosen(text, 8192, "sm_80"), "");
}

}  // namespace
}  // namespace diecast
