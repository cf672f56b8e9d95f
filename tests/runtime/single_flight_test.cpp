// Artifacts in memory, without a runtime around them: each is made once, whoever asks meanwhile
// waits, and however the making ends nobody waits for ever.
#include <diecast/runtime/single_flight.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "child_process.h"

namespace diecast {
namespace {

using Origin = Resolved::Origin;

class SingleFlightTest : public ::testing::Test {
 protected:
  static Resolved compiled() {
    return {std::make_shared<const Artifact>(), Resolved::Origin::compiled};
  }
  // One thread makes it and ends as `make` does, once so many others wait for it.
  std::vector<Result<Resolved>> together(int waiting, const SingleFlight::Make& make) {
    std::vector<Result<Resolved>> out(static_cast<std::size_t>(waiting) + 1, Error{});
    std::vector<std::thread> threads;
    for (Result<Resolved>& one : out) {
      threads.emplace_back([&] {
        one = flights_.resolve(name_, nullptr, [&] {
          while (common_.count.waited < static_cast<std::uint64_t>(waiting))
            std::this_thread::yield();
          return make();
        });
      });
    }
    for (std::thread& thread : threads) thread.join();
    return out;
  }
  Result<Resolved> ask(const Artifact* refused = nullptr) {
    return flights_.resolve(name_, refused, [&]() -> Result<Resolved> {
      ++made_;
      return compiled();
    });
  }

  Common common_{RuntimeOptions()};
  SingleFlight flights_{common_};
  const ArtifactName name_{"amax IN=bf16 @ sm_90a", {}};
  int made_ = 0;
};

TEST_F(SingleFlightTest, OneThreadMakesItAndAllGetIt) {
  const auto all = together(7, [] { return compiled(); });
  int makers = 0;
  for (const Result<Resolved>& one : all) {
    ASSERT_TRUE(one);
    EXPECT_EQ(one->artifact, all[0]->artifact);
    makers += one->origin == Origin::compiled;
  }
  EXPECT_EQ(makers, 1);
  EXPECT_EQ(ask()->origin, Origin::memory);
  EXPECT_EQ(common_.count.waited, 7u);
  EXPECT_EQ(common_.count.memory_hits, 1u);
  EXPECT_EQ(made_, 0);
}

TEST_F(SingleFlightTest, AnErrorIsEverybodysAndTheNextCallTriesAgain) {
  const Error error{ErrorCode::compile_failed, "line 3", "mend it"};
  for (const Result<Resolved>& one : together(3, [&] { return error; })) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().message(), error.message());
  }
  EXPECT_FALSE(flights_.has(name_));
  EXPECT_EQ(ask()->origin, Origin::compiled);
  EXPECT_TRUE(flights_.has(name_));
}

TEST_F(SingleFlightTest, WhatTheMakingThrowsLeavesNobodyWaiting) {
  const auto all = together(3, []() -> Result<Resolved> { throw std::logic_error("a bug"); });
  int makers = 0;
  for (const Result<Resolved>& one : all) {
    ASSERT_FALSE(one);
    makers += one.error().message() == "diecast: internal: a bug\n  fix: report it";
  }
  EXPECT_EQ(makers, 1);
  EXPECT_EQ(ask()->origin, Origin::compiled);
}

TEST_F(SingleFlightTest, WhatADeviceRefusedIsMadeAnewOnce) {
  const auto first = ask()->artifact;
  const auto second = ask(first.get());
  EXPECT_EQ(second->origin, Origin::compiled);
  EXPECT_NE(second->artifact, first);
  EXPECT_EQ(ask(first.get())->artifact, second->artifact);  // another thread met the same refusal
  EXPECT_EQ(ask()->artifact, second->artifact);
  EXPECT_EQ(made_, 2);
}

TEST_F(SingleFlightTest, OfSeveralThatAreKeptTheFirstStays) {
  const auto first = std::make_shared<const Artifact>();
  flights_.keep(name_, first);
  flights_.keep(name_, std::make_shared<const Artifact>());
  EXPECT_EQ(ask()->artifact, first);
}

TEST_F(SingleFlightTest, ANameIsASpellingAndATemplatesText) {
  flights_.keep(name_, std::make_shared<const Artifact>());
  EXPECT_TRUE(flights_.has(name_));
  EXPECT_FALSE(flights_.has({name_.spelling, {.low = 1}}));
  EXPECT_FALSE(flights_.has({"amax IN=f16 @ sm_90a", name_.text}));
}

TEST_F(SingleFlightTest, AForkedChildMakesItself) {
  const Result<Resolved> made = flights_.resolve(name_, nullptr, [&]() -> Result<Resolved> {
    const int ended = testing::in_child([&] {
      ::alarm(20);
      return ask() && made_ == 1 ? 0 : 1;
    });
    EXPECT_EQ(ended, 0);
    return compiled();
  });
  EXPECT_TRUE(made);
}

}  // namespace
}  // namespace diecast
