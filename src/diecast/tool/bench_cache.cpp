// Hits: of a prepared op in memory, and of a 16 KB entry on disk (open, read, verify).
#include <chrono>
#include <filesystem>

#include <diecast/base/text.h>
#include <diecast/cache/disk_cache.h>
#include <diecast/ops/quantize_nvfp4.h>
#include <diecast/tool/bench.h>

namespace diecast::tool {
namespace {

using Clock = std::chrono::steady_clock;

double ns_a_call(int calls, const std::function<void()>& call) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
}

Figure memory_hit(Runtime& runtime) {
  const PreparedQuantizeNvfp4::Request request;
  runtime.keep_prepared(nullptr, request.word(), std::make_shared<int>(0));
  std::size_t found = 0;
  const double ns = median_of(9, [&] {
    return ns_a_call(100000, [&] { found += runtime.find_prepared(nullptr, request.word()) != nullptr; });
  });
  return {"memory hit of a prepared op", ns, "ns", 50, false, cat(found, " hits")};
}

// A private root that goes away again.
class ScratchRoot {
 public:
  ScratchRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "diecast-bench-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchRoot() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<Figure> disk_hit(Runtime& runtime) {
  const ScratchRoot root;
  DIECAST_TRY(const auto cache, DiskCache::open(root.path()));
  DIECAST_TRY(const auto one, runtime.specialize("quantize_nvfp4 IN=bf16 @ sm_90a"));
  DIECAST_TRY(const Source source, runtime.render(one));
  const ArtifactKey key = make_key(one, source);
  Artifact artifact;
  artifact.target = one.target();
  artifact.symbol = source.symbol;
  artifact.spelling = one.spelling();
  artifact.argument_schema = one.argument_schema();
  artifact.compiler = "bench";
  artifact.payload.assign(16384, std::byte{0x5A});
  if (!cache->publish(key, artifact)) {
    return Error{ErrorCode::io_error, cat("cannot publish in ", root.path()), "free space in TMPDIR"};
  }
  std::size_t found = 0;
  const double us = median_of(9, [&] {
    return ns_a_call(300, [&] { found += cache->find(key, "bench").has_value(); }) / 1000;
  });
  return Figure{"disk hit of a 16 KB entry", us, "us", 20, false, cat(found, " hits, verified")};
}

}  // namespace

Result<Figures> bench_cache(Runtime& runtime) {
  Figures figures = {memory_hit(runtime)};
  DIECAST_TRY(figures.emplace_back(), disk_hit(runtime));
  return figures;
}

}  // namespace diecast::tool
