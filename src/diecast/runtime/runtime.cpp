// Making a runtime, and its calls that one part answers; see state.h. Calls that need several are
// in specialize.cpp and tuner.cpp.
#include <diecast/base/no_throw.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/state.h>

namespace diecast {

Result<std::shared_ptr<Runtime>> Runtime::create(RuntimeOptions options) {
  if (options.wrong) return *options.wrong;
  auto state = std::make_unique<State>(std::move(options));
  DIECAST_CHECK(state->common.open_log());
  DIECAST_CHECK(state->templates.open());
  DIECAST_CHECK(state->cache.open());
  DIECAST_CHECK(state->common.open_trace());
  state->tuning.open();
  return std::shared_ptr<Runtime>(new Runtime(std::move(state)));
}

Runtime::Runtime(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runtime::~Runtime() = default;

Result<std::shared_ptr<const Template>> Runtime::add(const std::string& path) {
  return state_->templates.add(path);
}

Result<std::shared_ptr<const Template>> Runtime::add_text(std::string_view name,
                                                          std::string_view text) {
  return state_->templates.add_text(name, text);
}

Result<void> Runtime::add_header(const std::string& name, const std::string& path) {
  return state_->templates.add_header(name, path);
}

Result<std::shared_ptr<const Template>> Runtime::find_template(std::string_view name) {
  return state_->templates.find(name);
}

std::vector<std::string> Runtime::template_names() const { return state_->templates.names(); }

Result<Source> Runtime::render(const Specialization& specialization) {
  return state_->templates.render(specialization);
}

Result<ArtifactKey> Runtime::key(const Specialization& specialization) {
  DIECAST_TRY(const Source source, render(specialization));
  return make_key(specialization, source);
}

Result<bool> Runtime::holds(const Specialization& specialization) {
  return no_throw([&] { return state_->artifacts.holds(specialization); });
}

Result<Resolved> Runtime::resolve(const Specialization& specialization) {
  return no_throw([&] { return state_->artifacts.resolve(specialization); });
}

void Runtime::flush() { state_->cache.flush(); }

Result<std::shared_ptr<Kernel>> Runtime::preload(const Specialization& specialization,
                                                 const std::shared_ptr<Device>& device) {
  return state_->kernels.preload(specialization, device);
}

Result<std::vector<std::shared_ptr<Kernel>>> Runtime::preload(
    std::span<const Specialization> specializations, const std::shared_ptr<Device>& device) {
  return state_->kernels.preload(specializations, device);
}

Result<std::shared_ptr<Device>> Runtime::default_device() { return state_->devices.current(); }

void Runtime::add_tuning(std::vector<TuningRecord> records) {
  state_->tuning.add(std::move(records));
}

std::vector<Specialization> Runtime::tuned_variants(const Specialization& plain,
                                                    const Bindings& given) {
  return state_->tuning.variants(plain, given);
}

std::string Runtime::selection_digest() const { return state_->tuning.digest(); }

void Runtime::freeze(Late late) {
  state_->common.late = late;
  state_->common.frozen = true;
}
bool Runtime::frozen() const { return state_->common.frozen; }

Result<std::shared_ptr<Compiler>> Runtime::compiler(const Target& target) {
  return state_->compilers.open(target);
}

CacheRoots* Runtime::cache() const { return state_->cache.roots(); }
std::string Runtime::cache_state() const { return state_->cache.state(); }
const std::vector<RefusedRoot>& Runtime::refused_roots() const {
  return state_->cache.refused_roots();
}
std::vector<RuntimeEvent> Runtime::notices() const { return state_->common.notices(); }
RuntimeCounters Runtime::counters() const { return state_->common.counters(); }

const void* Runtime::find_prepared(const PreparedKey& key) const {
  return state_->prepared.find(key);
}

bool Runtime::keeps_enough(const PreparedKey& key) const {
  return state_->prepared.count(key.op) >= state_->common.options.prepared_requests;
}

const void* Runtime::keep_prepared(const PreparedKey& key, std::shared_ptr<const void> prepared) {
  return state_->prepared.keep(key, std::move(prepared));
}

}  // namespace diecast
