// The line from specialization to resident kernel: memory, then one thread a key looks on disk,
// compiles and publishes while the others wait for its outcome.
#include <chrono>

#include <diecast/base/text.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/state.h>

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

}  // namespace

Result<Specialization> Runtime::specialize(std::string_view name, const Bindings& bindings,
                                           const Target& target) {
  DIECAST_TRY(auto found, find_template(name));
  return Specialization::make(std::move(found), bindings, target);
}

Result<Specialization> Runtime::specialize(std::string_view spelling) {
  DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
  if (parsed.targets.size() != 1) {
    return Error{ErrorCode::value_missing,
                 cat("a specialization has one target, ", quote(spelling), " has ", parsed.targets.size()),
                 "end it in `@ TARGET`, for example `@ sm_90a`"};
  }
  DIECAST_TRY(const Target target, Target::parse(parsed.targets[0]));
  Bindings bindings;
  for (const auto& [name, values] : parsed.values) {
    if (values.size() != 1 || values[0] == "*") {
      return Error{ErrorCode::value_not_allowed, cat(name, " has not exactly one value in ", quote(spelling)),
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

Result<Resolved> Runtime::resolve(const Specialization& specialization) {
  const std::string spelling = specialization.spelling();
  std::shared_ptr<InFlight> flight;
  bool leader = false;
  {
    std::lock_guard lock(state_->artifacts_mutex);
    const auto known = state_->artifacts.find(spelling);
    if (known != state_->artifacts.end()) {
      ++state_->count.memory_hits;
      return Resolved{known->second, Resolved::Origin::memory};
    }
    auto& entry = state_->in_flight[spelling];
    leader = entry == nullptr;
    if (leader) entry = std::make_shared<InFlight>();
    flight = entry;
  }
  if (!leader) {
    ++state_->count.waited;
    std::unique_lock lock(flight->mutex);
    flight->done.wait(lock, [&] { return flight->outcome.has_value(); });
    if (!*flight->outcome) return flight->outcome->error();
    return Resolved{(*flight->outcome)->artifact, Resolved::Origin::memory};
  }
  Result<Resolved> outcome = state_->make_artifact(*this, specialization);
  {
    std::lock_guard lock(state_->artifacts_mutex);
    if (outcome) state_->artifacts.emplace(spelling, outcome->artifact);
    state_->in_flight.erase(spelling);
  }
  {
    std::lock_guard lock(flight->mutex);
    flight->outcome.emplace(outcome);
  }
  flight->done.notify_all();
  if (!outcome) {
    ++state_->count.failed;
    state_->tell(RuntimeEvent::Kind::failed, spelling, outcome.error().message(), 0);
  }
  return outcome;
}

Result<Resolved> Runtime::State::make_artifact(Runtime& runtime,
                                               const Specialization& specialization) {
  DIECAST_TRY(const Source source, runtime.render(specialization));
  const ArtifactKey key = make_key(specialization, source);
  const auto compiler = runtime.compiler(specialization.target());
  // Without a compiler any identity that has the key will do; with one, only its own.
  const std::string identity = compiler ? (*compiler)->identity() : std::string();

  const auto look = [&]() -> std::shared_ptr<const Artifact> {
    if (cache == nullptr) return nullptr;
    auto found = cache->find(key, identity);
    if (!found) return nullptr;
    ++count.disk_hits;
    tell(RuntimeEvent::Kind::found, specialization.spelling(), key.hex(), 0);
    return std::make_shared<const Artifact>(*std::move(found));
  };
  const auto on_disk = [](std::shared_ptr<const Artifact> artifact) {
    return Resolved{std::move(artifact), Resolved::Origin::disk};
  };
  if (auto found = look()) return on_disk(std::move(found));
  if (frozen) return frozen_error(specialization.spelling(), "not resolved");
  if (!compiler) return compiler.error();
  DIECAST_CHECK((*compiler)->accepts(specialization.target()));
  if (cache == nullptr) return compile_and_publish(runtime, specialization, source, key);

  std::shared_ptr<const Artifact> published;
  const DiskCache::Lock lock = cache->lock(key, options.lock_wait, [&] {
    published = look();
    return published != nullptr;
  });
  if (published == nullptr && lock.held()) published = look();  // between our miss and our lock
  if (published != nullptr) return on_disk(std::move(published));
  return compile_and_publish(runtime, specialization, source, key);
}

Result<Resolved> Runtime::State::compile_and_publish(Runtime& runtime,
                                                     const Specialization& specialization,
                                                     const Source& source, const ArtifactKey& key) {
  const Target& target = specialization.target();
  DIECAST_TRY(auto compiler, runtime.compiler(target));
  DIECAST_TRY(Artifact artifact, compiler->compile(source, target));
  artifact.argument_schema = specialization.argument_schema();
  artifact.spelling = specialization.spelling();
  ++count.compiled;
  tell(RuntimeEvent::Kind::compiled, artifact.spelling, key.hex(), artifact.compile_ms);
  if (cache != nullptr && cache->publish(key, artifact)) {
    ++count.published;
    tell(RuntimeEvent::Kind::published, artifact.spelling, key.hex(), 0);
  }
  return Resolved{std::make_shared<const Artifact>(std::move(artifact)), Resolved::Origin::compiled};
}

Result<std::shared_ptr<Kernel>> Runtime::preload(const Specialization& specialization,
                                                 const std::shared_ptr<Device>& device) {
  const std::pair<std::string, const Device*> name{specialization.spelling(), device.get()};
  std::shared_ptr<Kernel> kernel;
  {
    std::lock_guard lock(state_->kernels_mutex);
    const auto known = state_->kernels.find(name);
    if (known != state_->kernels.end()) kernel = known->second;
  }
  if (kernel == nullptr) {
    DIECAST_TRY(Resolved resolved, resolve(specialization));
    DIECAST_TRY(kernel, Kernel::make(specialization, std::move(resolved.artifact), device));
    std::lock_guard lock(state_->kernels_mutex);
    kernel = state_->kernels.emplace(name, kernel).first->second;
  }
  DIECAST_TRY(const bool resident, kernel->resident());
  if (resident) return kernel;
  if (state_->frozen) return frozen_error(name.first, "not resident");
  const auto start = Clock::now();
  DIECAST_CHECK(kernel->preload());
  ++state_->count.loaded;
  state_->tell(RuntimeEvent::Kind::loaded, name.first, device->properties().name, ms_since(start));
  return kernel;
}

}  // namespace diecast
