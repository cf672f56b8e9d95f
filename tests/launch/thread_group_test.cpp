// Who waits for whom, without any threads: the calls a block's threads would cause.
#include <diecast/launch/host/thread_group.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace diecast {
namespace {

HostWait wait_of(HostWait::Kind kind, unsigned mask = 0, unsigned line = 1,
                 unsigned long long value = 0, unsigned source = 0) {
  return {kind, mask, source, line, "k.cu", value};
}

std::vector<unsigned> take_all(ThreadGroup& group) {
  std::vector<unsigned> taken;
  for (unsigned i = group.take(); i != ThreadGroup::kNone; i = group.take()) taken.push_back(i);
  return taken;
}

TEST(ThreadGroup, EveryThreadMayRunOnceAtTheStart) {
  for (unsigned count : {1u, 31u, 32u, 33u, 1024u}) {
    ThreadGroup group;
    group.begin(count, true);
    const auto taken = take_all(group);
    ASSERT_EQ(taken.size(), count);
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_EQ(taken[i], i);
      group.end(i);
    }
    EXPECT_TRUE(group.all_ended());
    EXPECT_EQ(group.first_wait(), nullptr);
  }
}

TEST(ThreadGroup, TheLastToArriveAtABarrierReleasesTheOthers) {
  ThreadGroup group;
  group.begin(40, true);
  take_all(group);
  std::vector<HostWait> waits(40, wait_of(HostWait::barrier));
  for (unsigned i = 0; i < 39; ++i) EXPECT_FALSE(group.arrive(i, &waits[i]));
  EXPECT_EQ(group.take(), ThreadGroup::kNone);
  EXPECT_TRUE(group.arrive(39, &waits[39]));
  const auto taken = take_all(group);
  EXPECT_EQ(taken.size(), 39u) << "the last one runs already";
  EXPECT_EQ(std::count(taken.begin(), taken.end(), 39u), 0);
}

TEST(ThreadGroup, ABarrierHoldsWithoutAThreadThatEndedOrWhereNoneIsAllowed) {
  ThreadGroup group;
  HostWait wait = wait_of(HostWait::barrier, 0, 42);
  group.begin(2, true);
  take_all(group);
  EXPECT_FALSE(group.arrive(1, &wait));
  group.end(0);
  EXPECT_EQ(group.take(), ThreadGroup::kNone);
  EXPECT_FALSE(group.all_ended());
  EXPECT_EQ(group.first_wait(), &wait);
  EXPECT_EQ(group.where(), "1 waits at __syncthreads (k.cu:42), 1 has ended");

  group.begin(1, false);
  take_all(group);
  EXPECT_FALSE(group.arrive(0, &wait));
}

TEST(ThreadGroup, BarriersOfTwoLinesDoNotMeet) {
  ThreadGroup group;
  group.begin(3, true);
  take_all(group);
  HostWait first = wait_of(HostWait::barrier, 0, 7), second = wait_of(HostWait::barrier, 0, 9);
  HostWait third = first;
  EXPECT_FALSE(group.arrive(0, &first));
  EXPECT_FALSE(group.arrive(1, &second));
  EXPECT_FALSE(group.arrive(2, &third));
  EXPECT_EQ(group.where(), "2 wait at __syncthreads (k.cu:7), 1 waits at __syncthreads (k.cu:9)");
}

TEST(ThreadGroup, AShuffleGivesEveryLaneItsSourcesValue) {
  ThreadGroup group;
  group.begin(35, true);
  take_all(group);
  std::vector<HostWait> waits;
  for (unsigned i = 0; i < 3; ++i) {  // of the second warp, which has three lanes
    waits.push_back(wait_of(HostWait::shuffle, ~0u, 1, 100 + i, (i + 1) % 3));
  }
  waits[2].source = 9;  // a lane that never was: the value stays
  EXPECT_FALSE(group.arrive(32, &waits[0]));
  EXPECT_FALSE(group.arrive(33, &waits[1]));
  EXPECT_TRUE(group.arrive(34, &waits[2]));
  EXPECT_EQ(waits[0].value, 101u);
  EXPECT_EQ(waits[1].value, 102u);
  EXPECT_EQ(waits[2].value, 102u);
  EXPECT_EQ(take_all(group), (std::vector<unsigned>{32, 33}));
}

TEST(ThreadGroup, ABallotNamesTheLanesOfItsMaskThatSayYes) {
  ThreadGroup group;
  group.begin(32, true);
  take_all(group);
  HostWait low = wait_of(HostWait::ballot, 0b101, 1, 1), high = wait_of(HostWait::ballot, 0b101);
  HostWait other = wait_of(HostWait::ballot, 0b010, 1, 7);
  EXPECT_FALSE(group.arrive(0, &low));
  EXPECT_TRUE(group.arrive(1, &other)) << "a mask of one lane waits for nobody";
  EXPECT_EQ(other.value, 0b010u);
  EXPECT_TRUE(group.arrive(2, &high));
  EXPECT_EQ(low.value, 0b001u);
  EXPECT_EQ(high.value, 0b001u);
}

TEST(ThreadGroup, OtherMasksOtherKindsAndForeignMasksDoNotMeet) {
  ThreadGroup group;
  group.begin(8, true);
  take_all(group);
  HostWait first = wait_of(HostWait::warp_barrier, 0x03),
           mask = wait_of(HostWait::warp_barrier, 0x07);
  HostWait shuffle = wait_of(HostWait::shuffle, 0x0c, 2),
           ballot = wait_of(HostWait::ballot, 0x0c, 3);
  HostWait foreign = wait_of(HostWait::ballot, 0x80, 4);
  EXPECT_FALSE(group.arrive(0, &first));
  EXPECT_FALSE(group.arrive(1, &mask));
  EXPECT_FALSE(group.arrive(2, &shuffle));
  EXPECT_FALSE(group.arrive(3, &ballot));
  EXPECT_FALSE(group.arrive(4, &foreign)) << "a lane its own mask does not name";
  EXPECT_EQ(group.take(), ThreadGroup::kNone);
  for (unsigned i = 5; i < 8; ++i) group.end(i);
  EXPECT_EQ(
      group.where(),
      "1 waits at __syncwarp (k.cu:1, mask 0x00000003), 1 waits at __syncwarp (k.cu:1, mask "
      "0x00000007), 1 waits at a shuffle (k.cu:2, mask 0x0000000c), 1 waits at a ballot "
      "(k.cu:3, mask 0x0000000c), 1 waits at a ballot (k.cu:4, mask 0x00000080), 3 have ended");
}

}  // namespace
}  // namespace diecast
