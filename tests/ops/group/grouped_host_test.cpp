// A group in one launch is its members one by one, to the bit: row offsets and counts on the host
// or on the device alone, empty members, rows of NaN, padding that is never seen, poison
// everywhere.
#include <sys/mman.h>

#include <random>

#include "how_many.h"
#include "ops/grouped_fixture.h"

namespace diecast {
namespace {

constexpr auto kNone = TransformedSides::none, kBoth = TransformedSides::both;

TEST_F(GroupedOnHost, EqualsOneByOne) {
  expect_one_by_one({}, Known::device, "plain, device offsets");
  expect_one_by_one({}, Known::host, "plain, host offsets");
  expect_one_by_one({true}, Known::device, "row-scaled");
  expect_one_by_one({true}, Known::host, "row-scaled, host offsets");
  expect_one_by_one({false, TransformedSides::columnwise}, Known::device, "transformed columns");
  expect_one_by_one({true, kBoth, false, ScaleLayout::s128x4}, Known::device, "all of it");
  expect_one_by_one({false, kNone, true, ScaleLayout::s8x4}, Known::device, "squares");
  expect_one_by_one({false, TransformedSides::rowwise, true, ScaleLayout::s128x4, FourOverSix::mse},
                    Known::host, "squares, transformed, four over six");
}

TEST_F(GroupedOnHost, EqualsOneByOneWithFourOverSixInEveryLayout) {
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    GroupWish wish{true, kBoth, false, layout, FourOverSix::mae};
    expect_one_by_one(wish, Known::device, std::string(word(layout)));
  }
}

TEST_F(GroupedOnHost, EqualsOneByOneInOneDirectionAlone) {
  for (const bool row_scaled : {false, true}) {
    GroupWish wish{row_scaled, TransformedSides::none, false, ScaleLayout::s128x4};
    wish.columnwise = false;
    expect_one_by_one(wish, Known::device, "rowwise");
    std::swap(wish.rowwise, wish.columnwise);
    expect_one_by_one(wish, Known::host, "columnwise");
  }
}

TEST_F(GroupedOnHost, ScalesMayBeApart) {
  GroupWish wish;
  wish.scale_gap = 3;
  expect_one_by_one(wish, Known::device, "device offsets");
  wish.row_scaled = true;
  expect_one_by_one(wish, Known::host, "row-scaled, host offsets");
}

// Members with all, some, none of their rows, and with none to begin with.
TEST_F(GroupedOnHost, TakesTheRealRowsOfEachMemberAlone) {
  GroupWish wish;
  wish.counts = {0, 20, 128, 0, 0, 17};
  expect_one_by_one(wish, Known::device, "plain, device counts");
  expect_one_by_one(wish, Known::host, "plain, host counts");
  wish.scale_gap = 2;
  expect_one_by_one(wish, Known::device, "scales apart");
  wish = {true, kBoth, false, ScaleLayout::s128x4, FourOverSix::off, 0, wish.counts};
  expect_one_by_one(wish, Known::device, "row-scaled, transformed, 128x4");
  expect_one_by_one(wish, Known::host, "row-scaled, transformed, 128x4, host counts");
  wish = {false, kNone, true, ScaleLayout::s8x4, FourOverSix::mae, 0, wish.counts};
  expect_one_by_one(wish, Known::device, "squares, four over six, 8x4");
}

TEST_F(GroupedOnHost, RowsOfTheMatrixMayBeApartAndOfAnyLength) {
  GroupWish wish;
  wish.counts = {0, 20, 128, 0, 0, 17};
  wish.row_gap = 16;
  expect_one_by_one(wish, Known::device, "whole blocks apart");
  wish.row_gap = 3;
  cols_ = 37;
  expect_one_by_one(wish, Known::device, "37 columns");
  wish.row_scaled = true;
  expect_one_by_one(wish, Known::host, "37 columns, row-scaled");
}

TEST_F(GroupedOnHost, OfAnyOffsetsAndCounts) {
  std::mt19937_64 random(5);
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    GroupWish wish;
    if (seed % 2 != 0) wish = {true, kBoth, false, ScaleLayout::s128x4};
    std::vector<std::int64_t> offsets = {0};
    for (std::uint64_t i = random() % 9 + 1; i > 0; --i) {
      const auto rows = static_cast<std::int32_t>(random() % 3 * (random() % 150));
      offsets.push_back(offsets.back() + rows);
      wish.counts.push_back(static_cast<std::int32_t>(random() % (rows + 1)));
    }
    if (seed % 3 == 0) wish.counts.clear();
    const Known known = seed % 5 < 2 ? Known::host : Known::device;
    expect_one_by_one(wish, known, "seed " + std::to_string(seed), offsets, seed);
  }
}

