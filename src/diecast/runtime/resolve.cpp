// The line from specialization to resident kernel: memory, then one thread a key looks on disk,
// compiles and publishes while the others wait for its outcome.
#include <diecast/base/text.h>
#include <diecast/runtime/isolated_compile.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/state.h>

namespace diecast {
namespace {

Error frozen_error(const std::string& spelling, std::string_view missing) {
  return {ErrorCode::frozen, cat("after freeze() a kernel is ", missing, ":\n", spelling),
          "preload this line before freeze(), or add it to the manifest that is warmed"};
}

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

}  // namespace

// Once a template: reading its code and headers is most of a rendering.
Result<std::shared_ptr<const SourceParts>> Runtime::State::parts_of(
    const Specialization& specialization) {
  const auto& of = specialization.shared_tmpl();
  {
    std::lock_guard lock(parts_mutex);
    if (const auto known = parts.find(of); known != parts.end()) return known->second;
  }
  DIECAST_TRY(SourceParts made, source_parts(*of, files));
  std::lock_guard lock(parts_mutex);
  return parts.emplace(of, std::make_shared<const SourceParts>(std::move(made))).first->second;
}

Result<Source> Runtime::render(const Specialization& specialization) {
  DIECAST_TRY(const auto parts, state_->parts_of(specialization));
  DIECAST_TRY(Source source, diecast::render(specialization, *parts));
  ++state_->count.rendered;
  state_->tell(RuntimeEvent::Kind::rendered, specialization.spelling(), "", 0);
  return source;
}

Result<ArtifactKey> Runtime::key(const Specialization& specialization) {
  DIECAST_TRY(const Source source, render(specialization));
  return make_key(specialization, source);
}

Result<Resolved> Runtime::resolve(const Specialization& specialization) {
  return no_throw([&] { return state_->resolve(*this, specialization, nullptr); });
}

Result<bool> Runtime::holds(const Specialization& specialization) {
  return no_throw([&] { return state_->holds(*this, specialization); });
}

void Runtime::flush() { state_->publisher->flush(); }

// However a leader leaves, those who wait get an outcome and later callers another try.
class Runtime::State::Landing {
 public:
  Landing(State& state, const Name& name, InFlight& flight)
      : state_(state), name_(name), flight_(flight) {}
  Landing(const Landing&) = delete;
  ~Landing() {
    {
      std::lock_guard lock(state_.artifacts_mutex);
      const auto known = state_.in_flight.find(name_);
      if (known != state_.in_flight.end() && known->second.get() == &flight_)
        state_.in_flight.erase(known);
    }
    std::lock_guard lock(flight_.mutex);
    flight_.landed = true;
    flight_.done.notify_all();
  }

