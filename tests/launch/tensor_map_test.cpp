// What the driver is asked about a matrix of boxes, and what is refused before.
#include <diecast/launch/host_device.h>
#include <diecast/launch/tensor_map.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake/cuda_script.h"

namespace diecast {
namespace {

class TensorMapTest : public ::testing::Test {
 protected:
  Result<cuda::TensorMap> map(const MatrixOfBoxes& matrix) {
    return map_boxes(*cuda_.device(), matrix);
  }
  void* at(std::uint64_t address) { return reinterpret_cast<void*>(address); }

  testing::FakeCuda cuda_;
};

TEST_F(TensorMapTest, SaysWhereAMatrixLies) {
  const auto map = this->map({DType::bf16, at(0x1000), 300, 200, 208});
  ASSERT_TRUE(map) << map.error().message();
  const std::vector<std::uint64_t> words(map->words, map->words + 8);
  EXPECT_EQ(words, (std::vector<std::uint64_t>{0x1000, 9, 200, 300, 416, 64, 64, 0}));
  EXPECT_EQ(this->map({DType::f16, at(0x1000), 1, 8, 8})->words[1], 6u);
}

TEST_F(TensorMapTest, AnEmptyMatrixHasOne) {
  EXPECT_EQ(map({DType::f16, at(0), 0, 64, 64})->words[3], 1u);
  EXPECT_EQ(map({DType::f16, at(0), 4, 0, 0})->words[4], 16u);
}

TEST_F(TensorMapTest, RefusesWhatBulkCopiesCannotRead) {
  const MatrixOfBoxes refused[] = {{DType::f32, at(0x1000), 8, 64, 64},
                                   {DType::bf16, at(0x1008), 8, 64, 64},
                                   {DType::bf16, at(0x1000), 8, 64, 68},
                                   {DType::bf16, at(0x1000), 8, 64, 56},
                                   {DType::bf16, at(0x1000), -1, 64, 64}};
  for (const MatrixOfBoxes& one : refused) {
    const auto map = this->map(one);
    ASSERT_FALSE(map);
    EXPECT_EQ(map.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(map.error().fix, "");
  }
  EXPECT_EQ(cuda_->count("cuTensorMapEncodeTiled"), 0);
}

TEST_F(TensorMapTest, ADriverWithoutIsNamed) {
  cuda_->missing = {"cuTensorMapEncodeTiled"};
  const auto map = this->map({DType::bf16, at(0x1000), 8, 64, 64});
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().code, ErrorCode::driver_unavailable);
  EXPECT_NE(map.error().what.find("lacks"), std::string::npos);
}

TEST_F(TensorMapTest, TheHostHasNone) {
  const auto host = open_host_device();
  if (!host) GTEST_SKIP() << host.error().message();
  const auto map = map_boxes(**host, {DType::bf16, at(0x1000), 8, 64, 64});
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().code, ErrorCode::not_supported);
}

TEST_F(TensorMapTest, WhatTheDriverSaysIsPassedOn) {
  cuda_->fail["cuTensorMapEncodeTiled"][1] = cuda::invalid_value;
  const auto map = this->map({DType::bf16, at(0x1000), 8, 64, 64});
  ASSERT_FALSE(map);
  EXPECT_NE(map.error().what.find("cuTensorMapEncodeTiled"), std::string::npos);
}

}  // namespace
}  // namespace diecast
