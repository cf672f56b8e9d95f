// No damaged entry is ever taken for a whole one: every bit, every length, whole blocks, and
// headers that lie with a valid checksum.
#include <diecast/base/text.h>
#include <diecast/cache/entry.h>
#include <diecast/cache/entry_header.h>
#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <random>

#include "cache/sample_artifact.h"
#include "how_many.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::make_sample;
using testing::Sample;

class DamagedEntry : public ::testing::Test {
 protected:
  EntryFault fault(ByteSpan file) const { return decode_entry(file, &sample_.key).fault; }
  EntryFault fault_without_key(ByteSpan file) const { return decode_entry(file, nullptr).fault; }

  // Writes a number into the header and makes the header's own checksum fit again.
  Bytes lying(std::size_t offset, std::uint64_t value, int size) const {
    Bytes file = file_;
    put(file, offset, value, size);
    const Digest digest = xxh3_128(ByteSpan(file).first(112));
    put(file, 112, digest.high, 8);
    put(file, 120, digest.low, 8);
    return file;
  }
  static void put(Bytes& file, std::size_t offset, std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) {
      file[offset + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> (8 * i));
    }
  }

  const Sample sample_ = make_sample(7, 2000);
  const Bytes file_ = encode_entry(sample_.key, sample_.artifact).value();
};

TEST_F(DamagedEntry, IsRejectedForEverySingleBit) {
  Bytes file = file_;
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    const auto mask = static_cast<std::byte>(1 << (bit % 8));
    file[bit / 8] ^= mask;
    ASSERT_TRUE(is_damage(fault(file))) << bit;
    ASSERT_TRUE(is_damage(fault_without_key(file))) << bit;
    file[bit / 8] ^= mask;
  }
  EXPECT_EQ(fault(file), EntryFault::none);
}

