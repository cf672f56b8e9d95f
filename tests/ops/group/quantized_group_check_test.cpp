// Groups: every text that check(), describe() and member() can say.
#include <diecast/ops/group/quantized_group.h>
#include <gtest/gtest.h>
#include <ops/group_buffers.h>

#include <string>
#include <vector>

namespace diecast {
namespace {

TEST(QuantizedGroup, NeedsHostOffsetsToDescribeOrSplit) {
  Group group({0, 3, 40}, 48, ScaleLayout::linear, false);
  group.view.host_row_offsets = nullptr;
  group.view.device_row_offsets = reinterpret_cast<const std::int64_t*>(0x100);
  const std::string text =
      "diecast: not_supported: the row offsets are in device memory only, so the host cannot tell "
      "where a member lies\n  fix: set host_row_offsets, or fill the descriptors on the device";
  MemberDescriptor out[2];
  EXPECT_EQ(group.view.describe(nullptr, out).error().message(), text);
  EXPECT_EQ(group.view.member(0).error().message(), text);
}

TEST(QuantizedGroup, NamesOffsetsThatAreNoOffsets) {
  Group group({0, 3, 40}, 48, ScaleLayout::linear, false);
  const std::string start = "diecast: invalid_argument: quantize_nvfp4: group: ";
  group.offsets[1] = 41;
  EXPECT_EQ(message(group.view),
            start +
                "row offset 2 is 40, below the 41 before it\n"
                "  fix: row offsets never descend; an empty member repeats one");
  group.offsets = {1, 3, 40};
  group.view.host_row_offsets = group.offsets.data();
  EXPECT_EQ(message(group.view), start + "row offset 0 is 1\n  fix: row offsets start at 0");
  group.offsets = {0, 3, 41};
  group.view.host_row_offsets = group.offsets.data();
  EXPECT_EQ(message(group.view), start +
                                     "the last row offset is 41, the group has 40 rows\n"
                                     "  fix: the group's shape holds the rows of all members");
  EXPECT_EQ(group.view.member(0).error().code, ErrorCode::invalid_argument);
  MemberDescriptor out[2];
  EXPECT_EQ(group.view.describe(nullptr, out).error().code, ErrorCode::invalid_argument);
}

TEST(QuantizedGroup, NamesCountsThatAreNoCounts) {
  Group group({0, 3, 40}, 48, ScaleLayout::linear, false);
  std::vector<std::int32_t> counts = {3, 38};
  group.view.host_row_counts = counts.data();
  EXPECT_EQ(
      message(group.view),
      "diecast: invalid_argument: quantize_nvfp4: group: row count 1 is 38, the member has 37 "
      "rows\n  fix: a row count is 0 or more and at most the rows between the member's "
      "offsets");
  counts = {-1, 37};
  group.view.host_row_counts = counts.data();
  EXPECT_EQ(group.view.member(1).error().code, ErrorCode::invalid_argument);
  group.view.host_row_counts = nullptr;
  group.view.device_row_counts = reinterpret_cast<const std::int32_t*>(0x100);
  EXPECT_EQ(message(group.view), "ok");
  EXPECT_EQ(group.view.member(1).error().message(),
            "diecast: not_supported: the row counts are in device memory only, so the host cannot "
            "tell how many rows a member has\n"
            "  fix: set host_row_counts, or fill the descriptors on the device");
}

TEST(QuantizedGroup, NamesWhatIsMissing) {
  Group group({0, 3, 40}, 48, ScaleLayout::linear, false);
  group.view.members = nullptr;
  EXPECT_EQ(message(group.view),
            "diecast: missing_buffer: quantize_nvfp4: group: the descriptors are null\n"
            "  fix: pass device memory for the 2 descriptors of 96 bytes that describe() or the op "
            "makes");
  EXPECT_EQ(group.view.describe(nullptr, nullptr).error().message(),
            "diecast: missing_buffer: the array of descriptors is null\n"
            "  fix: pass room for 2 descriptors of 96 bytes");
  group.view.whole.rowwise.scale_bytes = 119;
  EXPECT_EQ(message(group.view),
            "diecast: shape_mismatch: quantize_nvfp4: group: the rowwise scale buffer has 119 "
            "bytes, [40, 48] nvfp4 with linear scales needs 120\n  fix: allocate 120 bytes");
  group.view.host_row_offsets = nullptr;
  EXPECT_EQ(message(group.view),
            "diecast: missing_buffer: quantize_nvfp4: group: the group has no row offsets\n"
            "  fix: set host_row_offsets or device_row_offsets to 3 numbers");
}

TEST(QuantizedGroup, BoundsAMembersRowsByAllWhereTheDeviceAloneKnowsThem) {
  Group group({0, 3, 40}, 48, ScaleLayout::linear, false);
  group.view.whole.columnwise.scale_stride = 2;
  group.view.host_row_offsets = nullptr;
  group.view.device_row_offsets = reinterpret_cast<const std::int64_t*>(0x100);
  EXPECT_EQ(message(group.view),
            "diecast: shape_mismatch: quantize_nvfp4: group: scale_stride = 2 for 3 scales a row\n"
            "  fix: scale_stride = 3 or more, or 0 for dense rows");
}

TEST(QuantizedGroup, NamesAMemberItDoesNotHave) {
  const Group group({0, 3, 40}, 48, ScaleLayout::linear, false);
  EXPECT_EQ(group.view.member(2).error().message(),
            "diecast: invalid_argument: member 2 of a group of 2\n  fix: members count from 0");
  EXPECT_EQ(group.view.member(-1).error().code, ErrorCode::invalid_argument);
}

TEST(QuantizedGroup, RefusesSizesThatCannotBeComputed) {
  Group group({0, 3, 40}, 48, ScaleLayout::linear, false);
  group.view.count = -1;
  EXPECT_EQ(message(group.view),
            "diecast: invalid_argument: quantize_nvfp4: group: a group of -1 members\n"
            "  fix: count is 0 or more");
  group.view.count = 2;
  group.view.whole.shape = {std::int64_t{1} << 57, 1};
  EXPECT_EQ(
      message(group.view),
      "diecast: shape_mismatch: quantize_nvfp4: group: a group of 144115188075855872 rows has "
      "more than can be padded in 63 bits\n  fix: make smaller groups");
  group.view.whole.shape = {1, std::int64_t{1} << 40};
  group.view.whole.type.row_scaled = true;
  group.view.count = std::int64_t{1} << 30;
  group.view.host_row_offsets = nullptr;
  group.view.device_row_offsets = reinterpret_cast<const std::int64_t*>(0x100);
  EXPECT_EQ(message(group.view),
            "diecast: shape_mismatch: quantize_nvfp4: group: the amax of 1073741824 members with "
            "1099511627776 columns need more entries than fit in 63 bits\n"
            "  fix: make smaller groups");
  group.view.whole.type.e4m3_bound = 1;
  EXPECT_EQ(group.view.rowwise_sizes().error().code, ErrorCode::value_not_allowed);
}

}  // namespace
}  // namespace diecast
