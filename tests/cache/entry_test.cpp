// The entry format: pinned bytes, round trips, and what the encoder refuses.
#include <diecast/base/text.h>
#include <diecast/cache/entry.h>
#include <diecast/cache/entry_header.h>
#include <gtest/gtest.h>

#include "cache/sample_artifact.h"

namespace diecast {
namespace {

using testing::make_sample;
using testing::same;
using testing::Sample;

std::uint64_t number_at(const Bytes& file, std::size_t offset, int size) {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) {
    value |= std::to_integer<std::uint64_t>(file[offset + static_cast<std::size_t>(i)]) << (8 * i);
  }
  return value;
}

// A change here makes every entry in the field unreadable: it needs a new major version, or, where
// only the key's record is another, a new kKeyVersion.
TEST(Entry, HasPinnedBytes) {
  const Sample sample = make_sample(1);
  const Bytes file = encode_entry(sample.key, sample.artifact).value();
  EXPECT_EQ(file.size(), 1528u);
  EXPECT_EQ(xxh3_128(file).hex(), "2672ad23bc286b7ed0c0ba713f093050");
}

TEST(Entry, HasEveryFieldWhereTheFormatSays) {
  const Sample sample = make_sample(2, 1001);
  const Bytes file = encode_entry(sample.key, sample.artifact).value();
  const std::size_t record = sample.key.record.bytes().size();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.data()), 8),
            "\x89"
            "DCE\r\n\x1a\n");
  EXPECT_EQ(number_at(file, 8, 2), 1u);   // major
  EXPECT_EQ(number_at(file, 10, 2), 0u);  // minor
  EXPECT_EQ(number_at(file, 12, 4), 128u);
  EXPECT_EQ(number_at(file, 16, 8), file.size());
  EXPECT_EQ(number_at(file, 24, 4), record);
  const std::uint64_t metadata = number_at(file, 28, 4), payload = number_at(file, 32, 8);
  EXPECT_EQ(payload, (128 + record + metadata + 63) / 64 * 64);
  EXPECT_EQ(number_at(file, 40, 8), 1001u);
  EXPECT_EQ(number_at(file, 48, 2), 1u);  // cubin
  EXPECT_EQ(number_at(file, 50, 2), 0u);  // flags
  EXPECT_EQ(number_at(file, 52, 2), 90u);
  EXPECT_EQ(number_at(file, 54, 1), std::uint64_t{'a'});
  EXPECT_EQ(number_at(file, 55, 1), 0u);  // not a host target
  EXPECT_EQ(number_at(file, 56, 8), 0u);  // reserved
  EXPECT_EQ(number_at(file, 64, 8), sample.key.digest.high);
  EXPECT_EQ(number_at(file, 72, 8), sample.key.digest.low);
  const ByteSpan bytes = file;
  const Digest head = xxh3_128(bytes.subspan(128, payload - 128));
  EXPECT_EQ(number_at(file, 80, 8), head.high);
  EXPECT_EQ(number_at(file, 88, 8), head.low);
  EXPECT_EQ(number_at(file, 96, 8), xxh3_128(sample.artifact.payload).high);
  EXPECT_EQ(number_at(file, 112, 8), xxh3_128(bytes.first(112)).high);
  EXPECT_EQ(number_at(file, file.size() - 8, 8), file.size());
  EXPECT_EQ(file.size(), payload + 1001 + 16);
  EXPECT_TRUE(std::ranges::equal(bytes.subspan(128, record), sample.key.record.bytes()));
}

TEST(Entry, GivesTheArtifactBack) {
  for (const std::size_t payload : {1u, 63u, 64u, 65u, 16384u, 100000u}) {
    const Sample sample = make_sample(3, payload);
    const Bytes file = encode_entry(sample.key, sample.artifact).value();
    for (const ArtifactKey* key : {&sample.key, static_cast<const ArtifactKey*>(nullptr)}) {
      const DecodedEntry decoded = decode_entry(file, key);
      EXPECT_EQ(decoded.fault, EntryFault::none);
      EXPECT_TRUE(same(decoded.artifact, sample.artifact)) << payload;
    }
  }
}