// A warp looks at 32 members at a time.
TEST_F(GroupedOnHost, OfManyMembers) {
  std::mt19937_64 random(7);
  for (const std::int64_t members : {32, 33, 100}) {
    GroupWish wish;
    std::vector<std::int64_t> offsets = {0};
    for (std::int64_t i = 0; i < members; ++i) {
      const auto rows = static_cast<std::int32_t>(random() % 3 / 2 * (random() % 40));
      offsets.push_back(offsets.back() + rows);
      wish.counts.push_back(static_cast<std::int32_t>(random() % (rows + 1)));
    }
    const std::string many = std::to_string(members) + " members";
    expect_one_by_one(wish, Known::device, many, offsets);
    wish.profile = Profile::modelopt;
    wish.square = true;
    wish.block_amax = true;
    expect_one_by_one(wish, Known::host, many + ", amaxes of squares given", offsets);
  }
}

// Everything with everything that a profile defines, drawn at random.
TEST_F(GroupedOnHost, OfAnyCombinationOfOptions) {
  std::mt19937_64 random(6);
  const auto one_of = [&](int count) { return static_cast<int>(random() % count); };
  const int draws = testing::unless_sanitized(testing::how_many(5, 48, 1000));
  for (int i = 0; i < draws && !HasFailure(); ++i) {
    GroupWish wish;
    wish.profile = static_cast<Profile>(one_of(2) * one_of(6));  // te half of the times
    const bool fast = wish.profile == Profile::te_fast;
    if (wish.profile == Profile::te) wish.four_over_six = static_cast<FourOverSix>(one_of(3));
    const bool half = wish.four_over_six != FourOverSix::off || wish.profile == Profile::modelopt;
    if (half && one_of(2) == 0) wish.bound = 256;
    wish.layout = static_cast<ScaleLayout>(one_of(3));
    wish.square = !fast && one_of(3) == 0;
    wish.row_scaled = !wish.square && one_of(2) == 0;
    const int sides = 1 + one_of(3);
    wish.rowwise = (sides & 1) != 0;
    wish.columnwise = (sides & 2) != 0;
    if (!fast) wish.rht = static_cast<TransformedSides>(one_of(4) & sides);
    wish.stochastic = one_of(3) == 0;
    if (wish.layout == ScaleLayout::linear) wish.scale_gap = one_of(2) * 3;
    if (one_of(2) == 0) wish.counts = {0, 20, 128, 0, 0, 17};
    cols_ = one_of(3) == 0 ? 37 : 80;
    wish.row_gap = one_of(3) * 8;
    wish.block_amax = wish.profile == Profile::modelopt && one_of(2) == 0;
    if (!fast && wish.rht == kNone && one_of(3) == 0) wish.in = DType::e4m3;
    expect_one_by_one(wish, one_of(2) == 0 ? Known::host : Known::device, wish.text(),
                      {0, 0, 33, 161, 161, 162, 200}, static_cast<std::uint64_t>(i));
  }
}

