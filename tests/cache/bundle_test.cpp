// Bundles: the same bytes from the same artifacts, used in place, and nothing believed that was not
// checked.
#include <diecast/cache/bundle.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "cache/disk_cache_fixture.h"
#include "fake_file_system.h"

namespace diecast {
namespace {

using testing::make_sample;
using testing::same;
using testing::Sample;
using testing::text_of;
using testing::write_text;

std::vector<Sample> sorted_samples(int count, std::size_t payload = 500) {
  std::vector<Sample> out;
  for (int i = 0; i < count; ++i) out.push_back(make_sample(i, payload));
  std::ranges::sort(out, {}, [](const Sample& sample) { return sample.key.digest; });
  return out;
}

class BundleTest : public ::testing::Test {
 protected:
  BundleWriter::Written write(const std::vector<Sample>& samples,
                              const std::string& name = "k.dcb") {
    auto writer = BundleWriter::create(folder_ / name).value();
    for (const Sample& sample : samples) {
      EXPECT_TRUE(writer.add(*encode_entry(sample.key, sample.artifact)));
    }
    return writer.commit().value();
  }
  Result<std::unique_ptr<Bundle>> open(const std::string& name = "k.dcb") {
    return Bundle::open(folder_ / name);
  }
  testing::TemporaryDirectory folder_{testing::memory_directory()};
};

TEST_F(BundleTest, FindsEveryEntryInPlace) {
  const auto samples = sorted_samples(20);
  EXPECT_EQ(write(samples).entries, 20u);
  const auto bundle = open().value();
  EXPECT_EQ(bundle->size(), 20u);
  for (Sample sample : samples) {
    const auto found = bundle->find(sample.key, testing::kSampleCompiler);
    ASSERT_TRUE(found);
    sample.artifact.compile_ms = 0;
    EXPECT_TRUE(same(*found, sample.artifact));
    EXPECT_FALSE(bundle->find(sample.key, "nvrtc-1.0"));
  }
  EXPECT_FALSE(bundle->find(make_sample(99).key, ""));
  EXPECT_EQ(bundle->hits(), 20u);
  EXPECT_TRUE(bundle->verify());
}

TEST_F(BundleTest, GivesTheNewestCompilersArtifactWhereAnyWillDo) {
  std::vector<Sample> samples;
  for (const char* compiler : {"nvrtc-12.9.41-ffff", "nvrtc-12.10.2-0000", "nvrtc-13.0.88-1111"}) {
    samples.push_back(make_sample(1, 100 + samples.size()));
    samples.back().artifact.compiler = compiler;
  }
  write(samples);
  const auto bundle = open().value();
  EXPECT_EQ(bundle->find(samples[0].key, "")->compiler, "nvrtc-13.0.88-1111");
  EXPECT_EQ(bundle->find(samples[0].key, "nvrtc-12.9.41-ffff")->payload.size(), 100u);
  const Artifact refused = samples[2].artifact;
  EXPECT_EQ(bundle->find(samples[0].key, "", &refused)->compiler, "nvrtc-12.10.2-0000");
}

TEST_F(BundleTest, TellsADamagedEntryFromOneThatItHasNot) {
  const auto samples = sorted_samples(2);
  write(samples);
  std::string bytes = text_of(folder_ / "k.dcb");
  bytes[64 + 300] ^= 1;  // of the first
  write_text(folder_ / "k.dcb", bytes);
  const auto bundle = open().value();
  EXPECT_FALSE(bundle->find(samples[0].key, ""));
  EXPECT_EQ(bundle->check(samples[0].key, testing::kSampleCompiler).error().message(),
            cat("diecast: file_corrupt: the bundle \"", folder_ / "k.dcb", "\" is damaged: entry ",
                samples[0].key.hex(),
                ": bad_checksum\n  fix: copy it again from where it was made, "
                "or make it anew with `diecast bundle create`"));
  EXPECT_FALSE(bundle->check(samples[0].key, ""));
  EXPECT_TRUE(bundle->check(samples[0].key, "nvrtc-1.0"));
  EXPECT_TRUE(bundle->check(samples[1].key, ""));
  EXPECT_TRUE(bundle->check(make_sample(99).key, ""));
}

TEST_F(BundleTest, HasTheSameBytesWhateverACompileTook) {
  auto samples = sorted_samples(5);
  const auto first = write(samples, "a.dcb");
  for (Sample& sample : samples) sample.artifact.compile_ms *= 3;
  const auto second = write(samples, "b.dcb");
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_EQ(text_of(folder_ / "a.dcb"), text_of(folder_ / "b.dcb"));
  Sha256 whole;
  const std::string bytes = text_of(folder_ / "a.dcb");
  whole.add(as_bytes(bytes));
  EXPECT_EQ(first.digest, whole.finish());
  EXPECT_EQ(open("a.dcb").value()->verify().value(), first.digest);
  EXPECT_EQ(bytes.find(folder_.path()), std::string::npos);
}

TEST_F(BundleTest, HoldsAPinnedFormat) {
  const auto samples = sorted_samples(2);
  write(samples);
  const std::string bytes = text_of(folder_ / "k.dcb");
  EXPECT_EQ(bytes.substr(0, 8),
            "\x89"
            "DCB\r\n\x1a\n");
  EXPECT_EQ(bytes.size() % 64, 2 * 40 % 64 + 23 % 64 + 96 % 64 - 64);  // index, one name, footer
  EXPECT_EQ(bytes.substr(bytes.size() - 40, 8), "\r\nDCBEND");
  EXPECT_NE(bytes.find(std::string(testing::kSampleCompiler) + "\n"), std::string::npos);
}

TEST_F(BundleTest, AnEmptyOneIsFine) {
  write({});
  const auto bundle = open().value();
  EXPECT_EQ(bundle->size(), 0u);
  EXPECT_TRUE(bundle->verify());
  EXPECT_FALSE(bundle->find(make_sample(1).key, ""));
}

TEST_F(BundleTest, OpensAPinnedFileOnlyIfItIsTheOne) {
  const auto written = write(sorted_samples(3));
  EXPECT_TRUE(Bundle::open(folder_ / "k.dcb", written.digest));
  Sha256Digest other = written.digest;
  other[0] ^= std::byte{1};
  const auto refused = Bundle::open(folder_ / "k.dcb", other);
  EXPECT_EQ(refused.error().message(),
            cat("diecast: file_corrupt: the bundle \"", folder_ / "k.dcb", "\" has the SHA-256 ",
                hex(written.digest), ", pinned is ", hex(other),
                "\n  fix: give the pin of this bundle (`sha256sum FILE`), or the bundle of this "
                "pin"));
}

// B-03: every bit. A flip in an entry is found when that entry is used, in the index at the
// opening, anywhere at all by verify.
TEST_F(BundleTest, FindsEveryFlippedBit) {
  const auto samples = sorted_samples(2, 60);
  write(samples);
  const std::string good = text_of(folder_ / "k.dcb");
  const std::size_t names = std::string_view(testing::kSampleCompiler).size() + 1;
  const std::size_t end = good.size() - 32, index = good.size() - 96 - names - 2 * 40;
  std::size_t accepted = 0, opened = 0;
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    write_text(folder_ / "bad.dcb", bytes);
    const auto bundle = open("bad.dcb");
    if (!bundle) {
      const bool version =
          bit / 8 == 8 || bit / 8 == 9;  // a bundle of another format, for all we know
      EXPECT_EQ(bundle.error().code, version ? ErrorCode::not_supported : ErrorCode::file_corrupt);
      continue;
    }
    EXPECT_TRUE(bit / 8 < index || bit / 8 >= end) << "index and footer are checked at the opening";
    ++opened;
    accepted += (*bundle)->verify().ok();
    for (Sample sample : samples) {
      const auto found = (*bundle)->find(sample.key, "");
      sample.artifact.compile_ms = 0;
      EXPECT_TRUE(!found || same(*found, sample.artifact)) << bit;
    }
  }
  EXPECT_EQ(accepted, 0u);
  EXPECT_GT(opened, 0u);
  RecordProperty("flips", static_cast<int>(8 * good.size()));
}

// B-02: what was cut or has more at its end.
TEST_F(BundleTest, RefusesEveryOtherLength) {
  write(sorted_samples(2, 60));
  const std::string good = text_of(folder_ / "k.dcb");
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_text(folder_ / "bad.dcb", good.substr(0, size));
    EXPECT_FALSE(open("bad.dcb")) << size;
  }
  for (const std::size_t more : {1u, 64u, 96u, 4096u}) {
    write_text(folder_ / "bad.dcb", good + std::string(more, '\0'));
    EXPECT_FALSE(open("bad.dcb")) << more;
  }
  write_text(folder_ / "bad.dcb", good + good);
  EXPECT_FALSE(open("bad.dcb"));
}

