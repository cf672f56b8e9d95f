// Opening compilers and compiling; see compilers.h.
#include <diecast/runtime/compilers.h>
#include <diecast/runtime/isolated_compile.h>

#include <mutex>

namespace diecast {

Result<std::shared_ptr<Compiler>> Compilers::open(const Target& target) {
  Opened& one = target.is_host() ? host_cxx_ : nvrtc_;
  const std::lock_guard lock(one.mutex);
  if (one.compiler) return *one.compiler;
  auto opened = target.is_host() ? open_host_cxx(options_.host_cxx) : open_nvrtc(options_.nvrtc);
  if (opened || opened.error().code != ErrorCode::io_error) one.compiler = opened;
  return opened;
}

// Opening NVRTC would be most of the start of a process that compiles nothing.
Result<std::shared_ptr<Compiler>> Compilers::usable(const Target& target) {
  if (options_.cache_policy == CachePolicy::require_hit &&
      options_.cache_compilers != CompilerChoice::exact) {
    return Error{ErrorCode::not_cached, "the cache policy is require-hit", "warm the cache"};
  }
  DIECAST_TRY(auto compiler, open(target));
  DIECAST_CHECK(compiler->accepts(target));
  return compiler;
}

bool Compilers::builds_for(const Target& target) {
  return options_.cache_policy != CachePolicy::require_hit && usable(target).ok();
}

Result<Artifact> Compilers::compile(Compiler& compiler, const Source& source,
                                    const Target& target) const {
  return options_.isolated.program.empty() ? compiler.compile(source, target)
                                           : compile_isolated(options_, source, target, compiler);
}

}  // namespace diecast
