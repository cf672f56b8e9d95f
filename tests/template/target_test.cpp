// Target names: which exist, what a wrong one means, what a device runs.
#include <diecast/template/target.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

std::string message(std::string_view name) {
  const auto target = Target::parse(name);
  return target ? "accepted: " + target->name() : target.error().message();
}

std::vector<std::string> names(const std::vector<Target>& targets) {
  std::vector<std::string> out;
  for (const Target& target : targets) out.push_back(target.name());
  return out;
}

TEST(Target, EveryNameReadsBackToItself) {
  for (const char* name :
       {"host", "host_v3", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90a", "sm_100a",
        "sm_103a", "sm_110a", "sm_120a", "sm_121a", "sm_100f", "sm_110f", "sm_120f"}) {
    const auto target = Target::parse(name);
    ASSERT_TRUE(target.ok()) << target.error().message();
    EXPECT_EQ(target->name(), name);
    EXPECT_EQ(target->is_host(), std::string_view(name).substr(0, 4) == "host");
  }
  EXPECT_EQ(Target::parse("sm_103a")->cc, 103);
  EXPECT_EQ(Target::parse("host_v3")->host_level, 3);
}

TEST(Target, SeveralAreSeparatedByBlanks) {
  EXPECT_EQ(message("sm_90a,sm_100a"),
            "diecast: unknown_target: \"sm_90a,sm_100a\" is several targets, not one\n"
            "  fix: separate targets by blanks, as in `@ sm_90a sm_100a`");
}

TEST(Target, ABareNameFrom90UpSaysWhichSpellingsExist) {
  EXPECT_EQ(
      message("sm_90"),
      "diecast: unknown_target: sm_90 is not a target: from sm_90 up only exact targets (`a`) and "
      "whole families (`f`) exist\n  fix: write sm_90a");
  EXPECT_EQ(
      message("sm_100"),
      "diecast: unknown_target: sm_100 is not a target: from sm_90 up only exact targets (`a`) "
      "and whole families (`f`) exist\n"
      "  fix: write sm_100a (this architecture alone) or sm_100f (its family)");
  EXPECT_EQ(
      message("sm_120"),
      "diecast: unknown_target: sm_120 is not a target: from sm_90 up only exact targets (`a`) "
      "and whole families (`f`) exist\n"
      "  fix: write sm_120a (this architecture alone) or sm_120f (its family)");
  EXPECT_EQ(
      message("sm_121f"),
      "diecast: unknown_target: sm_121f is not a target: from sm_90 up only exact targets (`a`) "
      "and whole families (`f`) exist\n"
      "  fix: write sm_121a (this architecture alone) or sm_120f (its family)");
}

TEST(Target, IsUnderstoodAsPyTorchAndCMakeSpellIt) {
  for (const char* name : {"8.6", "86", "sm86"}) EXPECT_EQ(message(name), "accepted: sm_86");
  for (const char* name : {"9.0a", "90a", "sm90a"}) EXPECT_EQ(message(name), "accepted: sm_90a");
  for (const char* name : {"12.0f", "120f"}) EXPECT_EQ(message(name), "accepted: sm_120f");
  for (const char* name : {"9.0", "90", "sm90"}) EXPECT_EQ(message(name), message("sm_90"));
  EXPECT_EQ(message("7.5"), message("sm_75"));
  for (const char* name : {"9.", ".0a", "90.a", "9.0aa", "9.-1", "+9.0a", "9.00a", "9..0", "a"})
    EXPECT_FALSE(Target::parse(name).ok()) << name;
}

TEST(Target, AnotherWordWithItsDigitsIsToldHowToWriteIt) {
  for (const std::string name : {"compute_90a", "9.0+PTX", "SM_90", "sm_90aa", "90-real"})
    EXPECT_EQ(message(name),
              "diecast: unknown_target: \"" + name + "\" is not a target\n  fix: write sm_90a");
  EXPECT_EQ(message("compute_80"),
            "diecast: unknown_target: \"compute_80\" is not a target\n  fix: write sm_80");
}

TEST(Target, AWrongNameSaysWhatWasMeant) {
  EXPECT_EQ(
      message("hots"),
      "diecast: unknown_target: \"hots\" is not a target; did you mean `host`?\n"
      "  fix: the targets are host, host_v3, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a, sm_100a, "
      "sm_103a, sm_110a, sm_120a, sm_121a, sm_100f, sm_110f, sm_120f");
  EXPECT_EQ(message("sm_75"),
            "diecast: unknown_target: \"sm_75\" is older than diecast's first target\n"
            "  fix: the first is sm_80");
  for (const char* name : {"", "sm_", "sm_90aa", "SM_90A", "host_v2", "sm_90 ", "sm_-1"})
    EXPECT_FALSE(Target::parse(name).ok()) << name;
}

TEST(Target, ADeviceRunsItsExactTargetFirstAndThenItsFamily) {
  EXPECT_EQ(names(Target::for_device(80)), std::vector<std::string>{"sm_80"});
  EXPECT_EQ(names(Target::for_device(90)), std::vector<std::string>{"sm_90a"});
  EXPECT_EQ(names(Target::for_device(100)), (std::vector<std::string>{"sm_100a", "sm_100f"}));
  EXPECT_EQ(names(Target::for_device(103)), (std::vector<std::string>{"sm_103a", "sm_100f"}));
  EXPECT_EQ(names(Target::for_device(121)), (std::vector<std::string>{"sm_121a", "sm_120f"}));
  EXPECT_EQ(names(Target::for_device(75)), std::vector<std::string>{});
}

}  // namespace
}  // namespace diecast
