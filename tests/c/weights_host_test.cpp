// Sharded weights through the C interface: ranks are threads whose functions are the test's own.
#include <diecast/c.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "c/c_fixture.h"

namespace diecast {
namespace {

using testing::CTensor;

constexpr std::int64_t kRows = 20, kCols = 48, kElements = kRows * kCols;

// What two ranks have in common: each leaves its memory, and reads the other's.
struct Meeting {
  std::barrier<> wait{2};
  void* memory[2]{};
};

struct Rank {
  Meeting* meeting = nullptr;
  int rank = 0;
  int calls = 0;
  bool fails = false;
};

std::int32_t all_reduce_max(void* user, float* values, std::int64_t count, void*) {
  auto& rank = *static_cast<Rank*>(user);
  ++rank.calls;
  rank.meeting->memory[rank.rank] = values;
  rank.meeting->wait.arrive_and_wait();
  const auto* const other = static_cast<float*>(rank.meeting->memory[1 - rank.rank]);
  std::vector<float> largest(values, values + count);
  for (std::int64_t i = 0; i < count; ++i) {
    float& value = largest[static_cast<std::size_t>(i)];
    value = std::max(value, other[i]);
  }
  rank.meeting->wait.arrive_and_wait();
  std::copy(largest.begin(), largest.end(), values);
  rank.meeting->wait.arrive_and_wait();
  return rank.fails ? 7 : 0;
}

std::int32_t all_gather(void* user, void* buffer, const std::int64_t* offsets,
                        const std::int64_t* counts, void*) {
  auto& rank = *static_cast<Rank*>(user);
  ++rank.calls;
  rank.meeting->memory[rank.rank] = buffer;
  rank.meeting->wait.arrive_and_wait();
  const int other = 1 - rank.rank;
  std::memcpy(static_cast<char*>(buffer) + offsets[other],
              static_cast<char*>(rank.meeting->memory[other]) + offsets[other],
              static_cast<std::size_t>(counts[other]));
  rank.meeting->wait.arrive_and_wait();
  return 0;
}

diecast_ranks ranks_of(Rank& rank) {
  return {sizeof(diecast_ranks), rank.rank, 2, &rank, all_reduce_max, all_gather};
}

std::vector<float> whole_master() {
  std::vector<float> out(kElements);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = 3 * std::sin(0.37f * static_cast<float>(i));
  return out;
}

// A weight's buffers and its shard [begin, end).
struct Weight {
  std::vector<std::uint8_t> data = std::vector<std::uint8_t>(kRows * kCols / 2, 0xEE);
  std::vector<std::uint8_t> scale = std::vector<std::uint8_t>(kRows * kCols / 16, 0xEE);
  std::vector<float> amax = {-1}, master;
  CTensor data_t{data, {kRows, kCols / 2}}, scale_t{scale, {kRows, kCols / 16}}, amax_t{amax, {1}};
  CTensor master_t;
  diecast_master_weight weight;

  Weight(std::int64_t begin, std::int64_t end)
      : master([&] {
          const auto all = whole_master();
          return std::vector<float>(all.begin() + begin, all.begin() + end);
        }()),
        master_t(master, {end - begin}),
        weight{data_t.get(), scale_t.get(),
               amax_t.get(), end > begin ? master_t.get() : nullptr,
               begin,        0} {}
};

class CWeights : public testing::COnHost {
 protected:
  std::int32_t cast(Weight& weight, const diecast_ranks* ranks) {
    diecast_master_cast_options options{};
    options.size = sizeof options;
    options.model = "f32";
    options.fault = fault_[ranks == nullptr ? 0 : ranks->rank], options.fault_fix = "find it";
    return diecast_cast_master_weights(runtime_, host_, &weight.weight, 1, ranks, &options,
                                       nullptr);
  }
  // One thread a rank.
  void cast_together(Rank (&ranks)[2], Weight (&weights)[2]) {
    const auto run = [&](int i) {
      const diecast_ranks all = ranks_of(ranks[i]);
      codes_[i] = cast(weights[i], &all);
      errors_[i] = testing::last_error();
    };
    std::thread other(run, 1);
    run(0);
    other.join();
  }
  void expect_whole(const Weight& got) {
    std::vector<float> x = whole_master();
    const CTensor x_t(x, {kRows, kCols});
    Weight wanted(0, 0);
    diecast_quantize_nvfp4_tensors tensors{};
    tensors.size = sizeof tensors;
    tensors.x = x_t.get();
    tensors.out_data = wanted.data_t.get();
    tensors.out_scale = wanted.scale_t.get();
    tensors.out_amax = wanted.amax_t.get();
    auto options = diecast_quantize_nvfp4_defaults();
    options.square = 1;
    ASSERT_EQ(diecast_quantize_nvfp4(runtime_, host_, &tensors, &options, nullptr), diecast_ok)
        << testing::last_error();
    EXPECT_EQ(got.data, wanted.data);
    EXPECT_EQ(got.scale, wanted.scale);
    EXPECT_EQ(got.amax, wanted.amax);
  }
  const char* fault_[2] = {nullptr, nullptr};
  std::int32_t codes_[2] = {-1, -1};
  std::string errors_[2];
};

TEST_F(CWeights, OneRankCastsTheWhole) {
  Weight weight(0, kElements);
  ASSERT_EQ(cast(weight, nullptr), diecast_ok) << testing::last_error();
  expect_whole(weight);
}

TEST_F(CWeights, TwoRanksGatherWhatTheWholeCastGives) {
  for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{301}, kElements / 2}) {
    Meeting meeting;
    Rank ranks[2] = {{&meeting, 0}, {&meeting, 1}};
    Weight weights[2] = {{0, cut}, {cut, kElements}};
    cast_together(ranks, weights);
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(codes_[i], diecast_ok) << errors_[i];
      EXPECT_GT(ranks[i].calls, 0);
      expect_whole(weights[i]);
    }
  }
}

