// Requests of the MX ops: what is read off operands, and what makes no other word.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

// Half a block at the end of a row is whole to quantize_mx, which alone takes halves of blocks.
TEST(MxRequests, KnowWhatIsWhole) {
  alignas(16) static std::uint16_t elements[4 * 96];
  const auto whole = [](std::int64_t cols, bool rows_alone, bool grouped) {
    const Tensor x{elements, DType::bf16, {4, cols}};
    QuantizedTensor out;
    out.format = Format::mxfp8_e4m3;
    out.shape = x.shape;
    if (!rows_alone) out.columnwise.data = elements;
    using Request = PreparedQuantizeMx::Request;
    return Request::of(x, out, MxMode::rceil, grouped).whole_blocks;
  };
  EXPECT_TRUE(whole(96, true, false) && whole(96, false, false) && whole(96, true, true));
  EXPECT_TRUE(whole(80, true, false));
  EXPECT_FALSE(whole(80, false, false) || whole(80, true, true) || whole(72, true, false));
}

// How far apart a member's scales are stands in its descriptor, those of tiles in an argument.
TEST(MxRequests, OfGroupsAndTilesAreOneWhateverTheStrides) {
  PreparedQuantizeMxGrouped::Request group, apart_group;
  apart_group.scales_apart = true;
  EXPECT_EQ(group.word(), apart_group.word());
  PreparedQuantizeMx::Request tiles{.columnwise = true}, apart_tiles = tiles;
  apart_tiles.scales_apart = true;
  EXPECT_EQ(tiles.word(), apart_tiles.word());
  EXPECT_EQ(tiles.bindings(false), apart_tiles.bindings(false));
}

}  // namespace
}  // namespace diecast
