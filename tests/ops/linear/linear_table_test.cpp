// The tables of kernels by rows.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/test_runtime.h"

namespace diecast {
namespace {

// Each of the kernels can be made for the target, and some kernel serves any number of rows.
void expect_whole(const std::vector<LinearKernel>& table, const Target& target) {
  SCOPED_TRACE(target.name());
  ASSERT_FALSE(table.empty());
  EXPECT_LE(table.size(), 8u);
  EXPECT_EQ(table.back().most_rows, LinearKernel::kAnyRows);
  std::int64_t before = 0;
  for (const LinearKernel& one : table) {
    EXPECT_GT(one.most_rows, before);
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
        LinearRequest linear{.format = Format::mxfp4, .activation = activation, .split = split};
        expect_whole(linear.table(device), target);
        LinearExpertsRequest experts{
            .format = Format::mxfp4, .activation = activation, .split = split};
        for (std::size_t form = 0; form < words_of(RoutingForm()).size(); ++form) {
          experts.form = static_cast<RoutingForm>(form);
          expect_whole(experts.table(device), target);
        }
      }
    }
  }
}

// What a layer compiles, whatever the numbers of rows that it will see.
TEST(LinearTable, HasAtMostEightKernelsForAWeight) {
  for (const int cc : {0, 80, 90, 100, 120}) {
    DeviceProperties device;
    device.cc = cc;
    for (const int split : {1, 4}) {
      EXPECT_LE(LinearRequest{.split = split}.kernels(device).size(), 8u) << cc;
      EXPECT_LE(LinearExpertsRequest{.split = split}.kernels(device).size(), 8u) << cc;
    }
  }
}

// Rows that lie together are of tensor cores of a warpgroup as soon as experts have some.
TEST(LinearTable, OnHopperHasKernelsForFewAndForManyRowsOfAnExpert) {
  DeviceProperties hopper;
  hopper.cc = 90;
  for (const RoutingForm form :
       {RoutingForm::indexed, RoutingForm::contiguous, RoutingForm::masked}) {
    for (const LinearKernel& one : LinearExpertsRequest{.form = form}.table(hopper)) {
      const bool many = form != RoutingForm::indexed && one.most_rows > 16;
      EXPECT_EQ(one.wanted.name, many ? "linear_experts_wgmma" : "linear_experts_few");
      EXPECT_EQ(one.mapped(), many);
    }
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
