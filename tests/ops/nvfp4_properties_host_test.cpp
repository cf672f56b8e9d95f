// quantize_nvfp4's edges and properties on the host.
#include "ops/nvfp4_properties.h"

namespace diecast::testing {
namespace {

class Nvfp4OnHost : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_host_device({});
    if (!opened) GTEST_SKIP() << opened.error().message();
    device_ = *opened;
  }
  std::shared_ptr<Device> device_;
};

TEST_F(Nvfp4OnHost, EdgesAreAsTheReferenceHasThem) { expect_edges_as_the_reference(device_); }
TEST_F(Nvfp4OnHost, TransformsAreAsTheReferenceHasThem) {
  expect_transforms_as_the_reference(device_);
}
TEST_F(Nvfp4OnHost, EveryPatternIsAsTheReferenceHasIt) {
  expect_every_pattern_as_the_reference(device_);
}
TEST_F(Nvfp4OnHost, RowsAreTheSameOneByOne) { expect_rows_one_by_one(device_); }
TEST_F(Nvfp4OnHost, APowerOfTwoChangesTheAmaxAlone) {
  expect_powers_of_two_change_nothing(device_);
}
TEST_F(Nvfp4OnHost, EqualAmaxesOfRowsAreOneAmax) { expect_equal_amaxes_to_be_one(device_); }
TEST_F(Nvfp4OnHost, LayoutsMoveBytesAlone) { expect_layouts_to_move_bytes_alone(device_); }

}  // namespace
}  // namespace diecast::testing
