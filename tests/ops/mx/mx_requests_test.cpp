// Requests of the MX ops: what is read off operands, and what makes no other request.
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
    out.type.format = Format::mxfp8_e4m3;
    out.shape = x.shape;
    if (!rows_alone) out.columnwise.data = elements;
    using Request = PreparedQuantizeMx::Request;
    return Request::of(x, out, MxMode::rceil, grouped).rows == RowsClass::apart;
  };
  EXPECT_TRUE(whole(96, true, false) && whole(96, false, false) && whole(96, true, true));
  EXPECT_TRUE(whole(80, true, false));
  EXPECT_FALSE(whole(80, false, false) || whole(80, true, true) || whole(72, true, false));
}

// How far apart a member's scales are stands in its descriptor, those of tiles in an argument.
TEST(MxRequests, OfGroupsAndTilesAreOneWhateverTheStrides) {
  const Tensor x{nullptr, DType::bf16, {4, 96}};
  std::uint8_t codes[1];
  QuantizedTensor dense;
  dense.type.format = Format::mxfp8_e4m3;
  dense.shape = x.shape;
  dense.rowwise.data = codes;
  QuantizedTensor apart = dense;
  apart.rowwise.scale_stride = 64;
  using Group = PreparedQuantizeMxGrouped::Request;
  using One = PreparedQuantizeMx::Request;
  const auto mode = MxMode::rceil;
  EXPECT_EQ(Group::of(x, dense, mode, true), Group::of(x, apart, mode, true));
  EXPECT_NE(One::of(x, dense, mode), One::of(x, apart, mode));
  dense.columnwise.data = apart.columnwise.data = codes;
  EXPECT_EQ(One::of(x, dense, mode), One::of(x, apart, mode));
}

}  // namespace
}  // namespace diecast
