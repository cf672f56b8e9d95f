// The rule of stochastic rounding and its random numbers: known answers, and what the rule
// promises.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>
#include <diecast/ops/reference/stochastic.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace diecast::reference {
namespace {

TEST(ReferenceStochastic, PhiloxGivesItsKnownAnswers) {
  EXPECT_EQ(philox4x32(0, 0, 0), (RandomBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32(1234, 0, 0), (RandomBlock{0x2090b348, 0xda7cf0ab, 0x4401906f, 0xcbca470e}));
  EXPECT_EQ(philox4x32(1234, 1, 0), (RandomBlock{0xd115a128, 0x52fc7c75, 0xc7f33f17, 0x0f1539db}));
  EXPECT_EQ(philox4x32(1234, 0, 1), (RandomBlock{0x9eeede35, 0x1cbe137c, 0xfa277093, 0x147edd50}));
  EXPECT_EQ(philox4x32(0x123456789ABCDEF0, 5, 7),
            (RandomBlock{0xfe110f5b, 0xdf654570, 0xad95b243, 0x1a5accd7}));
}

TEST(ReferenceStochastic, TheWorkedExample) {
  const std::uint32_t word = philox4x32(1234, 0, 0)[0];
  const float y[] = {0.3f, 1.7f, -2.6f, 4.9f};
  const int codes[] = {0, 4, 13, 6};
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(stochastic_e2m1(y[i], word >> (8 * i) & 255), codes[i]) << y[i];
  }
}

int times_up(float y) {
  int up = 0;
  for (unsigned random = 0; random < 256; ++random) {
    const float value = decode_e2m1(stochastic_e2m1(y, random));
    up += value > y;
  }
  return up;
}

TEST(ReferenceStochastic, GoesUpAsOftenAsTheValueIsNearTheUpperNeighbour) {
  EXPECT_EQ(times_up(0.1f), 51);
  EXPECT_EQ(times_up(0.25f), 128);
  EXPECT_EQ(times_up(3.9f), 230);
  EXPECT_EQ(times_up(5.9f), 243);
}

TEST(ReferenceStochastic, ValuesOfTheGridStayAndWhatIsBeyondItSaturates) {
  for (unsigned random = 0; random < 256; ++random) {
    for (std::uint8_t code = 0; code < 16; ++code) {
      EXPECT_EQ(stochastic_e2m1(decode_e2m1(code), random), code);
    }
    for (const float beyond : {6.0001f, 7.9f, 8.0f, 1e30f, INFINITY}) {
      EXPECT_EQ(stochastic_e2m1(beyond, random), 7);
      EXPECT_EQ(stochastic_e2m1(-beyond, random), 15);
    }
    EXPECT_EQ(stochastic_e2m1(NAN, random), 7);
    EXPECT_EQ(stochastic_e2m1(-NAN, random), 7);
  }
}

TEST(ReferenceStochastic, ZeroRandomBitsRoundTowardsZeroAndKeepTheSign) {
  for (float y = 0.01f; y < 6; y += 0.01f) {
    const float down = decode_e2m1(stochastic_e2m1(y, 0));
    EXPECT_LE(down, y);
    EXPECT_EQ(decode_e2m1(stochastic_e2m1(-y, 0)), -down);
  }
  EXPECT_EQ(stochastic_e2m1(-1e-30f, 0), 8);
}

TEST(ReferenceStochastic, EveryElementHasAByteOfItsOwnUnderFourOverSixToo) {
  Sixteen x;
  x.fill(2.6f);
  x[15] = 6.5f;
  std::set<std::uint32_t> words;
  for (const auto rule : {FourOverSix::off, FourOverSix::mae, FourOverSix::mse}) {
    Nvfp4Options options;
    options.four_over_six = rule;
    options.random = RandomState{1234, 9};
    const Block nearest = quantize_block(x, 6.5f, 7.0f, options);
    for (const std::int64_t index : {0, 1, 77}) {
      Block block = nearest;
      round_stochastically(block, options, index, true);
      const RandomBlock random = philox4x32(1234, static_cast<std::uint64_t>(index) * 2 + 1, 9);
      words.insert(random.begin(), random.end());
      EXPECT_EQ(block.scale, nearest.scale);
      for (std::size_t i = 0; i < 16; ++i) {
        const std::uint32_t byte = random[i / 4] >> (8 * (i % 4)) & 255;
        EXPECT_EQ(block.codes[i], stochastic_e2m1(nearest.scaled[i], byte)) << index << " " << i;
      }
    }
  }
  EXPECT_EQ(words.size(), 12u);  // four words of three blocks, all of them others
}

}  // namespace
}  // namespace diecast::reference
