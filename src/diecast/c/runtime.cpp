// Runtimes of the C interface: opening, compiling, warming, counting.
#include <diecast/base/text.h>
#include <diecast/c/objects.h>
#include <diecast/c/status.h>
#include <diecast/compile/disassembler.h>
#include <diecast/ops/expand_ops.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/write_bundle.h>

#include <algorithm>

namespace diecast::c {
namespace {

void take(std::string& to, const char* given) {
  if (given != nullptr) to = given;
}

// A caller's function as a sink: while it runs, its thread may close nothing.
EventSink sink_of(diecast_event_callback call, void* user) {
  if (call == nullptr) return {};
  return [call, user](const RuntimeEvent& event) {
    const InCallback inside;
    const std::string name(event_name(event.kind));
    call(user, name.c_str(), event.spelling.c_str(), event.detail.c_str(), event.ms);
  };
}

Result<RuntimeOptions> options_of(const diecast_runtime_options& given) {
  RuntimeOptions options = RuntimeOptions::from_environment();
  take(options.cache, given.cache);
  take(options.template_directory, given.template_directory);
  take(options.tuning, given.tuning);
  take(options.trace, given.trace);
  take(options.nvrtc.path, given.nvrtc);
  take(options.host_cxx.compiler, given.host_compiler);
  options.on_event = sink_of(given.on_event, given.user);
  if (given.cache_policy == nullptr) return options;
  DIECAST_TRY(options.cache_policy, parse_cache_policy(given.cache_policy));
  return options;
}

// The targets of a list; none for null.
Result<std::vector<Target>> targets_of(const char* names) {
  std::vector<Target> out;
  if (names == nullptr) return out;
  for (const std::string_view name : split(names, ',')) {
    DIECAST_TRY(Target target, Target::parse(trim(name)));
    out.push_back(std::move(target));
  }
  return out;
}

// A spelling that names its target, or one for a device.
Result<Specialization> specialize(Runtime& runtime, std::uint64_t device,
                                  std::string_view spelling) {
  DIECAST_TRY(const Spelling parsed, parse_spelling(spelling));
  if (!parsed.targets.empty()) return runtime.specialize(spelling);
  DIECAST_TRY(const auto on, device_of(device, runtime, "diecast_specialize"));
  return runtime.specialize_for(spelling, *on);
}

diecast_artifact_info info_of(const Resolved& resolved) {
  const Artifact& artifact = *resolved.artifact;
  return {sizeof(diecast_artifact_info),
          static_cast<std::int32_t>(resolved.origin),
          artifact.kind == Artifact::Kind::cubin,
          artifact.registers,
          artifact.spill_bytes,
          artifact.local_bytes,
          artifact.static_shared_bytes,
          artifact.compile_ms};
}

// Counts what warming came to, and returns the first error.
Result<void> count(const std::vector<WarmOutcome>& outcomes, diecast_warm_counts& counts) {
  counts.wanted = outcomes.size();
  const WarmOutcome* failed = nullptr;
  for (const WarmOutcome& one : outcomes) {
    if (!one.resolved) {
      ++counts.failed;
      if (failed == nullptr) failed = &one;
    } else {
      const bool compiled = one.resolved->origin == Resolved::Origin::compiled;
      ++(compiled ? counts.compiled : counts.found);
    }
  }
  if (failed != nullptr && failed->error) return *failed->error;
  return {};
}

diecast_counters counters_of(const RuntimeCounters& all) {
  return {sizeof(diecast_counters),
          all.rendered,
          all.memory_hits,
          all.disk_hits,
          all.compiled,
          all.failed,
          all.published,
          all.loaded,
          all.waited,
          all.late,
          all.refused,
          all.pruned,
          all.ignored,
          all.degraded};
}

}  // namespace
}  // namespace diecast::c

using namespace diecast;
using namespace diecast::c;

extern "C" {

std::int32_t diecast_runtime_open(const diecast_runtime_options* options, diecast_handle* runtime) {
  return at_border([&]() -> Result<void> {
    DIECAST_CHECK(check_given(runtime, "diecast_runtime_open", "runtime"));
    DIECAST_TRY(const auto given, read_structure(options, diecast_runtime_options{}, "options"));
    DIECAST_TRY(RuntimeOptions with, options_of(given));
    DIECAST_TRY(auto opened, Runtime::create(std::move(with)));
    return open_as<RuntimeObject>(runtime, std::move(opened));
  });
}

std::int32_t diecast_specialize(diecast_handle runtime, diecast_handle device, const char* spelling,
                                diecast_text* whole) {
  return with_runtime(runtime, "diecast_specialize", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(spelling, "diecast_specialize", "spelling"));
    DIECAST_TRY(const Specialization made, specialize(with, device, spelling));
    return write_text(whole, made.spelling(), "diecast_specialize");
  });
}

