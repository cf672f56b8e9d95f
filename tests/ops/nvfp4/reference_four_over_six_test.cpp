// Four over six and the Hadamard transform by worked examples.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>
#include <gtest/gtest.h>
#include <ops/host_matrix.h>
#include <ops/second_formulations.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace diecast::reference {
namespace {

using second::bits_of;
using Bytes = std::vector<std::uint8_t>;
using second::kNaN;

constexpr Sixteen kA = {4, 3, -2, 1.5f, -1, .5f, 0, 4, -3, 2, 1.5f, 1, .5f, -.5f, 3, -4};
constexpr Sixteen kB = {6, 4, -3, 2, -1.5f, 1, .5f, 0, -6, 4, 3, 2, 1.5f, -1, .5f, 6};
constexpr Sixteen kC = {5, 5, 5, 5, -5, 1, 1, 1, 2, 2, 2, -2, 3, 3, .5f, .25f};

Bytes packed(const Block& block) {
  Bytes out;
  for (std::size_t i = 0; i < 16; i += 2) {
    out.push_back(static_cast<std::uint8_t>(block.codes[i] + block.codes[i + 1] * 16));
  }
  return out;
}

TEST(FourOverSix, ABlockThatFourServesExactly) {
  const Bytes data = {0x56, 0x3C, 0x1A, 0x60, 0x4D, 0x23, 0x91, 0xE5};
  const Candidates absolute = four_over_six(kA, 4, 6, 256, false);
  EXPECT_EQ(absolute.four.scale, 0x78);
  EXPECT_EQ(absolute.six.scale, 0x73);
  EXPECT_EQ(absolute.error_four, 0.0f);
  EXPECT_EQ(absolute.error_six, 2.03125f);
  EXPECT_EQ(packed(absolute.chosen()), data);
  EXPECT_EQ(four_over_six(kA, 4, 6, 256, true).error_six, 0.3486328125f);
  const Candidates full = four_over_six(kA, 4, 6, 448, false);
  EXPECT_EQ(full.four.scale, 0x7E);
  EXPECT_EQ(full.six.scale, 0x79);
  EXPECT_EQ(full.error_six, 2.7857139f);
  EXPECT_NEAR(four_over_six(kA, 4, 6, 448, true).error_six, 0.7780612f, 1e-7f);
  EXPECT_EQ(packed(full.chosen()), data);
}

TEST(FourOverSix, TiesGoToSix) {
  const Bytes data = {0x67, 0x4D, 0x2B, 0x01, 0x6F, 0x45, 0xA3, 0x71};
  const Candidates half = four_over_six(kB, 6, 6, 256, false);
  EXPECT_EQ(half.error_four, 2.5f);
  EXPECT_EQ(half.error_six, 0.0f);
  EXPECT_EQ(packed(half.chosen()), data);
  const Candidates full = four_over_six(kB, 6, 6, 448, false);  // 448 * 1.5 is cut off
  EXPECT_EQ(full.four, full.six);
  EXPECT_EQ(full.error_four, full.error_six);
  EXPECT_EQ(packed(full.chosen()), data);
}

TEST(FourOverSix, TheBoundDecidesWhatRoomFourHas) {
  const Candidates half = four_over_six(kC, 5, 7, 256, false);
  EXPECT_EQ(half.four.scale, 0x79);
  EXPECT_EQ(half.six.scale, 0x73);
  EXPECT_EQ(bits_of(half.error_four), 0x405E0000u);
  EXPECT_EQ(bits_of(half.error_six), 0x40720002u);
  EXPECT_EQ(packed(half.chosen()), (Bytes{0x66, 0x66, 0x2E, 0x22, 0x33, 0xB3, 0x44, 0x01}));
  const Candidates squares = four_over_six(kC, 5, 7, 256, true);
  EXPECT_EQ(bits_of(squares.error_four), 0x3F7A4000u);
  EXPECT_EQ(bits_of(squares.error_six), 0x3F850C72u);
  const Candidates full = four_over_six(kC, 5, 7, 448, false);
  EXPECT_EQ(full.four.scale, 0x7E);
  EXPECT_EQ(full.six.scale, 0x7A);
  EXPECT_EQ(bits_of(full.error_four), 0x40900002u);
  EXPECT_EQ(full.error_six, 2.75f);
  EXPECT_EQ(packed(full.chosen()), (Bytes{0x77, 0x77, 0x2F, 0x22, 0x44, 0xC4, 0x66, 0x11}));
}

TEST(FourOverSix, EncodeScales) {
  EXPECT_EQ(four_over_six_encode_scale(6.0f, 256), 256.0f);
  EXPECT_EQ(bits_of(four_over_six_encode_scale(7.0f, 256)), 0x435B6DB7u);
  EXPECT_EQ(four_over_six_encode_scale(7.0f, 448), 384.0f);
  EXPECT_EQ(four_over_six_encode_scale(0.0f, 256), 1.0f);
  EXPECT_EQ(four_over_six_encode_scale(std::numeric_limits<float>::infinity(), 256), 1.0f);
}

// An amax of 0 is quantized like any other: nothing is left unwritten.
TEST(FourOverSix, ZerosKeepTheirSigns) {
  Sixteen zeros{};
  zeros[1] = -0.0f;
  for (const float amax : {0.0f, 5.0f}) {
    const Candidates both = four_over_six(zeros, 0, amax, 256, false);
    EXPECT_EQ(both.chosen().scale, 0);
    EXPECT_EQ(both.chosen().codes[1], 8);
    EXPECT_EQ(both.chosen().codes[0], 0);
  }
}

TEST(FourOverSix, ErrorsThatAreNaNGoToSix) {
  Sixteen x = kA;
  x[6] = kNaN;
  const Candidates both = four_over_six(x, 4, 6, 256, false);
  EXPECT_NE(both.error_four, both.error_four);
  EXPECT_EQ(both.chosen(), both.six);
  EXPECT_EQ(both.chosen().codes[6], 7);
}

// Small errors behind a large one vanish one by one; before it they add up first.
TEST(FourOverSix, ErrorsAreAddedInTheOrderOfTheElements) {
  Sixteen x;
  x.fill(0.3f);
  x[0] = 0x1p24f;  // far above the amax given: it saturates
  Sixteen reversed;
  std::reverse_copy(x.begin(), x.end(), reversed.begin());
  const Candidates forth = four_over_six(x, 6, 6, 256, false);
  const Candidates back = four_over_six(reversed, 6, 6, 256, false);
  EXPECT_LT(forth.error_six, back.error_six);
  EXPECT_LT(forth.error_four, back.error_four);
}

constexpr unsigned kSigns = kHadamardSigns;

TEST(Hadamard, ExactRows) {
  Sixteen unit{}, ones, count;
  unit[0] = 1;
  for (std::size_t i = 0; i < 16; ++i) ones[i] = 1, count[i] = static_cast<float>(i);
  Sixteen quarter;
  quarter.fill(0.25f);
  EXPECT_EQ(hadamard(unit, kSigns), quarter);
  EXPECT_EQ(hadamard(ones, kSigns), (Sixteen{-1, 0, 1, 0, 1, 0, -1, 0, 1, 2, 1, 0, 1, 0, 1, -2}));
  EXPECT_EQ(hadamard(count, kSigns), (Sixteen{-14.5f, -7.5f, 6.5f, -0.5f, 6.5f, -0.5f, -14.5f, 8.5f,
                                              7.5f, 14.5f, 0.5f, 1.5f, 0.5f, -2.5f, 9.5f, -15.5f}));
}

TEST(Hadamard, IsItsOwnInverseButForTheSigns) {
  Sixteen x;
  for (std::size_t i = 0; i < 16; ++i) x[i] = static_cast<float>(i * i % 23) - 9.0f;
  Sixteen back = hadamard(hadamard(x, kSigns), 0);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ((kSigns >> i & 1u) != 0 ? -back[i] : back[i], x[i]) << i;
  }
}

// Sums run over neighbours of distance 1 first, then 2, 4, 8: an order that rounds as said.
TEST(Hadamard, SumsAreRoundedFromTheNearestNeighboursOn) {
  Sixteen x{};
  x[0] = 1.0f;
  x[1] = 0x1p-24f;
  x[2] = 0x1p-24f;  // (1 + 2^-24) rounds to 1, and again; 2^-24 + 2^-24 would not
  EXPECT_EQ(hadamard(x, 0)[0], 0.25f);
  x[3] = 0x1p-24f;  // with x[2]: 2^-23, which is kept
  EXPECT_EQ(hadamard(x, 0)[0], 0.25f * (1.0f + 0x1p-23f));
}

TEST(Hadamard, AmaxIsOfTheRoundedResult) {
  HostMatrix x(DType::bf16, 1, 16);
  x.fill([](std::int64_t, std::int64_t col) { return col < 3 ? 1.0f + 0x1p-7f : 0.0f; });
  Nvfp4Options options;
  options.rht = true;
  const float exact = 0.75f * (1.0f + 0x1p-7f);
  EXPECT_EQ(amax(x.view(), options).value()[0], decode_bf16(encode_bf16(exact)));
}

}  // namespace
}  // namespace diecast::reference
