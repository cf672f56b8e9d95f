// Lines of manifests that name ops: what is warmed by them is what preparing the op asks for and
// what its runs launch, on fake GPUs.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <diecast/runtime/tuning/record.h>
#include <diecast/runtime/warm.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "ops/fake_matrices.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using Request = PreparedQuantizeNvfp4::Request;

class ExpandOps : public ::testing::Test {
 protected:
  // Warms the line, then prepares the request where nothing is compiled, and runs it over many
  // numbers of rows on GPUs of several sizes. The kernels that were warmed and that served.
  struct Names {
    std::set<std::string> warmed, served;
  };
  static Names warm_and_run(const std::string& line, const Request& request, int cc,
                            std::int64_t cols) {
    testing::FakeMachine machine;
    machine.cuda->gpus[0].cc = cc;
    Names out;
    const auto warming = machine.runtime();
    const auto all = expand_manifest(*warming, line, "m.txt",
                                     std::array{Target::for_device(cc).front()}, expand_op);
    for (const WarmOutcome& outcome : warm(*warming, all.value())) {
      EXPECT_TRUE(outcome.resolved) << line;
      out.warmed.insert(outcome.specialization->spelling());
    }
    RuntimeOptions serving = machine.options();
    serving.cache_policy = CachePolicy::require_hit;
    for (const int multiprocessors : {1, 300}) {
      machine.cuda->gpus[0].sm_count = multiprocessors;
      const auto runtime = Runtime::create(serving).value();
      const auto device = machine.cuda.device();
      const auto op = PreparedQuantizeNvfp4::prepare(*runtime, device, request);
      if (!op) {
        ADD_FAILURE() << op.error().message();
        return out;
      }
      runtime->freeze();
      for (std::int64_t rows = 1; rows * cols < (std::int64_t{1} << 40); rows += 1 + rows / 16) {
        const Specialization& one = op->kernel(rows * cols).specialization();
        if (!out.served.insert(one.spelling()).second) continue;
        const testing::MatricesWithoutMemory m(rows, cols, request.out.row_scaled,
                                               request.out.layout);
        op->run(m.x, m.out, {}).value();
        EXPECT_EQ(machine.cuda->launches.back().symbol, one.tmpl().name());
      }
      out.served.insert(op->kernel(0).specialization().spelling());
      const Kernel& counted = op->kernel(cols, true);  // the device counts the rows
      out.served.insert(counted.specialization().spelling());
    }
    return out;
  }
};

TEST_F(ExpandOps, WhatIsWarmedIsWhatIsLaunched) {
  std::size_t kernels = 0;
  for (const int cc : {80, 90}) {
    for (const std::int64_t cols : {4096, 28672}) {
      for (const char* const layout : {"linear", "s128x4"}) {
        for (const bool row_scaled : {false, true}) {
          for (const bool given : {false, true}) {
            Request request;
            request.cols = cols;
            request.out.row_scaled = row_scaled;
            request.amax_given = given;
            if (std::string_view(layout) != "linear") request.out.layout = ScaleLayout::s128x4;
            const auto [warmed, served] =
                warm_and_run(cat("op quantize_nvfp4 in=bf16 cols=", cols, " layout=", layout,
                                 " row_scale=", row_scaled ? 1 : 0, " amax_given=", given ? 1 : 0),
                             request, cc, cols);
            for (const std::string& one : served) EXPECT_TRUE(warmed.contains(one)) << one;
            for (const std::string& one : warmed) {
              const bool finds = one.starts_with("amax ") || one.starts_with("zeros ");
              EXPECT_TRUE(finds ? !given && !row_scaled : served.contains(one)) << one;
            }
            kernels += served.size();
          }
        }
      }
    }
  }
  EXPECT_GT(kernels, 100u);
}

// Records of a device that is not here choose kernels too.
TEST_F(ExpandOps, WhatRecordsOfAnyDeviceChooseIsWarmedToo) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  const std::string line = "op quantize_nvfp4 in=bf16 cols=7168 row_scale=1 @ sm_90a";
  const auto warmed = [&] {
    std::set<std::string> out;
    for (const Specialization& one :
         expand_manifest(*runtime, line, "m.txt", {}, expand_op).value())
      out.insert(one.spelling());
    return out;
  };
  const auto before = warmed();
  std::vector<TuningRecord> records;
  for (const auto& [device, rows, tunes] :
       {std::tuple("One/90/132", 8, "BLOCKS=2 CLUSTER=8 ROWS_AT_ONCE=1 NEXT=codes"),
        std::tuple("One/90/132", 512, "BLOCKS=1 CLUSTER=2 ROWS_AT_ONCE=1 NEXT=codes"),
        std::tuple("Other/90/60", 8, "BLOCKS=2 CLUSTER=4 ROWS_AT_ONCE=1 NEXT=codes")}) {
    TuningRecord& one = records.emplace_back();
    one.kernel = "quantize_nvfp4_row_scaled_few COLS=7168 IN=bf16 LAYOUT=linear @ sm_90a";
    one.device = device;
    one.sizes = {{"rows", rows}};
    one.tunes = tunes;
    one.ns = 900;
    one.samples = 15;
  }
  runtime->add_tuning(records);
  auto expected = before;
  for (const TuningRecord& one : records)
    expected.insert(cat("quantize_nvfp4_row_scaled_few COLS=7168 IN=bf16 LAYOUT=linear ", one.tunes,
                        " @ sm_90a"));
  EXPECT_EQ(warmed(), expected);
  EXPECT_EQ(expected.size(), before.size() + 3);
}