std::int32_t diecast_source(diecast_handle runtime, const char* spelling, diecast_text* source) {
  return with_runtime(runtime, "diecast_source", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(spelling, "diecast_source", "spelling"));
    DIECAST_TRY(const Specialization made, with.specialize(spelling));
    DIECAST_TRY(const Source rendered, with.render(made));
    return write_text(source, rendered.text, "diecast_source");
  });
}

std::int32_t diecast_ptx(diecast_handle runtime, const char* spelling, diecast_text* ptx) {
  return with_runtime(runtime, "diecast_ptx", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(spelling, "diecast_ptx", "spelling"));
    DIECAST_TRY(const Specialization made, with.specialize(spelling));
    DIECAST_TRY(const Source rendered, with.render(made));
    DIECAST_TRY(const auto compiler, with.compiler(made.target()));
    DIECAST_TRY(const std::string text, compiler->ptx(rendered, made.target()));
    return write_text(ptx, text, "diecast_ptx");
  });
}

std::int32_t diecast_sass(diecast_handle runtime, const char* spelling, diecast_text* sass) {
  return with_runtime(runtime, "diecast_sass", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(spelling, "diecast_sass", "spelling"));
    DIECAST_TRY(const Specialization made, with.specialize(spelling));
    DIECAST_TRY(const std::string disassembler, find_disassembler());
    DIECAST_TRY(const Resolved resolved, with.resolve(made));
    DIECAST_TRY(const std::string text, disassemble(disassembler, *resolved.artifact));
    return write_text(sass, text, "diecast_sass");
  });
}

std::int32_t diecast_resolve(diecast_handle runtime, const char* spelling,
                             diecast_artifact_info* info, diecast_text* code) {
  return with_runtime(runtime, "diecast_resolve", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(spelling, "diecast_resolve", "spelling"));
    DIECAST_TRY(const Specialization made, with.specialize(spelling));
    DIECAST_TRY(const Resolved resolved, with.resolve(made));
    const diecast_artifact_info told = info_of(resolved);
    DIECAST_CHECK(write_structure(info, &told, sizeof told, "info"));
    if (code == nullptr) return {};
    const Bytes& payload = resolved.artifact->payload;
    return write_text(code, {reinterpret_cast<const char*>(payload.data()), payload.size()},
                      "diecast_resolve");
  });
}

std::int32_t diecast_warm(diecast_handle runtime, const char* manifest, const char* targets,
                          diecast_warm_counts* counts) {
  return with_runtime(runtime, "diecast_warm", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(manifest, "diecast_warm", "manifest"));
    DIECAST_TRY(const auto wanted_targets, targets_of(targets));
    DIECAST_TRY(const auto wanted,
                expand_manifest(with, manifest, "manifest", wanted_targets, expand_op));
    diecast_warm_counts told{};
    const Result<void> first = count(warm(with, wanted), told);
    DIECAST_CHECK(write_structure(counts, &told, sizeof told, "counts"));
    return first;
  });
}

std::int32_t diecast_bundle_create(diecast_handle runtime, const char* manifest,
                                   const char* targets, const char* path, diecast_text* digest) {
  return with_runtime(runtime, "diecast_bundle_create", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(manifest, "diecast_bundle_create", "manifest"));
    DIECAST_CHECK(check_given(path, "diecast_bundle_create", "path"));
    DIECAST_TRY(const auto wanted_targets, targets_of(targets));
    DIECAST_TRY(const auto wanted,
                expand_manifest(with, manifest, "manifest", wanted_targets, expand_op));
    DIECAST_TRY(auto entries, bundle_entries(with, warm(with, wanted)));
    DIECAST_TRY(const auto written, write_bundle(path, std::move(entries)));
    return digest == nullptr ? Result<void>()
                             : write_text(digest, hex(written.digest), "diecast_bundle_create");
  });
}

std::int32_t diecast_freeze(diecast_handle runtime, std::int32_t late) {
  return with_runtime(runtime, "diecast_freeze", [&](Runtime& with) -> Result<void> {
    with.freeze(late == 0 ? Late::error : Late::warn);
    return {};
  });
}

std::int32_t diecast_flush(diecast_handle runtime) {
  return with_runtime(runtime, "diecast_flush", [&](Runtime& with) -> Result<void> {
    with.flush();
    return {};
  });
}

std::int32_t diecast_counters_read(diecast_handle runtime, diecast_counters* counters) {
  return with_runtime(runtime, "diecast_counters_read", [&](Runtime& with) -> Result<void> {
    DIECAST_CHECK(check_given(counters, "diecast_counters_read", "counters"));
    const diecast_counters told = counters_of(with.counters());
    return write_structure(counters, &told, sizeof told, "counters");
  });
}

std::int32_t diecast_cache_state(diecast_handle runtime, diecast_text* state) {
  return with_runtime(runtime, "diecast_cache_state", [&](Runtime& with) -> Result<void> {
    return write_text(state, with.cache_state(), "diecast_cache_state");
  });
}

}  // extern "C"