TEST_F(BundleTest, TakesEntriesInOrderAndEachOnce) {
  const auto samples = sorted_samples(2);
  auto writer = BundleWriter::create(folder_ / "k.dcb").value();
  const Bytes first = *encode_entry(samples[0].key, samples[0].artifact),
              second = *encode_entry(samples[1].key, samples[1].artifact);
  EXPECT_TRUE(writer.add(second));
  EXPECT_TRUE(writer.add(second));
  EXPECT_EQ(writer.add(first).error().code, ErrorCode::invalid_argument);
  Bytes damaged = second;
  damaged.back() ^= std::byte{1};
  EXPECT_EQ(writer.add(damaged).error().code, ErrorCode::file_corrupt);
  EXPECT_EQ(writer.commit().value().entries, 1u);
}

// Whichever call fails, writing leaves the old file or the new one, and reading an error or a miss.
TEST_F(BundleTest, IsOldOrNewAndAMissWhicheverCallFails) {
  const auto samples = sorted_samples(2);
  write({});
  int cases = 0;
  for (const int error : {EIO, ENOSPC, EINTR, EACCES}) {
    for (int n = 1;; ++n, ++cases) {
      ASSERT_LT(n, 300);
      testing::FakeFileSystem files(testing::FakeFileSystem::fail_from(n, error, false));
      auto writer = BundleWriter::create(folder_ / "k.dcb", files);
      bool written = writer.ok();
      for (const Sample& sample : samples) {
        written = written && writer->add(*encode_entry(sample.key, sample.artifact)).ok();
      }
      written = written && writer->commit().ok();
      const auto bundle = Bundle::open(folder_ / "k.dcb", {}, files);
      if (bundle) {
        EXPECT_TRUE((*bundle)->size() == 0 || (*bundle)->size() == 2);
        const auto found = (*bundle)->find(samples[0].key, "");
        EXPECT_TRUE(!found || found->payload == samples[0].artifact.payload);
        (void)(*bundle)->verify();
      } else {
        EXPECT_FALSE(bundle.error().fix.empty());
      }
      EXPECT_TRUE(open().value()->verify()) << error << " " << n;
      write({});
      if (!files.refused()) break;
    }
  }
  EXPECT_GT(cases, 100);
  EXPECT_EQ(testing::tree(folder_.path()), std::vector<std::string>{"k.dcb"});
}

