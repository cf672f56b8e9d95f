// Looking, compiling and publishing; see artifacts.h. One thread of all processes compiles a key:
// among threads by the single flight, among processes by the key's lock in the cache.
#include <diecast/base/no_throw.h>
#include <diecast/base/text.h>
#include <diecast/runtime/artifacts.h>

#include <functional>
#include <vector>

namespace diecast {
namespace {

Error not_cached(const std::string& spelling, const std::string& roots, bool some_left_out) {
  return {
      ErrorCode::not_cached,
      cat("the cache policy is require-hit, and no cache root has\n", spelling, "\nroots: ", roots),
      cat(some_left_out ? "mend what is left out (`diecast doctor` says how), or " : "",
          "warm a root with this line in a manifest; `diecast cache explain` says why it is a "
          "miss")};
}

// Under `exact` only what the compiler found here has made may be used.
Error no_exact_compiler(const std::string& spelling, const Error& compiler) {
  return {ErrorCode::not_cached,
          cat("the cache policy is require-hit, the choice of compilers is exact, and there is no "
              "compiler for\n",
              spelling, "\n", compiler.what),
          "set DIECAST_CACHE_COMPILERS=found: without a compiler the newest artifact is taken"};
}

Resolved from_disk(std::shared_ptr<const Artifact> artifact) {
  return {std::move(artifact), Resolved::Origin::disk};
}

}  // namespace

// Events of the making are told when the outcome is there for those who wait.
Result<Resolved> Artifacts::resolve(const Specialization& specialization, const Artifact* refused) {
  const ArtifactName name = ArtifactName::of(specialization);
  std::vector<RuntimeEvent> events;
  const auto make_it = [&]() -> Result<Resolved> {
    const KeepEvents keep(events);
    Result<Resolved> made = no_throw([&]() -> Result<Resolved> {
      DIECAST_TRY(const Request request, request_of(specialization, refused));
      if (refused == nullptr) common_.write_trace(name.spelling);
      return make(request);
    });
    if (!made) {
      ++common_.count.failed;
      common_.tell(RuntimeEvent::Kind::failed, name.spelling, made.error().message(), 0);
    }
    return made;
  };
  Result<Resolved> outcome = flights_.resolve(name, refused, std::ref(make_it));
  for (RuntimeEvent& event : events) common_.tell(std::move(event));
  return outcome;
}

Result<bool> Artifacts::holds(const Specialization& specialization) {
  const ArtifactName name = ArtifactName::of(specialization);
  if (flights_.has(name)) return true;
  DIECAST_TRY(const Request request, request_of(specialization, nullptr));
  auto found = look(request);
  if (found == nullptr) return false;
  common_.write_trace(name.spelling);
  flights_.keep(name, std::move(found));
  return true;
}

Result<Artifacts::Request> Artifacts::request_of(const Specialization& specialization,
                                                 const Artifact* refused) {
  DIECAST_TRY(Source source, templates_.render(specialization));
  ArtifactKey key = make_key(specialization, source);
  return Request{specialization, std::move(source), std::move(key),
                 compilers_.usable(specialization.target()), refused};
}

std::shared_ptr<const Artifact> Artifacts::look(const Request& request) {
  auto found = cache_.find(request.key, request.identity(), request.refused);
  if (found == nullptr) return nullptr;
  ++common_.count.disk_hits;
  common_.tell(RuntimeEvent::Kind::found, request.specialization.spelling(), request.key.hex(), 0);
  return found;
}

Result<Resolved> Artifacts::make(const Request& request) {
  if (auto found = look(request)) return from_disk(std::move(found));
  DIECAST_CHECK(may_compile(request));
  if (cache_.roots() == nullptr) return compile(request, {});
  return compile_once(request);
}

Result<void> Artifacts::may_compile(const Request& request) {
  const RuntimeOptions& options = common_.options;
  const std::string spelling = request.specialization.spelling();
  if (options.cache_policy == CachePolicy::require_hit) {
    const bool exact = options.cache_compilers == CompilerChoice::exact && !request.compiler;
    if (exact) return no_exact_compiler(spelling, request.compiler.error());
    return cache_.or_damage(request.key, request.identity(),
                            not_cached(spelling, cache_.state(), !cache_.refused_roots().empty()));
  }
  DIECAST_CHECK(common_.allow_late(spelling, "not resolved"));
  if (request.compiler) return {};
  Error error = request.compiler.error();
  if (cache_.roots() != nullptr)
    error.what += "\nno cache root has the kernel either: " + cache_.state();
  return cache_.or_damage(request.key, request.identity(), std::move(error));
}

// Once among processes: another one may publish it while this one waits for the key's lock.
Result<Resolved> Artifacts::compile_once(const Request& request) {
  std::shared_ptr<const Artifact> published;
  const auto appeared = [&] {
    if (cache_.has_file(request.key, request.identity())) published = look(request);
    return published != nullptr;
  };
  DiskCache::Lock lock = cache_.lock(request.key, appeared);
  if (published == nullptr && lock.held()) appeared();  // between miss and lock
  if (published != nullptr) return from_disk(std::move(published));
  return compile(request, std::move(lock));
}

Result<Resolved> Artifacts::compile(const Request& request, DiskCache::Lock lock) {
  DIECAST_TRY(Artifact made, compilers_.compile(**request.compiler, request.source,
                                                request.specialization.target()));
  made.argument_schema = request.specialization.argument_schema();
  made.spelling = request.specialization.spelling();
  ++common_.count.compiled;
  common_.tell(RuntimeEvent::Kind::compiled, made.spelling, request.key.hex(), made.compile_ms);
  const auto artifact = std::make_shared<const Artifact>(std::move(made));
  cache_.publish_later({request.key, artifact, std::move(lock)});
  return Resolved{artifact, Resolved::Origin::compiled};
}

}  // namespace diecast
