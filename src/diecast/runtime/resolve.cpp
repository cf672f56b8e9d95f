// The line from specialization to resident kernel: memory, then one thread a key looks on disk,
// compiles and publishes while the others wait for its outcome.
#include <diecast/base/text.h>
#include <diecast/runtime/isolated_compile.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/state.h>

#include <chrono>

namespace diecast {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Error frozen_error(const std::string& spelling, std::string_view missing) {
  return {ErrorCode::frozen, cat("after freeze() a kernel is ", missing, ":\n", spelling),
          "preload this line before freeze(), or add it to the manifest that is warmed"};
}

Error not_cached(const std::string& spelling, const std::string& roots) {
  return {
      ErrorCode::not_cached,
      cat("the cache policy is require-hit, and no cache root has\n", spelling, "\nroots: ", roots),
      "add this line to the manifest that is warmed; `diecast cache explain` says what differs"};
}

// The machine code itself is refused, whoever loads it: damaged, or not what this device runs.
bool is_refusal(const Error& error) { return error.code == ErrorCode::file_corrupt; }

}  // namespace

Result<Specialization> Runtime::specialize(std::string_view name, const Bindings& bindings,
                                           const Target& target) {
  DIECAST_TRY(auto found, find_template(name));
  return Specialization::make(std::move(found), bindings, target);
}

Result<Specialization> Runtime::specialize(std::string_view spelling) {
  DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
  if (parsed.targets.size() != 1) {
    return Error{
        ErrorCode::value_missing,
        cat("a specialization has one target, ", quote(spelling), " has ", parsed.targets.size()),
        "end it in `@ TARGET`, for example `@ sm_90a`"};
  }
  DIECAST_TRY(const Target target, Target::parse(parsed.targets[0]));
  Bindings bindings;
  for (const auto& [name, values] : parsed.values) {
    if (values.size() != 1 || values[0] == "*") {
      return Error{ErrorCode::value_not_allowed,
                   cat(name, " has not exactly one value in ", quote(spelling)),
                   "lists and `*` belong in manifests; give one value"};
    }
    bindings.set(name, std::string_view(values[0]));
  }
  return specialize(parsed.name, bindings, target);
}

Result<Specialization> Runtime::specialize_for(std::string_view name, const Bindings& bindings,
                                               Device& device) {
  DIECAST_TRY(auto found, find_template(name));
  const std::vector<Target> targets = device.targets();
  std::optional<Error> refused;
  for (const Target& target : targets) {
    if (!found->supports(target)) continue;
    const auto made_by = compiler(target);
    if (made_by) {
      if (auto accepted = (*made_by)->accepts(target); !accepted) {
        refused = accepted.error();
        continue;
      }
    }
    return Specialization::make(found, bindings, target);
  }
  if (refused) return *refused;
  return Error{ErrorCode::target_not_supported,
               cat("template ", found->name(), " has no target for ", device.properties().name),
               cat("`diecast show ", found->name(), "` lists its targets")};
}

Result<Source> Runtime::render(const Specialization& specialization) {
  DIECAST_TRY(Source source, diecast::render(specialization, state_->files));
  ++state_->count.rendered;
  state_->tell(RuntimeEvent::Kind::rendered, specialization.spelling(), "", 0);
  return source;
}

Result<ArtifactKey> Runtime::key(const Specialization& specialization) {
  DIECAST_TRY(const Source source, render(specialization));
  return make_key(specialization, source);
}

Result<Resolved> Runtime::resolve(const Specialization& specialization) {
  return state_->resolve(*this, specialization, nullptr);
}

void Runtime::flush() { state_->publisher.flush(); }