std::string error_of(Runtime& runtime, std::string_view line) {
  return expand_manifest(runtime, line, "m.txt", {}, expand_op).error().message();
}

TEST_F(ExpandOps, ErrorsNameTheFileTheLineAndWhatThereIs) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  const std::string ops =
      cat("  fix: name one of ", join(op_names(), ", "), ", or kernels by their spelling");
  EXPECT_EQ(error_of(*runtime, "\nop quantise_nvfp4 in=bf16 @ sm_90a"),
            "diecast: not_supported: m.txt:2: no op is named \"quantise_nvfp4\"; did you mean "
            "`quantize_nvfp4`?\n" +
                ops);
  EXPECT_EQ(error_of(*runtime, "op"),
            "diecast: not_supported: m.txt:1: the line names no op\n" + ops);
  EXPECT_EQ(error_of(*runtime, "op transpose_codes PAD=1 @ sm_90a"),
            "diecast: unknown_parameter: m.txt:1: op transpose_codes has no field \"PAD\"; did you "
            "mean `pad`?\n"
            "  fix: its fields are pad, aligned");
  EXPECT_EQ(error_of(*runtime, "op quantize_nvfp4 in=bf17 @ sm_90a"),
            "diecast: value_not_allowed: m.txt:1: in cannot be \"bf17\"; did you mean `bf16`?\n"
            "  fix: give in one of bf16, f16, f32, e4m3, e5m2, e8m0, u8, i32, u32, i64, "
            "f64, i8, u16, u64");
  EXPECT_EQ(error_of(*runtime, "op quantize_nvfp4 in=i32 @ sm_90a"),
            "diecast: value_not_allowed: m.txt:1: quantize_nvfp4: IN cannot be \"i32\"; did you "
            "mean `f32`?\n"
            "  fix: give IN one of bf16, f16, f32, e4m3");
  EXPECT_EQ(error_of(*runtime, "op quantize_nvfp4 cols=-16 @ sm_90a"),
            "diecast: value_not_allowed: m.txt:1: cols cannot be \"-16\"\n"
            "  fix: give cols an integer of 0 or more");
  EXPECT_EQ(error_of(*runtime, "op quantize_nvfp4 sign_mask=65536 @ sm_90a"),
            "diecast: value_not_allowed: m.txt:1: sign_mask cannot be 65536\n"
            "  fix: give sign_mask a smaller number");
  EXPECT_EQ(error_of(*runtime, "op quantize_nvfp4 cols=* @ sm_90a"),
            "diecast: value_not_allowed: m.txt:1: cols=* needs a set to choose from, and cols "
            "takes any integer\n"
            "  fix: list the values: cols=4096,8192");
  EXPECT_EQ(error_of(*runtime, "op quantize_nvfp4"),
            "diecast: value_missing: m.txt:1: no target\n"
            "  fix: end the line in `@ sm_90a`, or give --target");
  EXPECT_EQ(error_of(*runtime, "op quantize_nvfp4 cols= @ sm_90a"),
            "diecast: parse_error: m.txt:1: spelling:24: a value of cols is empty\n"
            "     quantize_nvfp4 cols= @ sm_90a\n"
            "                         ^\n"
            "  fix: write cols=VALUE, without blanks around = and ,");
}

// As lines of kernels: what an op does not offer is left out of a wide line.
TEST_F(ExpandOps, CombinationsThatTheOpLacksAreLeftOut) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  const auto count = [&](std::string_view line) {
    return expand_manifest(*runtime, line, "m.txt", {}, expand_op).value().size();
  };
  const std::string op = "op quantize_nvfp4 amax_given=1 rows=any ";
  EXPECT_EQ(count(op + "profile=te,torchao four_over_six=off,mae @ sm_90a"), 3u);
  EXPECT_EQ(count(op + "in=* @ sm_90a"), 4u);
  EXPECT_EQ(count(op + "in=bf16 @ sm_90a sm_100a\n" + op + "in=bf16,f16 @ sm_90a"), 3u);
  EXPECT_EQ(count(op + "@ host"), 1u);
  EXPECT_TRUE(error_of(*runtime, op + "profile=torchao four_over_six=mae @ sm_90a")
                  .ends_with("require PROFILE == te || FOUR_OVER_SIX == off (four over six is "
                             "defined by profile te)\n"
                             "  PROFILE = torchao\n"
                             "  FOUR_OVER_SIX = mae\n"
                             "  fix: PROFILE = te; or FOUR_OVER_SIX = off"));
}

// A slip of the pen costs neither a day nor the memory.
TEST_F(ExpandOps, ALineOfMoreKernelsThanAnybodyWantsIsRefused) {
  testing::FakeMachine machine;
  const auto runtime = machine.runtime();
  std::string list = "16";
  for (int i = 2; i <= 20000; ++i) list += cat(",", 16 * i);
  const std::string refused =
      "diecast: not_supported: m.txt:1: the line names more than 20000 kernels\n"
      "  fix: list fewer values of its parameters, or write several lines";
  EXPECT_EQ(error_of(*runtime, "op quantize_nvfp4 cols=" + list + " @ sm_90a sm_80"), refused);
  EXPECT_EQ(error_of(*runtime, "op quantize_nvfp4 cols=" + list + " layout=s128x4 @ sm_90a"),
            refused);
}

}  // namespace
}  // namespace diecast
