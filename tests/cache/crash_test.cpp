// Kills at every call and power cuts in every state, on a file system in memory: what is found
// afterwards is a whole entry or none, and the next process works as if nothing had been.
//
// P-01, P-02: killed; P-06, P-07, P-08, P-09: the power goes.
#include <diecast/cache/bundle.h>
#include <diecast/cache/disk_cache.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>

#include "cache/model_file_system.h"
#include "cache/sample_artifact.h"
#include "how_many.h"

namespace diecast {
namespace {

using testing::kSampleCompiler;
using testing::make_sample;
using testing::ModelFileSystem;
using testing::same;
using testing::Sample;

constexpr char kRoot[] = "/home/cache";
constexpr int kSamples = 6;

std::unique_ptr<ModelFileSystem> fresh() {
  auto files = std::make_unique<ModelFileSystem>();
  EXPECT_EQ(files->make_directory_at(AT_FDCWD, "/home", 0700), 0);
  return files;
}

Sample sample(int number) {
  Sample out = make_sample(number, 1500 + 100 * static_cast<std::size_t>(number));
  out.artifact.compile_ms = 0;  // as bundles have it
  return out;
}

std::unique_ptr<DiskCache> open(ModelFileSystem& files) {
  auto cache = DiskCache::open(kRoot, files);
  return cache ? *std::move(cache) : nullptr;
}

void fill(ModelFileSystem& files, int count) {
  const auto cache = open(files);
  for (int i = 0; i < count; ++i) EXPECT_TRUE(cache->publish(sample(i).key, sample(i).artifact));
}

// Entries on disk that were damaged by something else.
void damage(ModelFileSystem& files) {
  for (const std::string& path : files.paths()) {
    if (!path.ends_with(".dce")) continue;
    const int file = files.open_at(AT_FDCWD, path.c_str(), O_RDWR, 0);
    files.write_at(file, "damage", 6, 700);
    files.sync_data(file);
    files.close(file);
  }
}

constexpr char kBundle[] = "/home/kernels.dcb";

// A bundle of all samples; an older one, if there is one, is replaced.
void write_bundle(ModelFileSystem& files) {
  std::vector<Sample> samples;
  for (int i = 0; i < kSamples; ++i) samples.push_back(sample(i));
  std::ranges::sort(samples, {}, [](const Sample& one) { return one.key.digest; });
  auto writer = BundleWriter::create(kBundle, files);
  if (!writer) return;
  for (const Sample& one : samples) {
    if (!writer->add(*encode_entry(one.key, one.artifact))) return;
  }
  (void)writer->commit();
}

void ship_bundle(ModelFileSystem& files) {
  write_bundle(files);
  const int file = files.open_at(AT_FDCWD, kBundle, O_RDONLY, 0);
  EXPECT_EQ(files.change_mode(file, 0644), 0);
  files.close(file);
}

void import_bundle(ModelFileSystem& files) {
  const auto bundle = Bundle::open(kBundle, {}, files);
  const auto cache = open(files);
  if (!bundle || cache == nullptr) return;
  (*bundle)->read_all([&](const Bundle::Stored& stored) {
    if (stored.decoded.fault != EntryFault::none) return;
    (void)cache->publish(key_of(entry_record(stored.file)), stored.decoded.artifact);
  });
}

struct CrashedOperation {
  const char* name;
  std::function<void(ModelFileSystem&)> before, run;
  bool sound = true;  // no entry was damaged before
};

void publish_all(ModelFileSystem& files) {
  const auto cache = open(files);
  if (cache == nullptr) return;
  for (int i = 0; i < kSamples; ++i) {
    (void)cache->find(sample(i).key, kSampleCompiler);  // a damaged one is remembered
    const auto lock = cache->lock(sample(i).key, std::chrono::milliseconds(0), {});
    (void)cache->publish(sample(i).key, sample(i).artifact);
  }
}

std::vector<CrashedOperation> operations() {
  const auto lacking = [](bool unnamed, bool no_replace, bool links) {
    return [=](ModelFileSystem& files) {
      files.unnamed_files = unnamed;
      files.no_replace = no_replace;
      files.links = links;
    };
  };
  const auto prune = [](ModelFileSystem& files) {
    PruneLimits limits;
    limits.bytes = 4096;
    if (const auto cache = open(files)) (void)cache->prune(limits);
  };
  const auto touch = [](ModelFileSystem& files) {
    const auto cache = open(files);
    for (int i = 0; cache != nullptr && i < kSamples; ++i) {
      (void)cache->find(sample(i).key, kSampleCompiler);
    }
  };
  const auto full = [](ModelFileSystem& files) { fill(files, kSamples), files.clock += 7200; };
  const auto unused = [](ModelFileSystem& files) {  // for longer than a touch is saved for
    fill(files, kSamples), files.clock += 7 * 3600;
  };
  return {{"publish", lacking(true, true, true), publish_all},
          {"publish by rename", lacking(false, true, true), publish_all},
          {"publish by link", lacking(false, false, true), publish_all},
          {"publish by plain rename", lacking(false, false, false), publish_all},
          {"replace", [=](ModelFileSystem& files) { full(files), damage(files); }, publish_all,
           /*sound=*/false},
          {"publish again", full, publish_all},
          {"prune", full, prune},
          {"clear", full,
           [](ModelFileSystem& files) {
             if (const auto cache = open(files)) (void)cache->clear();
           }},
          {"touch", unused, touch},
          {"import", ship_bundle, import_bundle},
          {"replace a bundle", ship_bundle, write_bundle}};
}

std::size_t temporaries(const ModelFileSystem& files) {
  return static_cast<std::size_t>(std::ranges::count_if(
      files.paths(), [](const std::string& path) { return path.find("/.t-") != path.npos; }));
}

// The whole bundle, the whole one before it, or none.
bool has_no_torn_bundle(ModelFileSystem& files) {
  const auto paths = files.paths();
  if (std::ranges::find(paths, kBundle) == paths.end()) return true;
  const auto bundle = Bundle::open(kBundle, {}, files);
  return bundle && (*bundle)->size() == kSamples && (*bundle)->verify();
}

// I1, I3, I6: afterwards. `sound`: nothing damaged the entries before, so none may be damaged now.
void expect_whole(ModelFileSystem& files, bool sound, const std::string& where) {
  files.clock += 7200;
  ASSERT_TRUE(has_no_torn_bundle(files)) << where;
  const auto cache = open(files);
  ASSERT_NE(cache, nullptr) << where;
  for (int i = 0; i < kSamples; ++i) {
    const auto found = cache->find(sample(i).key, kSampleCompiler);
    ASSERT_TRUE(!found || same(*found, sample(i).artifact)) << where;
    ASSERT_TRUE(!sound || cache->statistics().rejected == 0) << where;
    ASSERT_TRUE(cache->publish(sample(i).key, sample(i).artifact)) << where;
    ASSERT_TRUE(cache->find(sample(i).key, kSampleCompiler)) << where;
  }
  PruneLimits limits;
  limits.bytes = 0;
  ASSERT_TRUE(cache->prune(limits)) << where;
  EXPECT_EQ(temporaries(files), 0u) << where;
}

TEST(Crash, AKillAtEveryCallLeavesWholeEntriesOrNone) {
  int points = 0;
  for (const CrashedOperation& operation : operations()) {
    for (int call = 1;; ++call, ++points) {
      const auto files = fresh();
      operation.before(*files);
      files->die_at(call);
      operation.run(*files);
      if (!files->dead()) break;
      const auto left = files->after_kill();
      EXPECT_LE(temporaries(*left), 1u) << operation.name << " " << call;
      expect_whole(*left, operation.sound,
                   std::string(operation.name) + " " + std::to_string(call));
      ASSERT_FALSE(HasFailure());
    }
  }
  std::cout << points << " kill points\n";
  EXPECT_GE(points, 600);
}

TEST(Crash, APowerCutInAnyStateLeavesWholeEntriesOrNone) {
  const int states = testing::how_many(3, 20, 500);  // for each kill point
  std::mt19937 random(20261121);
  int cuts = 0;
  for (const CrashedOperation& operation : operations()) {
    for (int call = 1;; ++call) {
      const auto files = fresh();
      const int home = files->open_at(AT_FDCWD, "/", O_RDONLY, 0);
      files->sync_all(home);
      operation.before(*files);
      files->die_at(call);
      operation.run(*files);
      if (!files->dead()) break;
      for (int i = 0; i < states; ++i, ++cuts) {
        const auto left = files->after_power_cut(random);
        if (open(*left) == nullptr) continue;  // /home itself was never synced
        expect_whole(*left, operation.sound,
                     std::string(operation.name) + " " + std::to_string(call));
        ASSERT_FALSE(HasFailure());
      }
    }
  }
  std::cout << cuts << " power cuts\n";
  EXPECT_GE(cuts, states * 600);
}

// Without the sync before the name, the model leaves entries that are named and not whole: the
// checks above can fail.
TEST(Crash, TheModelLosesWhatWasNotSynced) {
  ModelFileSystem files;
  const int file = files.open_at(AT_FDCWD, "/x", O_CREAT | O_WRONLY, 0600);
  ASSERT_EQ(files.write_at(file, "whole", 5, 0), 5);
  std::mt19937 random(1);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 200; ++i) {
    const auto left = files.after_power_cut(random);
    const int again = left->open_at(AT_FDCWD, "/x", O_RDONLY, 0);
    char bytes[8] = {};
    if (again >= 0) sizes.push_back(static_cast<std::size_t>(left->read_at(again, bytes, 8, 0)));
  }
  EXPECT_LT(sizes.size(), 200u);
  EXPECT_NE(std::ranges::count(sizes, 0u), 0);
  EXPECT_NE(std::ranges::count(sizes, 5u), 0);
}

}  // namespace
}  // namespace diecast