// B-08, A-08: who could have written it?
TEST_F(BundleTest, IsRefusedWhereOthersMayWriteIt) {
  write(sorted_samples(1));
  const std::string path = folder_ / "k.dcb";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);  // others get here
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_EQ(open().error().message(),
            cat("diecast: unsafe_directory: the bundle \"", path,
                "\" can be written by everybody (mode 666): whoever does could run code as this "
                "user\n  fix: chmod go-w ",
                path, ", or set DIECAST_CACHE to a directory that only you can write"));
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(open());
  ASSERT_EQ(::symlink("k.dcb", (folder_ / "link.dcb").c_str()), 0);
  EXPECT_TRUE(open("link.dcb"));  // model repositories are made of links
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_EQ(open().error().code, ErrorCode::unsafe_directory);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0700), 0);
}

TEST_F(BundleTest, IsRefusedWhenItIsNoRegularFile) {
  ASSERT_EQ(::mkfifo((folder_ / "k.dcb").c_str(), 0600), 0);
  EXPECT_EQ(open().error().code, ErrorCode::file_not_found);
  EXPECT_EQ(Bundle::open(folder_.path()).error().code, ErrorCode::file_not_found);
  EXPECT_EQ(open("none.dcb").error().code, ErrorCode::file_not_found);
  EXPECT_EQ(Bundle::open("k.dcb").error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace diecast
