// XXH3-128 against values from another build of it (the Python package, xxHash 0.8.4), and records.
#include <diecast/base/hash.h>
#include <diecast/base/hash_avx2.h>
#include <diecast/base/machine.h>
#include <gtest/gtest.h>

#include <random>

namespace diecast {
namespace {

Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 131 + 7);
  return bytes;
}

TEST(Digest, OfKnownTextsIsWhatXxHashGives) {
  EXPECT_EQ(xxh3_128({}).hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(xxh3_128(as_bytes("a")).hex(), "a96faf705af16834e6c632b61e964e1f");
  EXPECT_EQ(xxh3_128(as_bytes("abc")).hex(), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(xxh3_128(as_bytes("diecast")).hex(), "005a7ee16594cc5d6171dc0be5fe7039");
}

TEST(Digest, OfEveryLengthClassIsWhatXxHashGives) {  // XXH3 has a path each for these lengths
  const std::pair<std::size_t, const char*> known[] = {
      {3, "390cdc5b4a895dd76e3e2670e61106ac"},    {16, "7f9a218b0425449ae2ce54a7c19c730d"},
      {128, "aec730751478556cff361dec1385710a"},  {240, "5293e17bf553903d3f2c53e72293711f"},
      {241, "b53840fe3fedf161956cae592c67279e"},  {1024, "f69630613f24324d70bd377d9574f4bb"},
      {1025, "621af7b8277effa466c4487c41e127a7"}, {100000, "e9e46da59b77e42314ce8d6fc2c4868b"},
  };
  for (const auto& [size, hex] : known) EXPECT_EQ(xxh3_128(pattern(size)).hex(), hex) << size;
}

TEST(Digest, DoesNotDependOnWhereTheBytesLie) {
  Bytes shifted = pattern(300);
  shifted.insert(shifted.begin(), std::byte{1});
  EXPECT_EQ(xxh3_128(ByteSpan(shifted).subspan(1)), xxh3_128(pattern(300)));
}

TEST(Digest, IsTheSameTakenInEitherWay) {
  if (!has_avx2()) GTEST_SKIP() << "no AVX2";
  const Bytes bytes = pattern(5000);
  std::mt19937_64 random(1);
  for (std::size_t size = 0; size < 4900; size += size < 1100 ? 1 : 37) {
    const ByteSpan some = ByteSpan(bytes).subspan(random() % 100, size);
    ASSERT_EQ(xxh3_128_avx2(some), xxh3_128_baseline(some)) << size;
  }
}

TEST(Digest, IsWrittenHighWordFirst) {
  EXPECT_EQ((Digest{0x0123456789abcdef, 0x00000000000000ff}.hex()),
            "0123456789abcdef00000000000000ff");
  EXPECT_LT((Digest{0, 9}), (Digest{1, 0}));
}

TEST(Record, IsTagLengthAndBytesLittleEndian) {
  Record record;
  record.add(0x0201, "hi").add(3, std::uint64_t{0x1122});
  const unsigned char expected[] = {0x01, 0x02, 2, 0, 0, 0, 'h',  'i',  //
                                    3,    0,    8, 0, 0, 0, 0x22, 0x11, 0, 0, 0, 0, 0, 0};
  ASSERT_EQ(record.bytes().size(), sizeof expected);
  EXPECT_TRUE(std::equal(record.bytes().begin(), record.bytes().end(),
                         std::as_bytes(std::span(expected)).begin()));
}

TEST(Record, OfDifferentFieldsHasDifferentBytes) {
  const auto digest = [](std::string_view a, std::string_view b) {
    return Record().add(1, a).add(1, b).digest();
  };
  EXPECT_NE(digest("a", "bc"), digest("ab", "c"));
  EXPECT_NE(digest("", "abc"), digest("abc", ""));
  EXPECT_NE(Record().add(1, "x").digest(), Record().add(2, "x").digest());
  EXPECT_EQ(digest("a", "bc"), digest("a", "bc"));
}

TEST(Record, IsReadBackFieldByField) {
  Record record;
  record.add(1, "quantize_nvfp4").add(7, std::uint64_t{1} << 63).add(1, "");
  const auto fields = Record::parse(record.bytes());
  ASSERT_TRUE(fields);
  ASSERT_EQ(fields->size(), 3u);
  EXPECT_EQ((*fields)[0].tag, 1);
  EXPECT_EQ((*fields)[0].text(), "quantize_nvfp4");
  EXPECT_EQ((*fields)[1].tag, 7);
  EXPECT_EQ(Record::number((*fields)[1]), std::uint64_t{1} << 63);
  EXPECT_EQ((*fields)[2].text(), "");
  EXPECT_EQ(Record::number((*fields)[0]), std::nullopt);
}

TEST(Record, OfNoFieldsIsEmpty) {
  const auto fields = Record::parse(Record().bytes());
  ASSERT_TRUE(fields);
  EXPECT_TRUE(fields->empty());
}

TEST(Record, CutShortAnywhereDoesNotParseAsTheWhole) {
  const Record record = Record().add(1, "abc").add(2, "defg");
  for (std::size_t size = 0; size < record.bytes().size(); ++size) {
    const auto fields = Record::parse(record.bytes().first(size));
    EXPECT_LT(fields ? fields->size() : 0, 2u) << size;
  }
}

TEST(Record, OfHostileBytesNeverReachesBeyondThem) {
  const unsigned char lying[] = {1, 0, 0xff, 0xff, 0xff, 0xff, 'x'};
  EXPECT_FALSE(Record::parse(std::as_bytes(std::span(lying))));
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes(random() % 40);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random() % 4);
    const auto fields = Record::parse(bytes);
    if (!fields) continue;
    std::size_t total = 0;
    for (const auto& field : *fields) total += 6 + field.bytes.size();
    EXPECT_EQ(total, bytes.size());
  }
}

}  // namespace
}  // namespace diecast
