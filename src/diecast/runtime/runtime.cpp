// Making a runtime, its templates and its view of itself. The line itself is in resolve.cpp.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/launch/cuda_device.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/state.h>

#include <algorithm>

namespace diecast {
namespace {

// `written`: the root that gets them; of the others, bundles and roots that are only read, the
// sums.
Counts counts_of(const RuntimeCounters& counters, const CacheRoots& roots,
                 const DiskCache& written) {
  const CacheStatistics root = written.statistics();
  std::uint64_t other_hits = 0, other_rejected = 0;
  for (const CacheRoots::Layer& layer : roots.layers()) {
    if (layer.directory.get() == &written) continue;
    other_hits += layer.bundle ? layer.bundle->hits() : layer.directory->statistics().hits;
    other_rejected +=
        layer.bundle ? layer.bundle->rejected() : layer.directory->statistics().rejected;
  }
  Counts out = {{"rendered", counters.rendered},
                {"memory_hits", counters.memory_hits},
                {"disk_hits", counters.disk_hits},
                {"compiled", counters.compiled},
                {"failed", counters.failed},
                {"published", counters.published},
                {"loaded", counters.loaded},
                {"waited", counters.waited},
                {"late", counters.late},
                {"refused", counters.refused},
                {"pruned", counters.pruned},
                {"ignored", counters.ignored},
                {"degraded", counters.degraded},
                {"root_hits", root.hits},
                {"root_misses", root.misses},
                {"root_rejected", root.rejected},
                {"root_replaced", root.replaced},
                {"root_already_there", root.already_there},
                {"root_publish_failures", root.publish_failures},
                {"root_publishes_skipped", root.publishes_skipped},
                {"root_lock_waits", root.lock_waits},
                {"root_lock_timeouts", root.lock_timeouts},
                {"root_lock_failures", root.lock_failures},
                {"other_hits", other_hits},
                {"other_rejected", other_rejected}};
  for (std::size_t i = 0; i < root.faults.size(); ++i) {
    if (root.faults[i] > 0)
      out[cat("root_", entry_fault_name(static_cast<EntryFault>(i)))] = root.faults[i];
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<Runtime>> Runtime::create(RuntimeOptions options) {
  if (options.wrong) return *options.wrong;
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  if (state->options.template_directory.empty()) {
    state->files = TemplateFiles::embedded();
  } else {
    DIECAST_TRY(state->files, TemplateFiles::from_directory(state->options.template_directory));
  }
  DIECAST_CHECK(state->open_cache());
  DIECAST_CHECK(state->open_trace());
  state->open_tuning();
  return std::shared_ptr<Runtime>(new Runtime(std::move(state)));
}

Runtime::Runtime(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runtime::~Runtime() = default;

// Counts are left once everything is published.
Runtime::State::~State() {
  if (!publisher->is_ours()) (void)publisher.release();
  publisher.reset();
  leave_counts();
}

void Runtime::State::tell(RuntimeEvent event) const {
  if (!options.on_event) return;
  try {
    if (KeepEvents::kept != nullptr) {
      KeepEvents::kept->push_back(std::move(event));
    } else {
      options.on_event(event);
    }
  } catch (...) {
  }
}

Result<std::shared_ptr<const Template>> Runtime::add(const std::string& path) {
  DIECAST_TRY(const Bytes bytes, read_file(system_files(), path, 4u << 20));
  std::string name = path.substr(path.rfind('/') + 1);
  if (!name.ends_with(".cu")) {
    return Error{ErrorCode::invalid_argument,
                 cat("a template's file is NAME.cu, not ", quote(name)),
                 "rename the file; NAME becomes the kernel's symbol"};
  }
  name.resize(name.size() - 3);
  const std::string_view text = file_text(bytes);
  DIECAST_TRY(auto added, Template::parse(name, text, state_->files));

  std::unique_lock lock(state_->templates_mutex);
  const auto known = state_->templates.find(name);
  const std::string* built_in = state_->files.template_text(name);
  const std::string* other = known != state_->templates.end() ? &known->second->text() : built_in;
  if (other != nullptr && *other != text) {
    return Error{ErrorCode::file_exists, cat("another template is already named ", quote(name)),
                 cat("rename ", quote(path))};
  }
  return state_->templates.emplace(name, std::move(added)).first->second;
}

Result<std::shared_ptr<const Template>> Runtime::find_template(std::string_view name) {
  {
    std::shared_lock lock(state_->templates_mutex);
    const auto known = state_->templates.find(name);
    if (known != state_->templates.end()) return known->second;
  }
  const std::string* text = state_->files.template_text(name);
  if (text == nullptr) {
    const auto names = template_names();
    return Error{ErrorCode::unknown_template,
                 cat("no template is named ", quote(name), did_you_mean(name, names)),
                 "`diecast list` shows the templates; your own come by --add NAME.cu, in a program "
                 "by runtime.add(\"NAME.cu\")"};
  }
  DIECAST_TRY(auto parsed, Template::parse(name, *text, state_->files));
  std::unique_lock lock(state_->templates_mutex);
  return state_->templates.emplace(std::string(name), std::move(parsed)).first->second;
}

std::vector<std::string> Runtime::template_names() const {
  std::vector<std::string> names = state_->files.template_names();
  std::shared_lock lock(state_->templates_mutex);
  for (const auto& [name, known] : state_->templates) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::shared_ptr<Compiler>> Runtime::compiler(const Target& target) {
  LazyCompiler& lazy = target.is_host() ? state_->host_cxx : state_->nvrtc;
  const std::lock_guard lock(lazy.mutex);
  if (lazy.compiler) return *lazy.compiler;
  auto opened = target.is_host() ? open_host_cxx(state_->options.host_cxx)
                                 : open_nvrtc(state_->options.nvrtc);
  if (opened || opened.error().code != ErrorCode::io_error) lazy.compiler = opened;
  return opened;
}

Result<std::shared_ptr<Device>> Runtime::default_device() {
  DIECAST_TRY(const int ordinal, current_cuda_device());
  std::lock_guard lock(state_->device_mutex);
  std::shared_ptr<Device>& device = state_->cuda_devices[ordinal];
  if (device == nullptr) {
    DIECAST_TRY(device, open_cuda_device(ordinal));
  }
  return device;
}

void Runtime::freeze(Late late) {
  state_->late = late;
  state_->frozen = true;
}
bool Runtime::frozen() const { return state_->frozen; }
CacheRoots* Runtime::cache() const { return state_->cache.get(); }
std::string Runtime::cache_state() const { return state_->cache_state; }
const std::vector<RefusedRoot>& Runtime::refused_roots() const { return state_->refused_roots; }

RuntimeCounters Runtime::counters() const { return state_->counters(); }

RuntimeCounters Runtime::State::counters() const {
  const auto& c = count;
  return {c.rendered, c.memory_hits, c.disk_hits, c.compiled, c.failed,  c.published, c.loaded,
          c.waited,   c.late,        c.refused,   c.pruned,   c.ignored, c.degraded};
}

void Runtime::State::leave_counts() const {
  DiskCache* const root = cache == nullptr ? nullptr : cache->writable();
  if (root == nullptr || process != ::getpid()) return;
  try {
    Counts counts = counts_of(counters(), *cache, *root);
    const bool used = std::any_of(counts.begin(), counts.end(),
                                  [](const auto& count) { return count.second != 0; });
    counts["runtimes"] = 1;
    if (used) root->add_counts(counts);
  } catch (const std::bad_alloc&) {  // lost, like what a full disk loses
  }
}

const void* Runtime::find_prepared(const Device* device, std::uint64_t request) const {
  return state_->prepared.find(device, request);
}

const void* Runtime::keep_prepared(const Device* device, std::uint64_t request,
                                   std::shared_ptr<const void> prepared) {
  return state_->prepared.keep(device, request, std::move(prepared));
}

}  // namespace diecast