TEST(Entry, GivesHostArtifactsBack) {
  for (const int level : {1, 3}) {
    Sample sample = make_sample();
    sample.artifact.kind = Artifact::Kind::shared_object;
    sample.artifact.target = Target{Target::Kind::host, 0, 0, level};
    sample.key = make_key(KeyFields{"copy",
                                    "text",
                                    {},
                                    sample.artifact.target.name(),
                                    sample.artifact.kind,
                                    sample.artifact.argument_schema});
    const Bytes file = encode_entry(sample.key, sample.artifact).value();
    const DecodedEntry decoded = decode_entry(file, &sample.key);
    EXPECT_EQ(decoded.fault, EntryFault::none);
    EXPECT_TRUE(same(decoded.artifact, sample.artifact));
  }
}

TEST(Entry, IsTheSameBytesForTheSameArtifact) {
  const Sample sample = make_sample(4);
  EXPECT_EQ(encode_entry(sample.key, sample.artifact).value(),
            encode_entry(make_sample(4).key, make_sample(4).artifact).value());
}

TEST(Entry, IsSummarizedWithoutItsPayload) {
  const Sample sample = make_sample(5, 5000);
  const Bytes file = encode_entry(sample.key, sample.artifact).value();
  const std::size_t head = file.size() - 5000 - kTrailerBytes;
  const DecodedSummary decoded = decode_summary(ByteSpan(file).first(head), file.size());
  ASSERT_EQ(decoded.fault, EntryFault::none);
  EXPECT_EQ(decoded.summary.digest, sample.key.digest);
  EXPECT_EQ(decoded.summary.spelling, sample.artifact.spelling);
  EXPECT_EQ(decoded.summary.compiler, sample.artifact.compiler);
  EXPECT_EQ(decoded.summary.target, sample.artifact.target);
  EXPECT_EQ(decoded.summary.file_bytes, file.size());
  EXPECT_EQ(decode_summary(ByteSpan(file).first(head - 1), file.size()).fault,
            EntryFault::too_short);
  EXPECT_EQ(decode_summary(ByteSpan(file).first(head), file.size() + 1).fault,
            EntryFault::bad_length);
}

TEST(Entry, RefusesAnArtifactThatItsKeyDoesNotName) {
  const Sample sample = make_sample();
  const auto refused = [&](const auto& change) {
    Artifact artifact = sample.artifact;
    change(artifact);
    const Result<Bytes> result = encode_entry(sample.key, artifact);
    return !result && result.error().code == ErrorCode::internal;
  };
  EXPECT_FALSE(refused([](Artifact&) {}));
  EXPECT_TRUE(refused([](Artifact& a) { a.target.suffix = 'f'; }));
  EXPECT_TRUE(refused([](Artifact& a) { a.target = Target{}; }));
  EXPECT_TRUE(refused([](Artifact& a) { a.kind = Artifact::Kind::shared_object; }));
  EXPECT_TRUE(refused([](Artifact& a) { a.argument_schema += " "; }));
  EXPECT_TRUE(refused([](Artifact& a) { a.payload.clear(); }));
}

TEST(Entry, RefusesWhatIsTooLarge) {
  Sample sample = make_sample();
  sample.artifact.log.assign((1u << 20) + 1, 'x');
  const Result<Bytes> refused = encode_entry(sample.key, sample.artifact);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_supported);
  sample.artifact.log.clear();
  sample.artifact.payload.resize(kEntryLimit);
  EXPECT_EQ(
      encode_entry(sample.key, sample.artifact).error().message(),
      "diecast: not_supported: the artifact of \"copy COLS=0 @ sm_90a\" would make an entry of "
      "67109328 bytes (key 159, metadata 140); the limits are 67108864, 1048576 and 1048576\n"
      "  fix: it works uncached; a smaller template or fewer values compiled in make it fit");
}

TEST(Entry, TellsTwoKeysOfOneDigestApart) {
  Sample one = make_sample(1);
  const Sample two = make_sample(2);
  one.key.digest = two.key.digest;  // as a collision would
  const Bytes file = encode_entry(one.key, one.artifact).value();
  EXPECT_EQ(decode_entry(file, &one.key).fault, EntryFault::none);
  EXPECT_EQ(decode_entry(file, &two.key).fault, EntryFault::other_key);
}

}  // namespace
}  // namespace diecast