TEST_F(DamagedEntry, IsRejectedForEveryTruncation) {
  for (std::size_t size = 0; size < file_.size(); ++size) {
    const Bytes file(file_.begin(), file_.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_TRUE(is_damage(fault(file))) << size;  // its own allocation: a sanitizer sees overruns
  }
  EXPECT_EQ(fault(Bytes()), EntryFault::too_short);
}

TEST_F(DamagedEntry, IsRejectedForEveryExtension) {
  for (std::size_t more = 1; more <= 4096; more += more < 70 ? 1 : 13) {
    for (const int fill : {0, 0xFF}) {
      Bytes file = file_;
      file.resize(file_.size() + more, static_cast<std::byte>(fill));
      ASSERT_EQ(fault(file), EntryFault::bad_length) << more;
    }
  }
  Bytes twice = file_;
  twice.insert(twice.end(), file_.begin(), file_.end());
  EXPECT_EQ(fault(twice), EntryFault::bad_length);
}

TEST_F(DamagedEntry, IsRejectedForBlocksLostSwappedOrOfAnotherEntry) {
  const Sample other = make_sample(8, 2000);
  const Bytes foreign = encode_entry(other.key, other.artifact).value();
  ASSERT_EQ(foreign.size(), file_.size());
  constexpr std::size_t kBlock = 512;
  for (std::size_t a = 0; a + kBlock <= file_.size(); a += kBlock) {
    const auto at = [a](Bytes& bytes) { return bytes.begin() + static_cast<std::ptrdiff_t>(a); };
    Bytes zeroed = file_, mixed = file_, swapped = file_;
    std::fill_n(at(zeroed), kBlock, std::byte{0});
    EXPECT_TRUE(is_damage(fault(zeroed))) << a;
    std::copy_n(foreign.begin() + static_cast<std::ptrdiff_t>(a), kBlock, at(mixed));
    EXPECT_TRUE(is_damage(fault(mixed))) << a;
    if (a + 2 * kBlock > file_.size()) continue;
    std::swap_ranges(at(swapped), at(swapped) + kBlock, at(swapped) + kBlock);
    EXPECT_TRUE(is_damage(fault(swapped))) << a;
  }
}

TEST_F(DamagedEntry, IsRejectedForFilesOfOtherKinds) {
  std::mt19937 random(1);
  Bytes noise(5000);
  for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
  EXPECT_EQ(fault(noise), EntryFault::bad_magic);
  EXPECT_EQ(fault(Bytes(5000)), EntryFault::bad_magic);
  std::memcpy(noise.data(), file_.data(), 12);
  EXPECT_TRUE(is_damage(fault(noise)));
}

TEST_F(DamagedEntry, IsRejectedWhenAValidHeaderLiesAboutLengths) {
  const std::uint64_t huge[] = {~0ull, 1ull << 63, 1ull << 32, kEntryLimit + 1, 0};
  for (const std::uint64_t value : huge) {
    EXPECT_EQ(fault(lying(16, value, 8)), EntryFault::bad_length);  // the file
    EXPECT_EQ(fault(lying(32, value, 8)), EntryFault::bad_length);  // the payload's offset
    EXPECT_EQ(fault(lying(40, value, 8)), EntryFault::bad_length);  // the payload
  }
  for (const std::uint64_t value : {0xFFFFFFFFull, 0x100001ull, 0ull}) {
    EXPECT_EQ(fault(lying(24, value, 4)), EntryFault::bad_length);  // the record
    EXPECT_EQ(fault(lying(28, value, 4)), EntryFault::bad_length);  // the metadata
  }
  for (const std::uint64_t value : {0ull, 64ull, 100ull, 129ull, 8192ull, 0xFFFFFFC0ull}) {
    EXPECT_EQ(fault(lying(12, value, 4)), EntryFault::bad_header) << value;  // the header
  }
  // One byte moved from the metadata to the record: the sum still fits.
  Bytes moved = lying(24, sample_.key.record.bytes().size() + 1, 4);
  moved = [&] {
    std::uint32_t metadata = 0;
    std::memcpy(&metadata, file_.data() + 28, 4);
    put(moved, 28, metadata - 1, 4);
    const Digest digest = xxh3_128(ByteSpan(moved).first(112));
    put(moved, 112, digest.high, 8);
    put(moved, 120, digest.low, 8);
    return moved;
  }();
  EXPECT_EQ(fault(moved), EntryFault::other_key);
}

TEST_F(DamagedEntry, IsRejectedWhenTargetOrKindAreNotTheRecords) {
  EXPECT_EQ(fault(lying(48, 2, 2)), EntryFault::bad_metadata);    // a shared object, it says
  EXPECT_EQ(fault(lying(52, 100, 2)), EntryFault::bad_metadata);  // sm_100a
  EXPECT_EQ(fault(lying(54, 'f', 1)), EntryFault::bad_metadata);
  EXPECT_EQ(fault(lying(55, 3, 1)), EntryFault::bad_metadata);  // host_v3
  EXPECT_EQ(fault(lying(56, 1, 8)), EntryFault::bad_header);    // a reserved byte
}

TEST_F(DamagedEntry, IsLeftToTheVersionThatWroteIt) {
  for (const Bytes& file : {lying(8, 2, 2), lying(50, 1, 2), lying(48, 3, 2)}) {
    EXPECT_EQ(fault(file), EntryFault::other_version);
    EXPECT_FALSE(is_damage(fault(file)));
  }
  EXPECT_EQ(fault(lying(10, 1, 2)), EntryFault::none);  // a minor version adds, it does not change
}

// What a later minor version may write: a longer header, metadata tags of its own.
TEST_F(DamagedEntry, IsReadWhenALaterMinorVersionAddedToIt) {
  Bytes file = file_;
  const auto shift = [&](std::size_t offset, int size) {
    std::uint64_t value = 0;
    for (int i = 0; i < size; ++i) {
      value |= std::to_integer<std::uint64_t>(file[offset + static_cast<std::size_t>(i)]) << 8 * i;
    }
    put(file, offset, value + 64, size);
  };
  file.insert(file.begin() + 112, 64, std::byte{5});  // the checksum stays last
  put(file, 10, 1, 2);
  shift(12, 4);
  shift(16, 8);
  shift(32, 8);
  put(file, file.size() - 8, file.size(), 8);
  const Digest digest = xxh3_128(ByteSpan(file).first(176));
  put(file, 176, digest.high, 8);
  put(file, 184, digest.low, 8);
  EXPECT_EQ(fault(file), EntryFault::none);
  put(file, 10, 0, 2);  // but this version never wrote it
  const Digest again = xxh3_128(ByteSpan(file).first(176));
  put(file, 176, again.high, 8);
  put(file, 184, again.low, 8);
  EXPECT_EQ(fault(file), EntryFault::bad_header);
}

TEST_F(DamagedEntry, NamesEveryFault) {
  for (std::size_t i = 0; i < kEntryFaults; ++i) {
    EXPECT_FALSE(entry_fault_name(static_cast<EntryFault>(i)).empty());
  }
  EXPECT_EQ(entry_fault_name(EntryFault::bad_metadata), "bad_metadata");
}

TEST_F(DamagedEntry, IsRejectedWhenARecordIsOneByteBeyondTheLimit) {
  const auto read = [](std::size_t record, std::size_t metadata) {
    EntryHeader header, out;
    lay_out(header, record, metadata, 1);
    return read_header(write_header(header), header.file_bytes, out);
  };
  EXPECT_EQ(read(kRecordLimit, kRecordLimit), EntryFault::none);
  EXPECT_EQ(read(kRecordLimit + 1, 10), EntryFault::bad_length);
  EXPECT_EQ(read(10, kRecordLimit + 1), EntryFault::bad_length);
}

// Entries as NVRTC and this library made them (tests/golden/*.dce): most of their bytes are the
// rendered source in the key's record.
class RealEntry : public ::testing::TestWithParam<const char*> {
 protected:
  EntryFault fault(std::string_view file) const {
    return decode_entry(as_bytes(file), &key_).fault;
  }
  // Every day one in `sample`.
  std::size_t step(std::size_t sample) const {
    return testing::how_many<std::size_t>(sample, 1, 1);
  }

  std::string file_ =
      testing::text_of(cat(DIECAST_SOURCE_DIR "/tests/golden/", GetParam(), ".dce"));
  const ArtifactKey key_ = key_of(entry_record(as_bytes(file_)));
};

TEST_P(RealEntry, IsRejectedForEverySingleBit) {
  ASSERT_EQ(fault(file_), EntryFault::none);
  std::size_t bits = 0;
  for (std::size_t bit = 0; bit < 8 * file_.size(); bit += step(101), ++bits) {
    const char mask = static_cast<char>(1 << (bit % 8));
    file_[bit / 8] ^= mask;
    ASSERT_TRUE(is_damage(fault(file_))) << bit;
    file_[bit / 8] ^= mask;
  }
  EXPECT_EQ(fault(file_), EntryFault::none);
  std::cout << GetParam() << ": " << bits << " flipped bits, 0 accepted\n";
}

TEST_P(RealEntry, IsRejectedForEveryTruncation) {
  std::size_t cuts = 0;
  for (std::size_t size = 0; size < file_.size(); size += step(11), ++cuts) {
    ASSERT_TRUE(is_damage(fault(std::string(file_, 0, size)))) << size;
  }
  std::cout << GetParam() << ": " << cuts << " truncations, 0 accepted\n";
}

INSTANTIATE_TEST_SUITE_P(MadeByNvrtc, RealEntry,
                         ::testing::Values("amax", "quantize_nvfp4", "dequantize_nvfp4"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace diecast