TEST_F(GroupedOnHost, GivenAmaxesAreTakenAsTheyAre) {
  const std::vector<std::int64_t> offsets = {0, 33, 33, 100};
  for (const bool row_scaled : {false, true}) {
    GroupWish wish;
    wish.row_scaled = row_scaled;
    wish.counts = {20, 0, 67};
    const Tensor x = matrix_for(offsets, wish, 4);
    const QuantizedGroup found = group(offsets, wish, Known::device);
    QuantizedGroup given = group(offsets, wish, Known::device);
    QuantizeNvfp4GroupedOptions options;
    options.device = device_;
    quantize_nvfp4_grouped(*runtime_, x, found, options).value();
    given.whole.rowwise.amax = found.whole.rowwise.amax;
    given.whole.columnwise.amax = found.whole.columnwise.amax;
    options.amax_given = true;
    quantize_nvfp4_grouped(*runtime_, x, given, options).value();
    expect_equal(given.whole.rowwise, found.whole.rowwise, "rowwise");
    expect_equal(given.whole.columnwise, found.whole.columnwise, "columnwise");
  }
}

TEST_F(GroupedOnHost, CountsThatTheDeviceHasWrongStayWithinTheMember) {
  const std::vector<std::int64_t> offsets = {0, 20, 20, 50};
  const std::vector<std::int32_t> wild = {1000, 5, -3}, meant = {20, 0, 0};
  const Tensor x = matrix(50, cols_, 4, kHidden);
  GroupWish wish;
  wish.counts = wild;
  QuantizedGroup all = group(offsets, wish, Known::device);
  QuantizeNvfp4GroupedOptions options;
  options.device = device_;
  quantize_nvfp4_grouped(*runtime_, x, all, options).value();
  all.host_row_offsets = offsets.data();
  all.host_row_counts = meant.data();
  expect_members(x, all, options, "clamped");
}

TEST_F(GroupedOnHost, OffsetsThatLeaveTheRowsAreRefusedBeforeTheyAreWrittenBy) {
  const Tensor x = matrix(50, cols_, 4, kHidden);
  QuantizeNvfp4GroupedOptions options;
  options.device = device_;
  const std::pair<std::vector<std::int64_t>, std::string> cases[] = {
      {{0, 60, 91}, "the last row offset is 91, the group has 90 rows"},
      {{0, 60, 50}, "row offset 2 is 50, below the 60 before it"},
      {{3, 20, 50}, "row offset 0 is 3"},
      {{0, -5, 50}, "row offset 1 is -5, below the 0 before it"}};
  for (const auto& [offsets, what] : cases) {
    QuantizedGroup all = group({0, 20, 50}, {}, Known::device);
    all.device_row_offsets = memory(offsets);
    const auto done = quantize_nvfp4_grouped(*runtime_, x, all, options);
    ASSERT_FALSE(done) << what;
    EXPECT_EQ(done.error().what, "quantize_nvfp4_grouped: group: " + what);
  }
}

