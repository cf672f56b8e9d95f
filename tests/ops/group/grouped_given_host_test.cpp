// Members of a group under amaxes of their blocks that a calibration gives, and of FP8: each as by
// itself, to the bit; and what is refused.
#include "ops/grouped_fixture.h"

namespace diecast {
namespace {

class GroupedGivenOnHost : public GroupedOnHost {
 protected:
  // Both sides, either one alone; offsets and counts that either side knows.
  void expect_every_way(GroupWish wish, const std::string& what) {
    for (const Known known : {Known::device, Known::host}) {
      const std::string who = what + (known == Known::host ? ", host" : ", device");
      wish.rowwise = wish.columnwise = true;
      expect_one_by_one(wish, known, who);
      wish.columnwise = false;
      expect_one_by_one(wish, known, who + ", rows");
      std::swap(wish.rowwise, wish.columnwise);
      expect_one_by_one(wish, known, who + ", columns");
    }
  }
  std::string refused(const GroupWish& wish, const QuantizeNvfp4GroupedOptions& options) {
    const std::vector<std::int64_t> offsets = {0, 33, 64};
    const Tensor x = matrix_for(offsets, wish, 3);
    const auto done =
        quantize_nvfp4_grouped(*runtime_, x, group(offsets, wish, Known::device), options);
    return done ? "ok" : done.error().message();
  }
};

TEST_F(GroupedGivenOnHost, AmaxesOfBlocksAreTakenMemberByMember) {
  GroupWish wish;
  wish.profile = Profile::modelopt;
  wish.block_amax = true;
  expect_every_way(wish, "blocks");
  wish.counts = {0, 20, 128, 0, 0, 17};
  expect_every_way(wish, "some rows");
  wish.square = true;
  wish.layout = ScaleLayout::s128x4;
  expect_every_way(wish, "squares, some rows");
  wish.counts.clear();
  wish.bound = 256;
  cols_ = 37;
  expect_every_way(wish, "squares, 37 columns");
}

TEST_F(GroupedGivenOnHost, Fp8IsQuantizedAsByItself) {
  GroupWish plain;
  plain.in = DType::e4m3;
  for (const bool given : {true, false}) {
    const std::string what = given ? "e4m3, amaxes given" : "e4m3";
    GroupWish wish = plain;
    cols_ = 80;
    wish.amax_given = given;
    expect_every_way(wish, what);
    wish.row_scaled = true;
    wish.layout = ScaleLayout::s8x4;
    wish.counts = {0, 20, 128, 0, 0, 17};
    wish.row_gap = 16;
    expect_every_way(wish, what + ", row-scaled, some rows");
    wish = plain;
    wish.amax_given = given;
    wish.square = true;
    wish.four_over_six = FourOverSix::mse;
    wish.row_gap = 3;
    cols_ = 37;
    expect_every_way(wish, what + ", squares, four over six, 37 columns");
  }
}

TEST_F(GroupedGivenOnHost, Fp8IsNotTransformed) {
  GroupWish wish;
  wish.in = DType::e4m3;
  QuantizeNvfp4GroupedOptions options;
  options.device = device_;
  options.rht = TransformedSides::both;
  EXPECT_NE(refused(wish, options).find("(a transform is rounded to x's type: bf16, f16 or f32)"),
            std::string::npos);
}

TEST_F(GroupedGivenOnHost, AmaxesOfBlocksAreOfEverySideThatIsWritten) {
  GroupWish wish;
  wish.profile = Profile::modelopt;
  QuantizeNvfp4GroupedOptions options;
  options.device = device_;
  options.block_amax.rowwise = memory(std::vector<float>(64 * 5, 1.0f));
  EXPECT_EQ(refused(wish, options),
            "diecast: missing_buffer: quantize_nvfp4_grouped: block amaxes of the columns are "
            "missing\n  fix: give those of each direction of out, where the op is prepared for "
            "them");
  wish.columnwise = false;
  EXPECT_EQ(refused(wish, options), "ok");
  wish.profile = Profile::te;
  EXPECT_NE(refused(wish, options).find("(given block amaxes are defined by profile modelopt)"),
            std::string::npos);
}

// Tensors that lie anywhere: their amaxes of blocks lie in one array, in the order of the pairs.
TEST_F(GroupedGivenOnHost, TensorsAnywhereHaveAmaxesOfBlocksInTheirOrder) {
  for (const bool square : {false, true}) {
    std::vector<QuantizedPair> pairs;
    std::vector<std::int64_t> offsets = {0};
    for (const std::int64_t rows : {33, 0, 128, 1}) {
      QuantizedPair pair;
      pair.x = matrix(rows, cols_, static_cast<std::uint64_t>(rows + 1));
      pair.out = output(pair.x, [&](QuantizedTensor& out) {
        out.type.profile = Profile::modelopt;
        out.type.square = square;
      });
      *pair.out.rowwise.amax = *pair.out.columnwise.amax = 3.0f;
      pairs.push_back(pair);
      offsets.push_back(offsets.back() + rows);
    }
    TensorGroup group{pairs, nullptr};
    std::vector<MemberDescriptor> members(pairs.size());
    group.describe(members.data()).value();
    group.members = memory(members);
    QuantizedGroup places;  // where a group would have them
    places.count = group.count();
    places.host_row_offsets = offsets.data();
    places.whole.type.square = square;
    GroupWish wish;
    wish.block_amax = true;
    wish.square = square;
    QuantizeNvfp4Options options;
    options.device = device_;
    give(places, offsets, wish, options);
    quantize_nvfp4_grouped(*runtime_, group, options).value();
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      QuantizedTensor own = output(pairs[i].x, [&](QuantizedTensor& out) {
        out.type.profile = Profile::modelopt;
        out.type.square = square;
      });
      *own.rowwise.amax = *own.columnwise.amax = 3.0f;
      quantize_nvfp4(*runtime_, pairs[i].x, own,
                     of_member(options, places, static_cast<std::int64_t>(i)))
          .value();
      expect_equal(pairs[i].out.rowwise, own.rowwise, "rowwise " + std::to_string(i));
      expect_equal(pairs[i].out.columnwise, own.columnwise, "columnwise " + std::to_string(i));
    }
  }
}

}  // namespace
}  // namespace diecast
