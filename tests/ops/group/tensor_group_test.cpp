// Groups of tensors that lie anywhere: their descriptors, and every text that check() can say.
#include <diecast/ops/group/tensor_group.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace diecast {
namespace {

template <class T = void>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

// Rowwise buffers of exactly the pair's size, at addresses that nobody reads.
QuantizedPair pair_of(std::int64_t rows, std::int64_t cols, std::uintptr_t base) {
  QuantizedPair pair;
  pair.x = {at<>(base), DType::bf16, Shape{rows, cols}, 0, nullptr};
  pair.out.shape = pair.x.shape;
  QuantizedSide& side = pair.out.rowwise;
  side = pair.out.rowwise_sizes().value();
  side.data = at<>(base + 0x1000), side.scale = at<>(base + 0x2000);
  side.amax = at<float>(base + 0x3000);
  return pair;
}

std::string refused(const std::vector<QuantizedPair>& pairs) {
  const auto checked = TensorGroup{pairs, at<MemberDescriptor>(0x10)}.check("op");
  return checked ? "ok" : checked.error().message();
}

TEST(TensorGroup, DescribesEachPairWhereItLies) {
  std::vector<QuantizedPair> pairs = {pair_of(3, 80, 0x10000), pair_of(20, 80, 0x50000)};
  pairs[1].x.row_stride = 96;
  pairs[1].out.columnwise = pairs[1].out.columnwise_sizes().value();
  pairs[1].out.columnwise.data = at<>(0x60000), pairs[1].out.columnwise.scale = at<>(0x70000);
  pairs[1].out.columnwise.amax = at<float>(0x80000);
  pairs[1].out.rowwise.scale_stride = 8;
  pairs[1].out.rowwise.scale_bytes = 19 * 8 + 5;
  pairs[0].out.columnwise = pairs[1].out.columnwise;
  const TensorGroup group{pairs, nullptr};
  EXPECT_EQ(group.rows(), 23);
  EXPECT_EQ(group.cols(), 80);
  MemberDescriptor members[2];
  group.describe(members).value();
  EXPECT_EQ(members[1].matrix, 0x50000u);
  EXPECT_EQ(members[1].row_begin, 3);
  EXPECT_EQ(members[1].rows, 20);
  EXPECT_EQ(members[1].stride, 96);
  EXPECT_EQ(members[1].rowwise.data, 0x51000u);
  EXPECT_EQ(members[1].rowwise.scale, 0x52000u);
  EXPECT_EQ(members[1].rowwise.amax, 0x53000u);
  EXPECT_EQ(members[1].rowwise.scale_stride, 8);
  EXPECT_EQ(members[0].rowwise.scale_stride, 5);
  EXPECT_EQ(members[1].columnwise.data, 0x60000u);
  EXPECT_EQ(members[1].columnwise.scale_stride, 2);
  EXPECT_EQ(members[0].columnwise.scale_stride, 1);
}

TEST(TensorGroup, NamesThePairThatIsWrong) {
  const std::vector<QuantizedPair> good = {pair_of(3, 80, 0x10000), pair_of(20, 80, 0x50000)};
  EXPECT_EQ(refused(good), "ok");
  auto pairs = good;
  pairs[1].x.data = nullptr;
  EXPECT_NE(refused(pairs).find("op: pair 1: x"), std::string::npos) << refused(pairs);
  pairs = good;
  pairs[1].out.rowwise.scale_bytes = 99;
  EXPECT_EQ(refused(pairs),
            "diecast: shape_mismatch: op: pair 1: out: the rowwise scale buffer has 99 bytes, [20, "
            "80] nvfp4 with linear scales needs 100\n  fix: allocate 100 bytes");
  pairs = good;
  pairs[1].x.shape = {19, 80};
  EXPECT_EQ(refused(pairs),
            "diecast: shape_mismatch: op: pair 1: x is [19, 80], out is [20, 80]\n"
            "  fix: describe out with shape [19, 80]");
  pairs = good;
  pairs[1].x.device_rows = at<const std::int64_t>(0x100);
  EXPECT_EQ(refused(pairs),
            "diecast: not_supported: op: pair 1: x has a row count in device memory\n"
            "  fix: leave x.device_rows null, or make a QuantizedGroup with row counts");
}

TEST(TensorGroup, NamesWhatPairsDoNotHaveInCommon) {
  EXPECT_EQ(refused({pair_of(3, 80, 0x10000), pair_of(20, 64, 0x50000)}),
            "diecast: shape_mismatch: op: pairs of 80 and of 64 columns\n"
            "  fix: make a group of each number of columns");
  std::vector<QuantizedPair> pairs = {pair_of(3, 80, 0x10000), pair_of(20, 80, 0x50000)};
  pairs[1].x.dtype = DType::f16;
  EXPECT_EQ(refused(pairs),
            "diecast: dtype_mismatch: op: pair 1: x is f16, others are bf16\n"
            "  fix: give matrices of one type");
  pairs[1].x.dtype = DType::bf16;
  pairs[1].out.type.profile = Profile::modelopt;
  EXPECT_EQ(refused(pairs),
            "diecast: not_supported: op: pair 1: out differs from others in format, block, layout, "
            "profile, bound, row scaling or directions\n"
            "  fix: describe all outputs alike, or make a group of each kind");
  const std::int64_t half = std::int64_t{1} << 62;
  EXPECT_EQ(refused({pair_of(half, 0, 0x10000), pair_of(half, 0, 0x10000)}),
            "diecast: shape_mismatch: op: 2 pairs have more rows than fit in 63 bits\n"
            "  fix: make smaller groups");
}

TEST(TensorGroup, NamesDescriptorsThatAreMissing) {
  const std::vector<QuantizedPair> pairs = {pair_of(3, 80, 0x10000)};
  const TensorGroup group{pairs, nullptr};
  EXPECT_EQ(group.check("op").error().message(),
            "diecast: missing_buffer: op: the descriptors are null\n"
            "  fix: describe() the pairs and copy the 1 descriptors to device memory");
  EXPECT_EQ(group.describe(nullptr).error().message(),
            "diecast: missing_buffer: the array of descriptors is null\n"
            "  fix: pass room for 1 descriptors of 96 bytes");
  EXPECT_TRUE(TensorGroup{}.check("op"));
  EXPECT_TRUE(TensorGroup{}.describe(nullptr));
}

}  // namespace
}  // namespace diecast