// Experts of four pages, a page a row; whoever touched a page of padding would not come back.
TEST_F(GroupedOnHost, PaddingRowsAreNotTouched) {
  constexpr std::int64_t kRows = 4, kWide = 2048, kPage = kWide * 2;
  const std::vector<std::int64_t> offsets = {0, 4, 8, 12};
  const std::vector<std::int32_t> counts = {3, 0, 1};
  void* const pages =
      mmap(nullptr, 3 * kRows * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const Tensor x{pages, DType::bf16, Shape{12, kWide}, 0, nullptr};
  for (std::int64_t row = 0; row < 12; ++row) {
    fill_row(x, row, static_cast<std::uint16_t>(0x3F80 + row));
    if (row % kRows < counts[static_cast<std::size_t>(row / kRows)]) continue;
    mprotect(static_cast<std::uint8_t*>(pages) + row * kPage, kPage, PROT_NONE);
  }
  for (const bool row_scaled : {false, true}) {
    QuantizedGroup all;
    all.whole.shape = x.shape;
    all.whole.type.row_scaled = row_scaled;
    all.count = 3;
    all.host_row_offsets = offsets.data();
    all.host_row_counts = counts.data();
    all.device_row_offsets = memory(offsets);
    all.device_row_counts = memory(counts);
    allocate(all.whole.rowwise = all.rowwise_sizes().value());
    allocate(all.whole.columnwise = all.columnwise_sizes().value());
    all.members = reinterpret_cast<MemberDescriptor*>(memory(3 * 96));
    QuantizeNvfp4GroupedOptions options;
    options.device = device_;
    quantize_nvfp4_grouped(*runtime_, x, all, options).value();
    expect_members(x, all, options, row_scaled ? "row-scaled" : "plain");
  }
  munmap(pages, 3 * kRows * kPage);
}

TEST_F(GroupedOnHost, OfNoRowsOrNoMembersWritesNoMoreThanAmaxes) {
  const std::vector<std::int64_t> none = {0, 0, 0}, nobody = {0};
  const Tensor x = matrix(0, cols_, 2, kHidden);
  QuantizeNvfp4GroupedOptions options;
  options.device = device_;
  for (const auto& offsets : {none, nobody}) {
    QuantizedGroup all = group(offsets, {}, Known::device);
    quantize_nvfp4_grouped(*runtime_, x, all, options).value();
    all.host_row_offsets = offsets.data();
    expect_members(x, all, options, "empty");
  }
}

TEST_F(GroupedOnHost, WhatTheHostAloneKnowsMustBeDescribed) {
  const std::vector<std::int64_t> offsets = {0, 16};
  const std::vector<std::int32_t> counts = {3};
  const Tensor x = matrix(16, cols_, 2, kHidden);
  QuantizeNvfp4GroupedOptions options;
  options.device = device_;
  QuantizedGroup all = group(offsets, {}, Known::host);
  EXPECT_EQ(
      quantize_nvfp4_grouped(*runtime_, x, all, options).error().message(),
      "diecast: missing_buffer: quantize_nvfp4_grouped: the group has no row offsets in device "
      "memory\n  fix: set device_row_offsets, or describe() the members, copy the descriptors, "
      "and pass described = true");
  all.device_row_offsets = memory(offsets);
  all.host_row_counts = counts.data();
  EXPECT_EQ(
      quantize_nvfp4_grouped(*runtime_, x, all, options).error().message(),
      "diecast: missing_buffer: quantize_nvfp4_grouped: the group has no row counts in device "
      "memory\n  fix: set device_row_counts, or describe() the members, copy the descriptors, "
      "and pass described = true");
  // As the fix says.
  copy_descriptors(all, x);
  options.described = true;
  quantize_nvfp4_grouped(*runtime_, x, all, options).value();
  expect_members(x, all, options, "described");
}

TEST_F(GroupedOnHost, AddressesInDescriptorsAreCheckedByTheCall) {
  const std::vector<std::int64_t> offsets = {0, 16};
  Tensor x = matrix(16, cols_, 2, kHidden);
  QuantizeNvfp4GroupedOptions options;
  options.device = device_;
  QuantizedGroup all = group(offsets, {}, Known::device);
  all.whole.columnwise.data = static_cast<std::uint8_t*>(all.whole.columnwise.data) + 4;
  EXPECT_EQ(quantize_nvfp4_grouped(*runtime_, x, all, options).error().message(),
            "diecast: misaligned: quantize_nvfp4_grouped: the columnwise data starts 4 bytes past "
            "a multiple of 8, the amax 0 past one of 4\n"
            "  fix: start codes at multiples of 8 bytes and amaxes at multiples of 4");
  all.whole.columnwise.data = static_cast<std::uint8_t*>(all.whole.columnwise.data) - 4;
  const auto prepared = PreparedQuantizeNvfp4Grouped::prepare(
      *runtime_, device_, {QuantizeNvfp4Request::of(x, all.whole, options), false});
  x.data = static_cast<std::uint8_t*>(x.data) + 2;
  EXPECT_EQ(prepared.value().run(x, all, {}).error().code, ErrorCode::misaligned);
}

}  // namespace
}  // namespace diecast