Result<Resolved> Runtime::State::resolve(Runtime& runtime, const Specialization& specialization,
                                         const Artifact* refused) {
  const std::string spelling = specialization.spelling();
  std::shared_ptr<InFlight> flight;
  bool leader = false;
  {
    std::lock_guard lock(artifacts_mutex);
    const auto known = artifacts.find(spelling);
    if (known != artifacts.end() && known->second.get() != refused) {
      ++count.memory_hits;
      return Resolved{known->second, Resolved::Origin::memory};
    }
    auto& entry = in_flight[spelling];
    leader = entry == nullptr;
    if (leader) entry = std::make_shared<InFlight>();
    flight = entry;
  }
  if (!leader) {
    ++count.waited;
    std::unique_lock lock(flight->mutex);
    flight->done.wait(lock, [&] { return flight->outcome.has_value(); });
    if (!*flight->outcome) return flight->outcome->error();
    return Resolved{(*flight->outcome)->artifact, Resolved::Origin::memory};
  }
  Result<Resolved> outcome = make_artifact(runtime, specialization, refused);
  {
    std::lock_guard lock(artifacts_mutex);
    if (outcome) artifacts.insert_or_assign(spelling, outcome->artifact);
    in_flight.erase(spelling);
  }
  {
    std::lock_guard lock(flight->mutex);
    flight->outcome.emplace(outcome);
  }
  flight->done.notify_all();
  if (!outcome) {
    ++count.failed;
    tell(RuntimeEvent::Kind::failed, spelling, outcome.error().message(), 0);
  }
  return outcome;
}

Result<Resolved> Runtime::State::make_artifact(Runtime& runtime,
                                               const Specialization& specialization,
                                               const Artifact* refused) {
  DIECAST_TRY(const Source source, runtime.render(specialization));
  const ArtifactKey key = make_key(specialization, source);
  // Under require-hit nothing is compiled, and opening NVRTC would be most of a process's start.
  const bool opens = options.cache_policy != CachePolicy::require_hit ||
                     options.cache_compilers == CompilerChoice::exact;
  Result<std::shared_ptr<Compiler>> compiler = not_cached(specialization.spelling(), cache_state);
  if (opens) compiler = runtime.compiler(specialization.target());
  if (trace && refused == nullptr) {  // one write a line: lines of several processes do not mix
    const std::string line = cat(specialization.spelling(), "\n");
    (void)system_files().write_at(trace.number(), line.data(), line.size(), 0);
  }
  return look_and_compile({specialization, source, key, compiler, refused});
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
  if (options.cache_policy == CachePolicy::require_hit) return not_cached(spelling, cache_state);
  DIECAST_CHECK(allow_late(spelling, "not resolved"));
  if (!request.compiler) return request.compiler.error();
  DIECAST_CHECK((*request.compiler)->accepts(request.specialization.target()));
  if (cache == nullptr) return compile_and_publish(request, {});

  std::shared_ptr<const Artifact> published;
  DiskCache::Lock lock = cache->lock(request.key, options.lock_wait, [&] {
    published = look(request);
    return published != nullptr;
  });
  if (published == nullptr && lock.held()) published = look(request);  // between miss and lock
  if (published != nullptr) return on_disk(std::move(published));
  return compile_and_publish(request, std::move(lock));
}

Result<Artifact> Runtime::State::compile(const Request& request) const {
  const Target& target = request.specialization.target();
  return options.isolated.program.empty()
             ? (*request.compiler)->compile(request.source, target)
             : compile_isolated(options, request.source, target, request.identity());
}

Result<Resolved> Runtime::State::compile_and_publish(const Request& request, DiskCache::Lock lock) {
  DIECAST_TRY(Artifact made, compile(request));
  made.argument_schema = request.specialization.argument_schema();
  made.spelling = request.specialization.spelling();
  ++count.compiled;
  tell(RuntimeEvent::Kind::compiled, made.spelling, request.key.hex(), made.compile_ms);
  const auto artifact = std::make_shared<const Artifact>(std::move(made));
  if (cache != nullptr && options.cache_policy != CachePolicy::read_only &&
      cache->writable() != nullptr) {
    publisher.add({request.key, artifact, std::move(lock)});
  }
  return Resolved{artifact, Resolved::Origin::compiled};
}

