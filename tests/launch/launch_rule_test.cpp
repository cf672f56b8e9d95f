// Grid, block and shared memory from a header's launch line, and their limits.
#include <diecast/launch/kernel/launch_rule.h>
#include <gtest/gtest.h>

#include "sample_kernel.h"

namespace diecast {
namespace {

// A template with two sizes, one of which COLS fixes, and this launch line.
std::string text(const std::string& launch) {
  return "/* diecast\n"
         "shape int COLS = 0\n"
         "tune int THREADS {64, 256} = 64\n"
         "tune int waves {1, 16} = 16\n"
         "size rows\n"
         "size cols = COLS\n"
         "arg x in f32 [rows, cols]\n"
         "arg rows\n"
         "arg cols\n"
         "launch " +
         launch +
         "\n"
         "target sm_80+\n"
         "*/\n"
         "DIECAST_KERNEL {}\n";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

DeviceProperties h200() {
  DeviceProperties device;
  device.cc = 90;
  device.sm_count = 132;
  device.shared_optin = 232448;
  device.driver_version = 13000;
  return device;
}

struct Rule {
  LaunchSlots slots;
  BoundLaunchRule rule;

  explicit Rule(const std::string& launch, const Bindings& bindings = {}, int static_shared = 0,
                const DeviceProperties& device = h200())
      : Rule(testing::specialize("k", text(launch), bindings), static_shared, device) {}
  Rule(const Specialization& specialization, int static_shared, const DeviceProperties& device)
      : slots(LaunchSlots::make(specialization).value()),
        rule(BoundLaunchRule::make(specialization, device, static_shared, slots).value()) {}

  Result<LaunchShape> shape(std::int64_t rows, std::int64_t cols, std::int64_t waves = 16) const {
    LaunchSlots::Values values{};
    const auto set = [&](const char* name, std::int64_t value) {
      if (const auto slot = slots.find(name)) values[*slot] = value;
    };
    set("rows", rows);
    set("cols", cols);
    set("waves", waves);
    LaunchShape shape;
    DIECAST_CHECK(rule.shape(values, shape));
    const auto same = waves == 16 ? quick(rows, cols) : std::nullopt;  // the tune's default
    if (same) {
      EXPECT_EQ(same->grid, shape.grid);
      EXPECT_EQ(same->block, shape.block);
      EXPECT_EQ(same->shared_bytes, shape.shared_bytes);
    }
    return shape;
  }
  std::optional<LaunchShape> quick(std::int64_t rows, std::int64_t cols) const {
    LaunchWords words;
    const auto set = [&](const char* name, std::int64_t value) {
      if (const auto slot = slots.find(name))
        words.numbers[static_cast<std::size_t>(slots.word(*slot))] = value;
    };
    set("rows", rows);
    set("cols", cols);
    LaunchShape shape = rule.quick().constant();
    if (std::max(rows, cols) > BoundLaunchRule::kMostSize || std::min(rows, cols) < 0)
      return std::nullopt;  // the arguments' check refuses these
    if (!rule.may_be_quick() || !rule.quick().take(words, shape)) return std::nullopt;
    return shape;
  }
  std::string refusal(std::int64_t rows, std::int64_t cols) const {
    const auto found = shape(rows, cols);
    return found ? "" : found.error().message();
  }
};

using Three = std::array<std::uint32_t, 3>;

TEST(LaunchSlots, AreTheNumbersOfALaunch) {
  const Rule open("grid(rows) block(THREADS)");
  EXPECT_EQ(open.slots.count(), 3u);
  EXPECT_EQ(open.slots.find("rows"), 0);
  EXPECT_EQ(open.slots.find("cols"), 1);
  EXPECT_EQ(open.slots.find("waves"), 2);
  EXPECT_EQ(open.slots.find("THREADS"), std::nullopt);
  EXPECT_EQ(open.slots.size_count(), 2u);
  const Rule fixed("grid(rows) block(THREADS)", Bindings().set("COLS", 48));
  EXPECT_EQ(fixed.slots.find("cols"), std::nullopt);
  EXPECT_EQ(fixed.slots.find("waves"), 1);
}

TEST(LaunchSlots, TooManyAreRefused) {
  std::string many = "/* diecast\n";
  for (int i = 0; i < 33; ++i) many += "size n" + std::to_string(i) + "\n";
  for (int i = 0; i < 33; ++i) many += "arg n" + std::to_string(i) + "\n";
  many += "launch grid(1) block(1)\ntarget sm_80+\n*/\nDIECAST_KERNEL {}\n";
  const auto slots = LaunchSlots::make(testing::specialize("k", many));
  ASSERT_FALSE(slots);
  EXPECT_EQ(slots.error().message(),
            "diecast: not_supported: k has 33 sizes and lower-case tunes\n"
            "  fix: a template may have 32 of them; put sizes into a struct argument");
}

TEST(BoundLaunchRule, IsQuickWithItsOwnTunesWhereOnlyTheGridVaries) {
  const auto quick = [](const std::string& launch, std::int64_t rows, std::int64_t cols) {
    const auto shape = Rule(launch).quick(rows, cols);
    return shape ? std::optional(shape->grid) : std::nullopt;
  };
  const std::string plain = "grid(min(ceil_div(rows * cols, 64), sm_count * waves)) block(THREADS)";
  EXPECT_EQ(quick(plain, 7, 4096), (Three{448, 1, 1}));
  EXPECT_EQ(quick(plain, 1 << 20, 4096), (Three{132 * 16, 1, 1}));
  EXPECT_EQ(quick("grid(rows, cols, 3) block(8)", 5, 65535), (Three{5, 65535, 3}));
  EXPECT_EQ(quick("grid(rows, cols, 3) block(8)", 5, 65536), std::nullopt);
  EXPECT_EQ(quick("grid(rows) block(8)", 2147483648, 1), std::nullopt);
  EXPECT_EQ(quick("grid(rows) block(cols)", 5, 8), std::nullopt);
  EXPECT_EQ(quick("grid(rows) block(8) cluster(2)", 4, 8), (Three{4, 1, 1}));
  EXPECT_EQ(quick("grid(rows) block(8) cluster(2)", 5, 8), std::nullopt);
  EXPECT_EQ(quick("grid(rows) block(8) cluster(3)", 6, 8), std::nullopt);
  EXPECT_EQ(quick("grid(rows / cols) block(8)", 4, 2), std::nullopt);
}

TEST(BoundLaunchRule, FollowsSizesTunesAndDevice) {
  const Rule rule("grid(min(ceil_div(rows * cols, THREADS), sm_count * waves)) block(THREADS)");
  EXPECT_EQ(rule.shape(1, 64)->grid, (Three{1, 1, 1}));
  EXPECT_EQ(rule.shape(7, 4096)->grid, (Three{448, 1, 1}));
  EXPECT_EQ(rule.shape(7, 4096, 1)->grid, (Three{132, 1, 1}));
  EXPECT_EQ(rule.shape(1 << 20, 4096)->grid, (Three{132 * 16, 1, 1}));
  EXPECT_EQ(rule.shape(7, 4096)->block, (Three{64, 1, 1}));
  const Rule wide("grid(rows) block(THREADS)", Bindings().set("THREADS", 256));
  EXPECT_EQ(wide.shape(7, 4096)->block, (Three{256, 1, 1}));
}

TEST(BoundLaunchRule, HasThreeDimensionsSharedMemoryAndAttributes) {
  const Rule rule(
      "grid(rows * 2, cols, 3) block(8, 4, 2) shared(cols * 4) cluster(2) cooperative dependent");
  const LaunchShape shape = rule.shape(5, 100).value();
  EXPECT_EQ(shape.grid, (Three{10, 100, 3}));
  EXPECT_EQ(shape.block, (Three{8, 4, 2}));
  EXPECT_EQ(shape.shared_bytes, 400u);
  EXPECT_EQ(shape.cluster, 2u);
  EXPECT_TRUE(shape.cooperative);
  EXPECT_TRUE(shape.dependent);
  const LaunchShape plain = Rule("grid(1) block(1)").shape(5, 100).value();
  EXPECT_EQ(plain.cluster, 0u);
  EXPECT_FALSE(plain.cooperative);
  EXPECT_FALSE(plain.dependent);
}

TEST(BoundLaunchRule, IsDependentWhereGpuAndGraphsKnowIt) {
  const auto is = [](int cc, int driver_version) {
    DeviceProperties device = h200();
    device.cc = cc, device.driver_version = driver_version;
    return Rule("grid(1) block(1) dependent", {}, 0, device).shape(5, 100)->dependent;
  };
  EXPECT_TRUE(is(90, 12030));
  EXPECT_FALSE(is(90, 12020));
  EXPECT_FALSE(is(89, 13000));
}

TEST(BoundLaunchRule, AClusterOfOneIsNone) {
  EXPECT_EQ(Rule("grid(rows) block(1) cluster(1)").shape(5, 100)->cluster, 0u);
  EXPECT_EQ(Rule("grid(rows) block(1) cluster(1)").quick(5, 100)->grid, (Three{5, 1, 1}));
}

TEST(BoundLaunchRule, GpusBefore90HaveNoClusters) {
  DeviceProperties device = h200();
  device.cc = 89;
  EXPECT_EQ(Rule("grid(rows) block(1) cluster(2)", {}, 0, device).refusal(8, 1),
            "diecast: not_supported: k.cu:10: launch: cluster is 2; the device takes 0 to 1\n"
            "  fix: change the template's launch line");
  const Rule of_cols("grid(rows) block(1) cluster(cols)", {}, 0, device);
  EXPECT_EQ(of_cols.shape(8, 1)->cluster, 0u);
  EXPECT_NE(of_cols.refusal(8, 2), "");
  EXPECT_EQ(of_cols.rule.needs().cluster, 1u);
}

TEST(BoundLaunchRule, MostSharedMemoryIsTheConstantOrTheDevices) {
  EXPECT_EQ(Rule("grid(1) block(1)").rule.needs().shared_bytes, 0u);
  EXPECT_EQ(Rule("grid(1) block(1) shared(THREADS * 1024)").rule.needs().shared_bytes, 65536u);
  EXPECT_EQ(Rule("grid(1) block(1) shared(cols)").rule.needs().shared_bytes, 232448u);
  EXPECT_EQ(Rule("grid(1) block(1) shared(cols)", {}, 1024).rule.needs().shared_bytes, 231424u);
  EXPECT_EQ(Rule("grid(1) block(1) shared(shared_optin)").rule.needs().shared_bytes, 232448u);
}

TEST(BoundLaunchRule, BiggestClusterIsTheConstantOrTheMostThereIs) {
  EXPECT_EQ(Rule("grid(1) block(1)").rule.needs().cluster, 0u);
  EXPECT_EQ(Rule("grid(1) block(1) cluster(4)").rule.needs().cluster, 4u);
  EXPECT_EQ(Rule("grid(1) block(1) cluster(cols)").rule.needs().cluster, 16u);
}

TEST(BoundLaunchRule, EmptyGridIsNoError) {
  const Rule rule("grid(ceil_div(rows * cols, 64)) block(THREADS)");
  EXPECT_EQ(rule.shape(0, 4096)->grid, (Three{0, 1, 1}));
}

TEST(BoundLaunchRule, GridLimitsAreExact) {
  EXPECT_EQ(Rule("grid(rows) block(1)").shape(2147483647, 1)->grid[0], 2147483647u);
  EXPECT_EQ(Rule("grid(rows) block(1)").refusal(2147483648, 1),
            "diecast: not_supported: k.cu:10: launch: grid x is 2147483648; the device takes 0 to "
            "2147483647 (rows = 2147483648, cols = 1)\n"
            "  fix: split the call: pass less of rows, cols at once");
  EXPECT_EQ(Rule("grid(1, rows) block(1)").shape(65535, 1)->grid[1], 65535u);
  EXPECT_EQ(Rule("grid(1, rows) block(1)").refusal(65536, 1),
            "diecast: not_supported: k.cu:10: launch: grid y is 65536; the device takes 0 to 65535 "
            "(rows = 65536, cols = 1)\n"
            "  fix: split the call: pass less of rows, cols at once");
  EXPECT_EQ(Rule("grid(1, 1, rows) block(1)").shape(65535, 1)->grid[2], 65535u);
  EXPECT_NE(Rule("grid(1, 1, rows) block(1)").refusal(65536, 1), "");
  EXPECT_NE(Rule("grid(rows - 8) block(1)").refusal(7, 1), "");
}

TEST(BoundLaunchRule, BlockLimitsAreExact) {
  EXPECT_EQ(Rule("grid(1) block(rows)").shape(1024, 1)->block[0], 1024u);
  EXPECT_EQ(Rule("grid(1) block(rows)").refusal(0, 1),
            "diecast: not_supported: k.cu:10: launch: block x is 0; the device takes 1 to 1024 "
            "(rows = 0, cols = 1)\n"
            "  fix: have the template's launch line keep it in range: max(1, ...)");
  EXPECT_EQ(Rule("grid(1) block(rows, 3)").refusal(512, 1),
            "diecast: not_supported: k.cu:10: launch: a block has 1536 threads; the device takes "
            "1024 (rows = 512, cols = 1)\n"
            "  fix: split the call: pass less of rows, cols at once");
  EXPECT_EQ(Rule("grid(1) block(1, 1, 65)").refusal(1, 1),
            "diecast: not_supported: k.cu:10: launch: block z is 65; the device takes 1 to 64\n"
            "  fix: change the template's launch line");
}

TEST(BoundLaunchRule, SharedMemoryLimitCountsTheCodesOwn) {
  const Rule rule("grid(1) block(1) shared(cols)", {}, 1000);
  EXPECT_EQ(rule.shape(1, 231448)->shared_bytes, 231448u);
  EXPECT_EQ(rule.refusal(1, 231449),
            "diecast: not_supported: k.cu:10: launch: shared memory is 231449; the device takes 0 "
            "to 231448 (rows = 1, cols = 231449)\n"
            "  fix: split the call: pass less of rows, cols at once");
}

TEST(BoundLaunchRule, GridMustHoldWholeClusters) {
  const Rule rule("grid(rows) block(1) cluster(4)");
  EXPECT_TRUE(rule.shape(8, 1));
  EXPECT_TRUE(rule.shape(0, 1));
  EXPECT_EQ(rule.refusal(9, 1),
            "diecast: not_supported: k.cu:10: launch: grid x is 9, no multiple of the cluster of 4 "
            "(rows = 9, cols = 1)\n"
            "  fix: have the template's launch line round it up: align_up(..., 4)");
}

TEST(BoundLaunchRule, EachClauseIsToldWhereItStands) {
  const Rule rule("grid(rows)\nlaunch block(cols)\nlaunch shared(rows)");
  EXPECT_EQ(first_line(rule.refusal(5, 2000)),
            "diecast: not_supported: k.cu:11: launch: block x is 2000; the device takes 1 to 1024 "
            "(rows = 5, cols = 2000)");
  EXPECT_NE(rule.refusal(1 << 20, 1).find("k.cu:12: launch: shared memory is"), std::string::npos);
}

TEST(BoundLaunchRule, OverflowIsSaid) {
  EXPECT_EQ(
      Rule("grid(rows * cols) block(1)").refusal(std::int64_t{1} << 40, std::int64_t{1} << 40),
      "diecast: not_supported: k.cu:10: launch: grid x overflows or divides by zero (rows = "
      "1099511627776, cols = 1099511627776)\n"
      "  fix: pass less of rows, cols at once, or have the launch line divide by max(..., 1)");
  EXPECT_NE(Rule("grid(100 / rows) block(1)").refusal(0, 1), "");
}

}  // namespace
}  // namespace diecast
