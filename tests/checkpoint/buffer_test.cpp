// A job's memory: where it begins, when it moves, and which pages it asks for.
#include <diecast/checkpoint/buffer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <span>
#include <sstream>
#include <string>

namespace diecast::testing {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

std::uintptr_t address_of(std::span<std::byte> bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data());
}

// What the kernel says of the mapping that an address lies in.
std::string flags_of(std::uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-')
      inside = begin <= address && address < end;
    if (inside && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

TEST(Buffer, BeginsAtAMultipleOf16BytesAndALargeOneAtOneOf2MB) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{15}, std::size_t{17}, kHugePage - 1,
                                  kHugePage, kHugePage + 1, 3 * kHugePage - 5}) {
    Buffer buffer;
    const auto got = buffer.sized(bytes);
    ASSERT_EQ(got.size(), bytes);
    EXPECT_EQ(address_of(got) % (bytes < kHugePage ? 16 : kHugePage), 0u) << bytes;
    std::ranges::fill(got, std::byte{7});
    EXPECT_EQ(got.back(), std::byte{7}) << bytes;
  }
}

TEST(Buffer, KeepsItsMemoryUntilItHasToGrow) {
  Buffer buffer;
  const auto large = buffer.sized(2 * kHugePage);
  large[0] = std::byte{5};
  for (const std::size_t bytes : {std::size_t{3}, kHugePage, 2 * kHugePage}) {
    const auto again = buffer.sized(bytes);
    EXPECT_EQ(again.data(), large.data());
    EXPECT_EQ(again.size(), bytes);
    EXPECT_EQ(again[0], std::byte{5});
  }
  const auto grown = buffer.sized(5 * kHugePage);
  std::ranges::fill(grown, std::byte{1});
  EXPECT_EQ(buffer.sized(2 * kHugePage).data(), grown.data());
}

TEST(Buffer, OfNothingIsEmpty) {
  Buffer buffer;
  EXPECT_TRUE(buffer.sized(0).empty());
  EXPECT_EQ(buffer.sized(20).size(), 20u);
  EXPECT_TRUE(buffer.sized(0).empty());
}

TEST(Buffer, ALargeOneAsksForPagesOf2MB) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    GTEST_SKIP() << "a kernel without transparent huge pages";
  Buffer buffer;
  const auto got = buffer.sized(4 * kHugePage + 1);
  for (const std::size_t at : {std::size_t{0}, kHugePage, 4 * kHugePage}) {
    const std::string flags = flags_of(address_of(got) + at);
    if (flags.empty()) GTEST_SKIP() << "/proc/self/smaps has no flags";
    EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
  }
}

#ifndef DIECAST_SANITIZER  // whose allocators end the process
TEST(Buffer, ThatGetsNoMemoryThrowsBadAllocAndIsEmpty) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {kMost, kMost - kHugePage, kMost / 2, kMost / 4}) {
    Buffer buffer;
    buffer.sized(100);
    EXPECT_THROW(buffer.sized(bytes), std::bad_alloc) << bytes;
    const auto later = buffer.sized(50);
    std::ranges::fill(later, std::byte{1});
    EXPECT_EQ(later.back(), std::byte{1});
  }
}
#endif

}  // namespace
}  // namespace diecast::testing