 private:
  State& state_;
  const Name& name_;
  InFlight& flight_;
};

Result<Resolved> Runtime::State::resolve(Runtime& runtime, const Specialization& specialization,
                                         const Artifact* refused) {
  const Name name = Name::of(specialization);
  std::shared_ptr<InFlight> flight;
  bool leader = false;
  {
    std::lock_guard lock(artifacts_mutex);
    const auto known = artifacts.find(name);
    if (known != artifacts.end() && known->second.get() != refused) {
      ++count.memory_hits;
      return Resolved{known->second, Resolved::Origin::memory};
    }
    auto& entry = in_flight[name];
    leader = entry == nullptr || entry->process != ::getpid();
    if (leader) entry = std::make_shared<InFlight>();
    flight = entry;
  }
  if (!leader) {
    ++count.waited;
    std::unique_lock lock(flight->mutex);
    flight->done.wait(lock, [&] { return flight->landed; });
    if (!flight->outcome) return flight->outcome.error();
    return Resolved{flight->outcome->artifact, Resolved::Origin::memory};
  }
  std::vector<RuntimeEvent> events;
  Result<Resolved> outcome = no_throw([&] {
    const KeepEvents keep(events);
    return lead(runtime, specialization, name, refused, *flight);
  });
  for (RuntimeEvent& event : events) tell(std::move(event));
  if (!outcome) {
    ++count.failed;
    tell(RuntimeEvent::Kind::failed, name.spelling, outcome.error().message(), 0);
  }
  return outcome;
}

Result<Resolved> Runtime::State::lead(Runtime& runtime, const Specialization& specialization,
                                      const Name& name, const Artifact* refused, InFlight& flight) {
  const Landing landing(*this, name, flight);
  Result<Resolved> outcome = make_artifact(runtime, specialization, refused);
  if (outcome) {
    std::lock_guard lock(artifacts_mutex);
    artifacts.insert_or_assign(name, outcome->artifact);
  }
  flight.outcome = outcome;  // nobody reads it before it has landed
  return outcome;
}

// Under require-hit nothing is compiled, and opening NVRTC would be most of a process's start.
Result<std::shared_ptr<Compiler>> Runtime::State::compiler_for(Runtime& runtime,
                                                               const Target& target) {
  if (options.cache_policy == CachePolicy::require_hit &&
      options.cache_compilers != CompilerChoice::exact) {
    return Error{ErrorCode::not_cached, "the cache policy is require-hit", "warm the cache"};
  }
  DIECAST_TRY(auto compiler, runtime.compiler(target));
  DIECAST_CHECK(compiler->accepts(target));
  return compiler;
}

void Runtime::State::write_trace(const std::string& spelling) {
  if (!trace) return;
  const auto written = trace.add(spelling);
  if (written || told_untraced.exchange(true)) return;
  ++count.degraded;
  tell(RuntimeEvent::Kind::degraded, "", cat("the trace lacks lines: ", written.error().message()),
       0);
}

Result<Resolved> Runtime::State::make_artifact(Runtime& runtime,
                                               const Specialization& specialization,
                                               const Artifact* refused) {
  DIECAST_TRY(const Source source, runtime.render(specialization));
  const ArtifactKey key = make_key(specialization, source);
  const auto compiler = compiler_for(runtime, specialization.target());
  if (refused == nullptr) write_trace(specialization.spelling());
  return look_and_compile({specialization, source, key, compiler, refused});
}

Result<bool> Runtime::State::holds(Runtime& runtime, const Specialization& specialization) {
  const Name name = Name::of(specialization);
  {
    std::lock_guard lock(artifacts_mutex);
    if (artifacts.contains(name)) return true;
  }
  DIECAST_TRY(const Source source, runtime.render(specialization));
  const ArtifactKey key = make_key(specialization, source);
  const auto compiler = compiler_for(runtime, specialization.target());
  const auto found = look({specialization, source, key, compiler, nullptr});
  if (found == nullptr) return false;
  write_trace(name.spelling);
  std::lock_guard lock(artifacts_mutex);
  artifacts.try_emplace(name, found);
  return true;
}

std::shared_ptr<const Artifact> Runtime::State::look(const Request& request) {
  if (cache == nullptr || options.cache_policy == CachePolicy::rebuild) return nullptr;
  auto found =
      cache->find(request.key, request.identity(), options.cache_compilers, request.refused);
  if (!found) return nullptr;
  ++count.disk_hits;
  tell(RuntimeEvent::Kind::found, request.specialization.spelling(), request.key.hex(), 0);
  return std::make_shared<const Artifact>(*std::move(found));
}

Result<Resolved> Runtime::State::look_and_compile(const Request& request) {
  const auto on_disk = [](std::shared_ptr<const Artifact> artifact) {
    return Resolved{std::move(artifact), Resolved::Origin::disk};
  };
  if (auto found = look(request)) return on_disk(std::move(found));
  const std::string spelling = request.specialization.spelling();
  if (options.cache_policy == CachePolicy::require_hit) {
    const bool exact = options.cache_compilers == CompilerChoice::exact && !request.compiler;
    if (exact) return no_exact_compiler(spelling, request.compiler.error());
    return or_damage(request, not_cached(spelling, cache_state, !refused_roots.empty()));
  }
  DIECAST_CHECK(allow_late(spelling, "not resolved"));
  if (!request.compiler) {
    Error error = request.compiler.error();
    if (cache != nullptr) error.what += "\nno cache root has the kernel either: " + cache_state;
    return or_damage(request, std::move(error));
  }
  if (cache == nullptr) return compile_and_publish(request, {});

  std::shared_ptr<const Artifact> published;
  const auto appeared = [&] {
    const bool named = cache->writable()->has_file(request.key, request.identity());
    if (named) published = look(request);
    return published != nullptr;
  };
  DiskCache::Lock lock = cache->lock(request.key, options.lock_wait, appeared);
  if (published == nullptr && lock.held()) appeared();  // between miss and lock
  if (published != nullptr) return on_disk(std::move(published));
  return compile_and_publish(request, std::move(lock));
}

Error Runtime::State::or_damage(const Request& request, Error error) const {
  if (cache == nullptr) return error;
  auto checked = cache->check_bundles(request.key, request.identity(), options.cache_compilers);
  if (checked) return error;
  error.what += cat("\n", checked.error().what);
  error.fix = std::move(checked).error().fix;
  return error;
}

Result<Artifact> Runtime::State::compile(const Request& request) const {
  const Target& target = request.specialization.target();
  return options.isolated.program.empty()
             ? (*request.compiler)->compile(request.source, target)
             : compile_isolated(options.isolated, request.source, target, **request.compiler);
}

Result<Resolved> Runtime::State::compile_and_publish(const Request& request, DiskCache::Lock lock) {
  DIECAST_TRY(Artifact made, compile(request));
  made.argument_schema = request.specialization.argument_schema();
  made.spelling = request.specialization.spelling();
  ++count.compiled;
  tell(RuntimeEvent::Kind::compiled, made.spelling, request.key.hex(), made.compile_ms);
  const auto artifact = std::make_shared<const Artifact>(std::move(made));
  if (cache != nullptr && options.cache_policy != CachePolicy::read_only &&
      cache->writable() != nullptr && !publisher->add({request.key, artifact, std::move(lock)})) {
    cache->writable()->skip_publish();
  }
  return Resolved{artifact, Resolved::Origin::compiled};
}

Result<void> Runtime::State::allow_late(const std::string& spelling, std::string_view missing) {
  if (!frozen) return {};
  if (late == Late::error) return frozen_error(spelling, missing);
  ++count.late;
  tell(RuntimeEvent::Kind::late, spelling, std::string(missing), 0);
  return {};
}

}  // namespace diecast
