// Groups: where each member lies in common buffers, with and without padding.
#include <diecast/ops/group/quantized_group.h>
#include <gtest/gtest.h>
#include <ops/group_buffers.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace diecast {
namespace {

void expect_same_place(const QuantizedSide& side, const MemberSide& described) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(side.data), described.data);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(side.scale), described.scale);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(side.amax), described.amax);
}

TEST(MemberDescriptor, IsNinetySixBytesWithoutHoles) {
  MemberDescriptor member;
  member.matrix = 1;
  member.row_begin = 2;
  member.rows = 3;
  member.rowwise = {5, 6, 7, 8};
  member.columnwise = {9, 10, 11, 12};
  std::int64_t words[12];
  ASSERT_EQ(sizeof words, sizeof member);
  std::memcpy(words, &member, sizeof words);
  EXPECT_EQ(std::vector<std::int64_t>(words, words + 12),
            (std::vector<std::int64_t>{1, 2, 3, 0, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST(QuantizedGroup, LaysMembersOneBehindAnother) {
  const Group group({0, 3, 3, 40}, 40, ScaleLayout::linear, false);
  EXPECT_EQ(message(group.view), "ok");
  const QuantizedSide& rowwise = group.view.whole.rowwise;
  EXPECT_EQ(rowwise.data_bytes, 40 * 24);
  EXPECT_EQ(rowwise.scale_bytes, 40 * 3);
  EXPECT_EQ(rowwise.amax_count, 3);
  const auto members = group.describe();
  EXPECT_EQ(members[2].row_begin, 3);
  EXPECT_EQ(members[2].rows, 37);
  EXPECT_EQ(members[2].rowwise.data, 0x1000000u + 3 * 24);
  EXPECT_EQ(members[2].rowwise.scale, 0x2000000u + 3 * 3);
  EXPECT_EQ(members[2].rowwise.amax, 0x3000000u + 2 * 4);
  EXPECT_EQ(members[2].rowwise.scale_stride, 3);
  // The transpose of 3 rows has one padded block a row, that of 37 rows three.
  EXPECT_EQ(members[2].columnwise.data, 0x8000000u + 40 * 8);
  EXPECT_EQ(members[2].columnwise.scale, 0x9000000u + 40 * 1);
  EXPECT_EQ(members[2].columnwise.amax, 0xA000000u + 2 * 4);
  EXPECT_EQ(members[2].columnwise.scale_stride, 3);
  EXPECT_EQ(members[0].columnwise.scale_stride, 1);
  EXPECT_EQ(group.view.whole.columnwise.data_bytes, 40 * 8 + 40 * 24);
  EXPECT_EQ(group.view.whole.columnwise.scale_bytes, 40 * 1 + 40 * 3);
  EXPECT_EQ(members[0].matrix, 0u);
}

TEST(QuantizedGroup, KeepsEmptyMembersWithoutBytes) {
  const Group group({0, 0, 5, 5}, 32, ScaleLayout::s128x4, false);
  EXPECT_EQ(message(group.view), "ok");
  const auto members = group.describe();
  EXPECT_EQ(members[0].rows, 0);
  EXPECT_EQ(members[2].rows, 0);
  EXPECT_EQ(members[0].rowwise.scale, members[1].rowwise.scale);
  EXPECT_EQ(members[2].rowwise.scale, 0x2000000u + 128 * 4);
  EXPECT_EQ(members[2].rowwise.amax, 0x3000000u + 2 * 4);
  EXPECT_EQ(members[2].rowwise.scale_stride, 0);  // tiles
  const QuantizedTensor empty = group.view.member(2).value();
  EXPECT_EQ(empty.shape, (Shape{0, 32}));
  EXPECT_EQ(empty.rowwise.data_bytes, 0);
  EXPECT_EQ(empty.rowwise.scale_bytes, 0);
  EXPECT_EQ(empty.rowwise.amax_count, 1);
  EXPECT_TRUE(empty.check("op", "member"));
}

TEST(QuantizedGroup, PadsEachMembersScalesAsTheLayoutWants) {
  const Group group({0, 130, 131}, 80, ScaleLayout::s128x4, false);
  const auto members = group.describe();
  EXPECT_EQ(members[1].rowwise.scale, 0x2000000u + 256 * 8);
  EXPECT_EQ(group.view.whole.rowwise.scale_bytes, (256 + 128) * 8);
  // Transposed: [80, 130] has ceil(130 / 16) = 9 scale columns, padded to 12; [80, 1] one, to 4.
  EXPECT_EQ(members[1].columnwise.scale, 0x9000000u + 128 * 12);
  EXPECT_EQ(group.view.whole.columnwise.scale_bytes, 128 * (12 + 4));
  EXPECT_EQ(Group({0, 9, 10}, 80, ScaleLayout::s8x4, false).describe()[1].rowwise.scale,
            0x2000000u + 16 * 8);
}

TEST(QuantizedGroup, RowScaledHasItsAmaxAtTheMembersFirstRow) {
  const Group group({0, 3, 3, 40}, 48, ScaleLayout::linear, true);
  EXPECT_EQ(message(group.view), "ok");
  EXPECT_EQ(group.view.whole.rowwise.amax_count, 40);
  EXPECT_EQ(group.view.whole.columnwise.amax_count, 3 * 48);
  const auto members = group.describe();
  EXPECT_EQ(members[1].rowwise.amax, 0x3000000u + 3 * 4);
  EXPECT_EQ(members[2].rowwise.amax, 0x3000000u + 3 * 4);
  EXPECT_EQ(members[2].columnwise.amax, 0xA000000u + 2 * 48 * 4);
  const QuantizedTensor last = group.view.member(2).value();
  EXPECT_EQ(last.rowwise.amax_count, 37);
  EXPECT_EQ(last.columnwise.amax_count, 48);
}

TEST(QuantizedGroup, SplitsIntoMembersThatLieWhereTheDescriptorsSay) {
  for (auto layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    for (const bool row_scaled : {false, true}) {
      const Group group({0, 0, 7, 200, 200, 456}, 112, layout, row_scaled);
      const auto members = group.describe();
      for (std::int64_t i = 0; i < group.view.count; ++i) {
        SCOPED_TRACE(::testing::Message() << word(layout) << " " << row_scaled << " " << i);
        const QuantizedTensor own = group.view.member(i).value();
        const MemberDescriptor& member = members[static_cast<std::size_t>(i)];
        EXPECT_TRUE(own.check("op", "member"));
        EXPECT_EQ(own.shape, (Shape{member.rows, 112}));
        expect_same_place(own.rowwise, member.rowwise);
        expect_same_place(own.columnwise, member.columnwise);
        // Each ends where the next begins, the last one where the buffers end.
        const bool last = i + 1 == group.view.count;
        const MemberSide& after = last ? member.rowwise : members[i + 1].rowwise;
        const QuantizedSide& whole = group.view.whole.rowwise;
        EXPECT_EQ(member.rowwise.data + own.rowwise.data_bytes,
                  last ? 0x1000000u + whole.data_bytes : after.data);
        EXPECT_EQ(member.rowwise.scale + own.rowwise.scale_bytes,
                  last ? 0x2000000u + whole.scale_bytes : after.scale);
      }
    }
  }
}

TEST(QuantizedGroup, CountsLeaveMembersWhereTheyAre) {
  Group group({0, 128, 256}, 80, ScaleLayout::s128x4, true);
  const auto full = group.describe();
  const std::vector<std::int32_t> counts = {3, 70};
  group.view.host_row_counts = counts.data();
  EXPECT_EQ(message(group.view), "ok");
  const auto members = group.describe();
  for (std::size_t i = 0; i < 2; ++i) {
    MemberDescriptor want = full[i];
    want.rows = counts[i];
    EXPECT_EQ(std::memcmp(&members[i], &want, sizeof want), 0) << i;
  }
  // What lies there is a tensor of the real rows.
  const QuantizedTensor last = group.view.member(1).value();
  EXPECT_EQ(last.shape, (Shape{70, 80}));
  EXPECT_EQ(last.rowwise.amax_count, 70);
  EXPECT_EQ(last.columnwise.data_bytes, 80 * 40);
  expect_same_place(last.columnwise, members[1].columnwise);
}

TEST(QuantizedGroup, PlacesTheUnquantizedMatrixByItsStride) {
  const Group group({0, 3, 40}, 48, ScaleLayout::linear, false);
  Tensor matrix{reinterpret_cast<void*>(0x40000), DType::bf16, {40, 48}, 64};
  EXPECT_EQ(group.describe(&matrix)[1].matrix, 0x40000u + 3 * 64 * 2);
  matrix.shape = {40, 32};
  MemberDescriptor out[2];
  EXPECT_EQ(group.view.describe(&matrix, out).error().message(),
            "diecast: shape_mismatch: matrix is [40, 32], the group [40, 48]\n"
            "  fix: the unquantized matrix has the group's rows and columns");
  matrix.data = nullptr;
  EXPECT_EQ(group.view.describe(&matrix, out).error().code, ErrorCode::missing_buffer);
  // One row has no next one, however far that would be.
  const Group one({0, 1}, 48, ScaleLayout::linear, false);
  const Tensor row{reinterpret_cast<void*>(0x40000), DType::bf16, {1, 48}, INT64_MAX};
  EXPECT_EQ(one.describe(&row)[0].matrix, 0x40000u);
}

TEST(QuantizedGroup, LeavesAbsentDirectionsAtZero) {
  Group group({0, 3, 40}, 48, ScaleLayout::linear, false);
  group.view.whole.columnwise = {};
  EXPECT_EQ(message(group.view), "ok");
  EXPECT_EQ(group.describe()[1].columnwise.data, 0u);
  EXPECT_EQ(group.describe()[1].columnwise.scale_stride, 0);
  EXPECT_FALSE(group.view.member(1).value().columnwise.present());
}

TEST(QuantizedGroup, KeepsTheRowsOfLinearScalesApart) {
  Group group({0, 3, 3, 40}, 40, ScaleLayout::linear, false);
  QuantizedSide &rowwise = group.view.whole.rowwise, &columnwise = group.view.whole.columnwise;
  rowwise.scale_stride = 8, rowwise.scale_bytes = 39 * 8 + 3;
  columnwise.scale_stride = 4, columnwise.scale_bytes = (3 * 40 - 1) * 4 + 3;
  EXPECT_EQ(message(group.view), "ok");
  const auto members = group.describe();
  EXPECT_EQ(members[2].rowwise.scale, 0x2000000u + 3 * 8);
  EXPECT_EQ(members[2].rowwise.scale_stride, 8);
  EXPECT_EQ(members[2].columnwise.scale, 0x9000000u + 2 * 40 * 4);
  EXPECT_EQ(members[2].columnwise.scale_stride, 4);
  const QuantizedTensor last = group.view.member(2).value();
  EXPECT_TRUE(last.check("op", "member"));
  EXPECT_EQ(last.rowwise.scale_stride, 8);
  EXPECT_EQ(last.rowwise.scale_bytes, 36 * 8 + 3);
  EXPECT_EQ(last.columnwise.scale_bytes, 39 * 4 + 3);
  columnwise.scale_bytes -= 1;
  EXPECT_EQ(message(group.view),
            "diecast: shape_mismatch: quantize_nvfp4: group: the columnwise scale buffer has 478 "
            "bytes, [40, 40] nvfp4 with linear scales needs 479\n  fix: allocate 479 bytes");
  columnwise.scale_stride = 2;
  EXPECT_EQ(message(group.view),
            "diecast: shape_mismatch: quantize_nvfp4: group: scale_stride = 2 for 3 scales a row\n"
            "  fix: scale_stride = 3 or more, or 0 for dense rows");
  // Whose offsets the device alone knows may have all rows in one member.
  columnwise = {};
  rowwise.scale_stride = 2;
  group.view.host_row_offsets = nullptr;
  group.view.device_row_offsets = reinterpret_cast<const std::int64_t*>(0x100);
  EXPECT_EQ(group.view.check("op").error().code, ErrorCode::shape_mismatch);
}

TEST(QuantizedGroup, AllowsRowsBehindTheLastOffset) {
  Group group({0, 3, 40}, 48, ScaleLayout::linear, true);
  group.view.whole.shape = {64, 48};
  EXPECT_EQ(message(group.view),
            "diecast: shape_mismatch: quantize_nvfp4: group: the rowwise amax has 40 entries where "
            "row_scaled = true needs 64\n  fix: amax_count = 64, or row_scaled = false");
  group.view.whole.rowwise.amax_count = 64;
  EXPECT_EQ(message(group.view), "ok");
  EXPECT_EQ(group.view.member(1).value().rows(), 37);
}

TEST(QuantizedGroup, OfNoMembersIsFine) {
  const Group group({0}, 48, ScaleLayout::s128x4, false);
  EXPECT_EQ(message(group.view), "ok");
  EXPECT_TRUE(group.view.describe(nullptr, nullptr));
}

TEST(QuantizedGroup, BoundsItsBuffersWhenOnlyTheDeviceKnowsTheOffsets) {
  for (auto layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    SCOPED_TRACE(word(layout));
    QuantizedGroup group;
    group.whole.shape = {300, 80};
    group.whole.type.layout = layout;
    group.count = 4;
    group.device_row_offsets = reinterpret_cast<const std::int64_t*>(0x100);
    const QuantizedSide rowwise = group.rowwise_sizes().value();
    const QuantizedSide columnwise = group.columnwise_sizes().value();
    std::int64_t most_scales = 0, most_data_down = 0, most_scales_down = 0;
    for (std::int64_t a = 0; a <= 300; a += 3) {
      for (std::int64_t b = a; b <= 300; b += 7) {
        for (std::int64_t c = b; c <= 300; c += 17) {
          const Offsets offsets = {0, a, b, c, 300};
          group.host_row_offsets = offsets.data();
          most_scales = std::max(most_scales, group.rowwise_sizes().value().scale_bytes);
          const QuantizedSide down = group.columnwise_sizes().value();
          most_data_down = std::max(most_data_down, down.data_bytes);
          most_scales_down = std::max(most_scales_down, down.scale_bytes);
        }
      }
    }
    EXPECT_EQ(rowwise.data_bytes, 300 * 40);
    EXPECT_EQ(most_scales, rowwise.scale_bytes);
    EXPECT_EQ(most_data_down, columnwise.data_bytes);
    EXPECT_EQ(most_scales_down, columnwise.scale_bytes);
  }
}

}  // namespace
}  // namespace diecast
