// Hits: of a prepared op in memory, of a 16 KB entry on disk (open, read, verify), of a bundle's;
// and what publishing costs its caller.
#include <diecast/base/text.h>
#include <diecast/cache/bundle.h>
#include <diecast/cache/disk_cache.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/runtime/publisher.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "bench/bench.h"

namespace diecast::tool {
namespace {

using Clock = std::chrono::steady_clock;

double ns_a_call(int calls, const std::function<void()>& call) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
}

// Single calls, the quickest first: on a busy machine an average also counts what others do
// meanwhile.
std::vector<double> us_of_calls(
    int calls, const std::function<void(int)>& call,
    const std::function<void(int)>& before = [](int) {}) {  // each, not counted
  std::vector<double> out;
  for (int number = 0; number < calls; ++number) {
    before(number);
    const auto start = Clock::now();
    call(number);
    out.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::sort(out.begin(), out.end());
  return out;
}

double us_of_a_call(int calls, const std::function<void(int)>& call) {
  return us_of_calls(calls, call)[static_cast<std::size_t>(calls) / 2];
}

Figure memory_hit(Runtime& runtime) {
  const PreparedQuantizeNvfp4::Request request;
  const auto key_of = [](const auto& words) {
    return prepared_key<PreparedQuantizeNvfp4>(nullptr, words);
  };
  runtime.keep_prepared(key_of(words_of_request(request)), std::make_shared<int>(0));
  std::size_t found = 0;
  const double ns = median_of(9, [&] {
    return ns_a_call(100000, [&] {
      const auto words = words_of_request(request);
      found += runtime.find_prepared(key_of(words)) != nullptr;
    });
  });
  return {"memory hit of a prepared op", ns, "ns", 50, false, cat(found, " hits")};
}

// What makes an entry of 16 KB, or with the source of a real kernel in its key one of four times
// that; `number` tells several apart.
struct Sample {
  ArtifactKey key;
  Artifact artifact;
  std::size_t bytes = 0;  // of the entry
};

Result<Sample> sample_of(Runtime& runtime, int number, bool real_key = false) {
  DIECAST_TRY(const auto one,
              runtime.specialize(cat("amax IN=bf16 COLS=", 16 * number, " @ sm_90a")));
  DIECAST_TRY(Source source, runtime.render(one));
  if (!real_key) source.text = cat("bench ", number);
  Sample out{make_key(one, source), {}};
  out.artifact.target = one.target();
  out.artifact.symbol = source.symbol;
  out.artifact.spelling = one.spelling();
  out.artifact.argument_schema = one.argument_schema();
  out.artifact.compiler = "bench";
  out.artifact.payload.assign(15360, std::byte{0x5A});
  DIECAST_TRY(const Bytes entry, encode_entry(out.key, out.artifact));
  out.bytes = entry.size();
  return out;
}

Error not_written(const std::string& path) {
  return {ErrorCode::io_error, cat("cannot publish in ", path), "free space in TMPDIR"};
}

Result<Figure> disk_hit(Runtime& runtime, bool real_key) {
  const ScratchRoot root;
  DIECAST_TRY(const auto cache, DiskCache::open(root.path()));
  DIECAST_TRY(const Sample sample, sample_of(runtime, 0, real_key));
  if (!cache->publish(sample.key, sample.artifact)) return not_written(root.path());
  std::size_t found = 0;
  const double us =
      us_of_a_call(3000, [&](int) { found += cache->find(sample.key, "bench").has_value(); });
  return Figure{cat("disk hit of ", real_key ? "a kernel with its source" : "a 16 KB entry"),
                us,
                "us",
                real_key ? 0.0 : 10.0,
                false,
                cat(found, " hits, verified, ", human_bytes(sample.bytes))};
}

// What resolve waits for when its artifact is published, against publishing it there and then.
Result<Figure> publishing(Runtime& runtime) {
  const ScratchRoot root;
  DIECAST_TRY(const std::shared_ptr<DiskCache> cache, DiskCache::open(root.path()));
  std::vector<Sample> samples;
  for (int i = 0; i < 64; ++i) {
    DIECAST_TRY(samples.emplace_back(), sample_of(runtime, i));
  }
  const auto start = Clock::now();
  for (int i = 0; i < 32; ++i) (void)cache->publish(samples[i].key, samples[i].artifact);
  const double here = std::chrono::duration<double, std::micro>(Clock::now() - start).count() / 32;
  Publisher publisher(
      [&](const Publication& one) { (void)cache->publish(one.key, *one.artifact); });
  std::vector<Publication> waiting;
  for (int i = 32; i < 64; ++i) {
    waiting.push_back({samples[i].key, std::make_shared<const Artifact>(samples[i].artifact), {}});
  }
  const auto handed = Clock::now();
  for (Publication& one : waiting) publisher.add(std::move(one));
  const double there =
      std::chrono::duration<double, std::micro>(Clock::now() - handed).count() / 32;
  publisher.flush();
  if (cache->statistics().publishes != 64) return not_written(root.path());
  return Figure{"publishing, on the caller's path",
                there,
                "us",
                100,
                false,
                cat("synced to the disk ", static_cast<int>(here), " us")};
}

Result<Figures> bundle_hits(Runtime& runtime) {
  constexpr int kKernels = 1000;
  const ScratchRoot root;
  std::vector<Sample> samples;
  for (int i = 0; i < kKernels; ++i) {
    DIECAST_TRY(samples.emplace_back(), sample_of(runtime, i));
  }
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.key.digest < b.key.digest; });
  const std::string path = root.path() + "/bench.dcb";
  DIECAST_TRY(BundleWriter writer, BundleWriter::create(path));
  for (const Sample& sample : samples) {
    DIECAST_TRY(const Bytes entry, encode_entry(sample.key, sample.artifact));
    DIECAST_CHECK(writer.add(entry));
  }
  DIECAST_CHECK(writer.commit());
  std::size_t opened = 0, found = 0;
  const double ms = us_of_a_call(9, [&](int) { opened += Bundle::open(path).ok(); }) / 1000;
  DIECAST_TRY(const auto bundle, Bundle::open(path));
  ArtifactKey key;  // a runtime has just made the key that it asks for
  const auto find = [&](int) { found += bundle->find(key, "bench").has_value(); };
  const auto next = [&](int i) { key = samples[static_cast<std::size_t>(i % kKernels)].key; };
  const std::vector<double> first = us_of_calls(kKernels, find, next);  // out of main memory
  const std::vector<double> us = us_of_calls(9 * kKernels, find, next);
  return Figures{{"opening a bundle of 1,000 kernels", ms, "ms", 2, false, cat(opened, " times")},
                 {"a kernel of it, 16 KB", median(us), "us", 5, false,
                  cat(found, " hits, verified; ", fixed(median(first), 2),
                      " us the first time round; the bound is the median's")},
                 {"99 of 100 kernels of it", us[us.size() * 99 / 100], "us", 0, false,
                  "at most; the bound is the typical kernel's"}};
}

}  // namespace

ScratchRoot::ScratchRoot(const std::string& parent) {
  const std::filesystem::path folder =
      parent.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(parent);
  std::string name = (folder / "diecast-bench-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

ScratchRoot::~ScratchRoot() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<Figures> bench_cache(Runtime& runtime) {
  Figures figures = {memory_hit(runtime)};
  DIECAST_TRY(figures.emplace_back(), disk_hit(runtime, false));
  DIECAST_TRY(figures.emplace_back(), disk_hit(runtime, true));
  DIECAST_TRY(figures.emplace_back(), publishing(runtime));
  DIECAST_TRY(const Figures bundles, bundle_hits(runtime));
  figures.insert(figures.end(), bundles.begin(), bundles.end());
  return figures;
}

}  // namespace diecast::tool
