// The table of kernels by rows: each of its kernels can be made, and some kernel serves any number.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/test_runtime.h"

namespace diecast {
namespace {

TEST(LinearTable, IsOfKernelsThatThereAreOnEveryTarget) {
  for (const char* name : {"host", "sm_80", "sm_90a", "sm_100a"}) {
    const Target target = Target::parse(name).value();
    for (const int split : {1, 2, 8}) {
      for (const Activation activation : {Activation::none, Activation::swiglu_oai}) {
        const LinearRequest request{
            .format = Format::mxfp4, .activation = activation, .split = split};
        DeviceProperties device;
        device.cc = target.cc;
        const auto table = request.table(device);
        ASSERT_FALSE(table.empty());
        EXPECT_LE(table.size(), 8u);
        EXPECT_EQ(table.back().most_rows, std::numeric_limits<std::int64_t>::max());
        std::int64_t before = 0;
        for (const LinearKernel& one : table) {
          EXPECT_GT(one.most_rows, before);
          before = one.most_rows;
          const auto tmpl = test_runtime()->find_template(one.wanted.name).value();
          const auto made = Specialization::make(tmpl, bindings_for(*tmpl, one.wanted), target);
          EXPECT_TRUE(made) << name << ": " << (made ? "" : made.error().message());
        }
      }
    }
  }
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
