// The tables of kernels by rows.
#include <diecast/base/text.h>
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "ops/test_runtime.h"

namespace diecast {
namespace {

// Each of the kernels can be made for the target, and some kernel serves any number of rows.
void expect_whole(const std::vector<LinearKernel>& table, const Target& target) {
  SCOPED_TRACE(target.name());
  ASSERT_FALSE(table.empty());
  EXPECT_EQ(table.back().most_rows, LinearKernel::kAnyRows);
  std::int64_t before = 0;
  for (const LinearKernel& one : table) {
    EXPECT_GE(one.most_rows, before);
    before = one.most_rows;
    const auto tmpl = test_runtime()->find_template(one.wanted.name).value();
    const auto made = Specialization::make(tmpl, bindings_for(*tmpl, one.wanted), target);
    EXPECT_TRUE(made) << (made ? "" : made.error().message());
  }
}

TEST(LinearTable, IsOfKernelsThatThereAreOnEveryTarget) {
  for (const char* name : {"host", "sm_80", "sm_90a", "sm_100a"}) {
    const Target target = Target::parse(name).value();
    DeviceProperties device;
    device.cc = target.cc;
    for (const int split : {1, 2, 8}) {
      for (const Activation activation : {Activation::none, Activation::swiglu_oai}) {
        const LinearRequest linear{
            .format = Format::mxfp4, .activation = activation, .split = split, .fast = true};
        expect_whole(linear.table(device), target);
        LinearExpertsRequest experts{
            .format = Format::mxfp4, .activation = activation, .split = split};
        for (std::size_t form = 0; form < words_of(RoutingForm()).size(); ++form) {
          experts.form = static_cast<RoutingForm>(form);
          for (const bool fast : {false, true}) {
            experts.fast = fast;
            expect_whole(experts.table(device), target);
          }
        }
      }
    }
  }
}

// A GPU of Hopper with so many multiprocessors: an H20, an H100 of PCI Express, an H200.
DeviceProperties hopper_of(int multiprocessors) {
  DeviceProperties out;
  out.cc = 90, out.sm_count = multiprocessors;
  return out;
}

// Weights of models, whole and in parts of four or eight.
constexpr std::int64_t kShapes[][2] = {
    {4096, 4096},   {6144, 4096},  {28672, 4096}, {4096, 14336},  {10240, 8192}, {8192, 8192},
    {57344, 8192},  {28672, 8192}, {8192, 28672}, {7168, 2048},   {2112, 7168},  {24576, 1536},
    {7168, 16384},  {36864, 7168}, {7168, 18432}, {5120, 25600},  {51200, 5120}, {1280, 8192},
    {8192, 1024},   {7168, 8192},  {8192, 3584},  {2048, 2048},   {512, 2048},   {64, 64},
    {151936, 4096}, {8, 16},       {64, 1 << 20}, {1 << 20, 1024}};

// Of all that an op is prepared with, whatever the numbers of rows that the weight will see. A
// small weight has a ninth on fewer multiprocessors than an H100's.
TEST(LinearTable, HasAtMostEightKernelsForAWeight) {
  for (const int multiprocessors : {78, 114, 132}) {
    for (const auto& [rows, cols] : kShapes) {
      const int split = linear_split(rows, cols);
      const auto table = LinearRequest{.split = split}.table(hopper_of(multiprocessors));
      EXPECT_LE(table.size(), 12u);
      std::set<std::size_t> serving;
      for (std::int64_t m = 0; m < 9000; ++m) serving.insert(soonest_of(table, {m, rows, cols}));
      EXPECT_LE(serving.size(), multiprocessors == 132 ? 8u : 9u)
          << rows << "x" << cols << " on " << multiprocessors;
    }
  }
  for (const int cc : {0, 80, 90, 100, 120}) {
    DeviceProperties device;
    device.cc = cc;
    for (const int split : {1, 4}) {
      EXPECT_LE(LinearExpertsRequest{.split = split}.kernels(device).size(), 8u) << cc;
    }
  }
}

// What `diecast-bench linear` found to be the soonest of all tunes on an H200, within 2 percent.
TEST(LinearTable, OnHopperHasTheKernelThatWasTheSoonest) {
  struct Measured {
    std::int64_t rows, cols, m;
    std::string_view spelled;
  };
  for (const Measured& one :
       {Measured{28672, 8192, 16, "linear_few M_TILE=16 N_TILE=128"},
        Measured{28672, 8192, 32, "linear_wgmma M_TILE=32 WARPGROUPS=4"},
        Measured{28672, 8192, 64, "linear_wgmma M_TILE=64 WARPGROUPS=4"},
        Measured{28672, 8192, 192, "linear_wgmma M_TILE=192"},
        Measured{28672, 8192, 1024, "linear_wgmma M_TILE=256"},
        Measured{8192, 28672, 8, "linear_few M_TILE=8 N_TILE=128"},
        Measured{8192, 28672, 24, "linear_wgmma M_TILE=32 WARPGROUPS=2 APART=1"},
        Measured{8192, 28672, 512, "linear_wgmma M_TILE=256 APART=1"},
        Measured{4096, 4096, 1, "linear_few M_TILE=8 N_TILE=64"},
        Measured{4096, 4096, 128, "linear_wgmma M_TILE=64 APART=1"},
        Measured{4096, 4096, 2048, "linear_wgmma M_TILE=128 APART=0"},
        Measured{7168, 2048, 16, "linear_few M_TILE=16 N_TILE=64"},
        Measured{7168, 2048, 32, "linear_wgmma M_TILE=32 WARPGROUPS=2"},
        Measured{7168, 2048, 384, "linear_wgmma M_TILE=192"},
        Measured{4096, 14336, 32, "linear_wgmma M_TILE=32 WARPGROUPS=4 APART=1"},
        Measured{1280, 8192, 256, "linear_wgmma M_TILE=128 APART=1"}}) {
    SCOPED_TRACE(one.spelled);
    const auto table =
        LinearRequest{.split = linear_split(one.rows, one.cols)}.table(hopper_of(132));
    const KernelWanted& wanted = table[soonest_of(table, {one.m, one.rows, one.cols})].wanted;
    std::istringstream words{std::string(one.spelled)};
    std::string name, tune;
    words >> name;
    EXPECT_EQ(wanted.name, name);
    const auto tmpl = test_runtime()->find_template(name).value();
    const auto made =
        Specialization::make(tmpl, bindings_for(*tmpl, wanted), Target::parse("sm_90a").value());
    while (words >> tune)
      EXPECT_NE((made.value().spelling() + " ").find(" " + tune + " "), std::string::npos)
          << made.value().spelling();
  }
}

// A weight in several parts has its kernels for many rows of x in one part too, if it may.
TEST(LinearTable, IfFastHasManyRowsInOnePart) {
  for (const auto& [rows, cols] : kShapes) {
    SCOPED_TRACE(cat(rows, "x", cols));
    const int split = linear_split(rows, cols);
    const auto table = LinearRequest{.split = split}.table(hopper_of(132));
    const auto fast = LinearRequest{.split = split, .fast = true}.table(hopper_of(132));
    const auto in_one_part = [&fast, &rows = rows, &cols = cols](std::int64_t m) {
      return fast[soonest_of(fast, {m, rows, cols})].wanted.fields.find("SPLIT")->number == 1;
    };
    EXPECT_EQ(fast.size() == table.size(), split == 1);
    EXPECT_EQ(in_one_part(64), split == 1);
    if (rows == 4096) EXPECT_TRUE(in_one_part(1024) && in_one_part(8192));
    for (std::int64_t m = 1; m < 9000; m += 7) {
      const auto time = [m, &rows = rows, &cols = cols](const auto& of) {
        return of[soonest_of(of, {m, rows, cols})].tiles.time({m, rows, cols});
      };
      ASSERT_LE(time(fast), time(table)) << m;
    }
  }
}

// Rows that lie together are of tensor cores of a warpgroup as soon as experts have some.
TEST(LinearTable, OnHopperHasKernelsForFewAndForManyRowsOfAnExpert) {
  const DeviceProperties hopper = hopper_of(132);
  for (const RoutingForm form :
       {RoutingForm::indexed, RoutingForm::contiguous, RoutingForm::masked}) {
    for (const LinearKernel& one : LinearExpertsRequest{.form = form}.table(hopper)) {
      const bool many = form != RoutingForm::indexed && one.most_rows > 13;
      EXPECT_EQ(one.wanted.name, many ? "linear_experts_wgmma" : "linear_experts_few");
      EXPECT_EQ(one.mapped(), many);
    }
  }
}

// The soonest tiles on an H200 by rows of an expert on average, where rows are drawn; of 64 rows
// where all experts have as many.
TEST(LinearTable, OnHopperHasTheTilesOfExpertsThatWereTheSoonest) {
  struct Measured {
    int split;
    std::int64_t rows;
    std::string_view name;
    std::int64_t m_tile, warpgroups;  // 0: the template's own
    bool fast = false;
  };
  for (const Measured& one :
       {Measured{1, 8, "linear_experts_few", 16, 0}, Measured{1, 16, "linear_experts_wgmma", 64, 4},
        Measured{1, 48, "linear_experts_wgmma", 64, 4},
        Measured{1, 64, "linear_experts_wgmma", 64, 4},
        Measured{2, 24, "linear_experts_wgmma", 32, 4},
        Measured{4, 24, "linear_experts_wgmma", 32, 4},
        Measured{2, 48, "linear_experts_wgmma", 64, 2},
        Measured{4, 128, "linear_experts_wgmma", 128, 0},
        Measured{2, 24, "linear_experts_wgmma", 32, 4, true},
        Measured{2, 32, "linear_experts_wgmma", 64, 4, true},
        Measured{2, 512, "linear_experts_wgmma", 256, 0, true}}) {
    SCOPED_TRACE(cat(one.rows, " rows in ", one.split));
    const LinearExpertsRequest request{
        .form = RoutingForm::contiguous, .split = one.split, .fast = one.fast};
    const auto table = request.table(hopper_of(132));
    const KernelWanted& wanted = table[soonest_of(table, {one.rows, 4096, 7168})].wanted;
    EXPECT_EQ(wanted.name, one.name);
    EXPECT_EQ(wanted.fields.find("SPLIT")->number, one.fast && one.rows > 26 ? 1 : one.split);
    EXPECT_EQ(wanted.bindings.find("M_TILE")->number, one.m_tile);
    if (one.warpgroups != 0) EXPECT_EQ(wanted.bindings.find("WARPGROUPS")->number, one.warpgroups);
  }
}

// So the first launch behind a pack, which waits for it, may let the next ones fetch weights early.
TEST(PackLinearKernel, NeverLetsTheNextLaunchBeginBeforeItHasEnded) {
  const auto runtime = test_runtime();
  const auto tmpl = runtime->find_template("pack_linear").value();
  EXPECT_FALSE(tmpl->launch().dependent);
  const auto one = runtime->specialize("pack_linear", {}, Target::parse("sm_90a").value()).value();
  EXPECT_EQ(runtime->render(one).value().text.find("griddepcontrol"), std::string::npos);
}

// A weight's sums have the order that it gives them, for ever.
TEST(LinearSplit, IsOfTheWeightsShapeAlone) {
  EXPECT_EQ(linear_split(28672, 8192), 1);
  EXPECT_EQ(linear_split(7168, 2048), 1);
  EXPECT_EQ(linear_split(4096, 4096), 2);
  EXPECT_EQ(linear_split(8192, 28672), 2);
  EXPECT_EQ(linear_split(2048, 16320), 4);
  EXPECT_EQ(linear_split(2048, 16384), 8);
  EXPECT_EQ(linear_split(64, 1 << 20), 8);
}

}  // namespace
}  // namespace diecast