void Runtime::State::publish(const Publication& publication) {
  const Artifact& artifact = *publication.artifact;
  DiskCache& root = *cache->writable();
  if (options.cache_policy == CachePolicy::rebuild)
    root.supersede(publication.key, artifact.compiler);
  if (root.publish(publication.key, artifact)) {
    ++count.published;
    tell(RuntimeEvent::Kind::published, artifact.spelling, publication.key.hex(), 0);
    prune_if_due();
  } else if (!root.writable() && !told_unwritten.exchange(true)) {
    tell(RuntimeEvent::Kind::degraded, "",
         cat("not written for now: ", root.root(), " refuses writing (`diecast doctor`)"), 0);
  }
}

void Runtime::State::prune_if_due() {
  DiskCache& root = *cache->writable();
  if (!root.prune_due(options.cache_bytes)) return;
  PruneLimits limits;
  limits.bytes = options.cache_bytes;
  const auto pruned = root.prune(limits);
  if (!pruned || pruned->removed + pruned->temporaries == 0) return;
  count.pruned += pruned->removed + pruned->temporaries;
  tell(RuntimeEvent::Kind::pruned, "",
       cat(pruned->removed, " of ", pruned->entries, " entries, ",
           human_bytes(pruned->removed_bytes)),
       0);
}

Result<void> Runtime::State::allow_late(const std::string& spelling, std::string_view missing) {
  if (!frozen) return {};
  if (late == Late::error) return frozen_error(spelling, missing);
  ++count.late;
  tell(RuntimeEvent::Kind::late, spelling, std::string(missing), 0);
  return {};
}

std::shared_ptr<Kernel> Runtime::State::keep(const KernelName& name, std::shared_ptr<Kernel> made,
                                             const Kernel* refused) {
  std::lock_guard lock(kernels_mutex);
  std::shared_ptr<Kernel>& known = kernels[name];
  if (known == nullptr || known.get() == refused) known = std::move(made);
  return known;
}

// Refused code is replaced once: what a compiler has just made and the device refuses is an error.
Result<void> Runtime::State::load(Runtime& runtime, const KernelName& name,
                                  std::shared_ptr<Kernel>& kernel) {
  Result<void> loaded = kernel->preload();
  if (loaded || !is_refusal(loaded.error())) return loaded;
  ++count.refused;
  tell(RuntimeEvent::Kind::refused, name.first, loaded.error().what, 0);
  const auto again = resolve(runtime, kernel->specialization(), &kernel->artifact());
  if (!again) return loaded;
  DIECAST_TRY(auto made, Kernel::make(kernel->specialization(), again->artifact, name.second));
  kernel = keep(name, std::move(made), kernel.get());
  return kernel->preload();
}

Result<std::shared_ptr<Kernel>> Runtime::preload(const Specialization& specialization,
                                                 const std::shared_ptr<Device>& device) {
  const State::KernelName name{specialization.spelling(), device};
  std::shared_ptr<Kernel> kernel;
  {
    std::lock_guard lock(state_->kernels_mutex);
    const auto known = state_->kernels.find(name);
    if (known != state_->kernels.end()) kernel = known->second;
  }
  bool fresh = false;
  if (kernel == nullptr) {
    DIECAST_TRY(Resolved resolved, resolve(specialization));
    fresh = resolved.origin == Resolved::Origin::compiled;
    DIECAST_TRY(kernel, Kernel::make(specialization, std::move(resolved.artifact), device));
    kernel = state_->keep(name, std::move(kernel), nullptr);
  }
  DIECAST_TRY(const bool resident, kernel->resident());
  if (resident) return kernel;
  DIECAST_CHECK(state_->allow_late(name.first, "not resident"));
  const auto start = Clock::now();
  DIECAST_CHECK(fresh ? kernel->preload() : state_->load(*this, name, kernel));
  ++state_->count.loaded;
  state_->tell(RuntimeEvent::Kind::loaded, name.first, device->properties().name, ms_since(start));
  return kernel;
}

}  // namespace diecast