TEST_F(CWeights, AFunctionThatFailsIsAnErrorOnItsRank) {
  Meeting meeting;
  Rank ranks[2] = {{&meeting, 0}, {&meeting, 1}};
  ranks[0].fails = ranks[1].fails = true;
  Weight weights[2] = {{0, 16}, {16, kElements}};
  cast_together(ranks, weights);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(codes_[i], diecast_driver_error);
    EXPECT_NE(errors_[i].find("all_reduce_max of the caller's ranks returned 7"), std::string::npos)
        << errors_[i];
  }
}

TEST_F(CWeights, WhatIsWrongOnOneRankIsAnErrorOnBoth) {
  const auto expect_both = [&](Weight(&weights)[2], std::int32_t code, const std::string& text) {
    Meeting meeting;
    Rank ranks[2] = {{&meeting, 0}, {&meeting, 1}};
    cast_together(ranks, weights);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(codes_[i], code) << errors_[i];
      EXPECT_NE(errors_[i].find(text), std::string::npos) << errors_[i];
    }
  };
  Weight weights[2] = {{0, 16}, {16, kElements}};
  weights[1].weight.amax = nullptr;
  expect_both(weights, diecast_missing_buffer, "rank 1: diecast_cast_master_weights: amax");
  weights[1].weight.amax = weights[1].amax_t.get();
  fault_[1] = "its file is gone";
  expect_both(weights, diecast_invalid_argument, "rank 1: its file is gone\n  fix: find it");
}

TEST_F(CWeights, BadInputIsAnError) {
  Weight weight(0, kElements);
  const auto fails = [&](std::int32_t code, const char* text) {
    EXPECT_EQ(cast(weight, nullptr), code);
    EXPECT_NE(testing::last_error().find(text), std::string::npos) << testing::last_error();
  };
  weight.weight.amax = nullptr;
  fails(diecast_missing_buffer, "amax");
  weight.weight.amax = weight.amax_t.get();
  weight.weight.data = nullptr;
  fails(diecast_missing_buffer, "data");
  weight.weight.data = weight.data_t.get();
  weight.weight.start = 1;
  fails(diecast_invalid_argument, "outside [20, 48]");
  weight.weight.start = 0;
  std::vector<float> wide(8 * kElements);
  CTensor apart{wide, {kRows, kCols}};
  std::int64_t strides[] = {2 * kElements, 1};
  apart->strides = strides;
  weight.weight.master = apart.get();
  fails(diecast_shape_mismatch, "master: its rows are apart");
  diecast_ranks ranks{};
  ranks.size = sizeof ranks;
  EXPECT_EQ(cast(weight, &ranks), diecast_invalid_argument);
  EXPECT_EQ(diecast_cast_master_weights(runtime_, host_, nullptr, 1, nullptr, nullptr, nullptr),
            diecast_invalid_argument);
  EXPECT_EQ(diecast_cast_master_weights(runtime_, host_, nullptr, 0, nullptr, nullptr, nullptr),
            diecast_ok)
      << testing::last_error();
}

}  // namespace
}  // namespace diecast
