// The compilers of a runtime, NVRTC and the host's C++ compiler: each is found and opened once,
// when it is first asked for.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/runtime/runtime.h>

#include <memory>
#include <optional>

namespace diecast {

class Compilers {
 public:
  explicit Compilers(const RuntimeOptions& options) : options_(options) {}

  // The compiler of a target. Its error is remembered too, except for what was missing for the
  // moment (io_error).
  Result<std::shared_ptr<Compiler>> open(const Target& target);
  // The one whose artifacts of this target may be used. Under require-hit nothing is compiled, so
  // there it is an error (not_cached) and no compiler is opened, unless only the exact compiler's
  // artifacts may be used. Errors: those of open() and Compiler::accepts().
  Result<std::shared_ptr<Compiler>> usable(const Target& target);
  // Whether what the cache lacks can be compiled.
  bool builds_for(const Target& target);
  // By a compiler of this target: in this process, or in one of its own where the options say so.
  Result<Artifact> compile(Compiler& compiler, const Source& source, const Target& target) const;

 private:
  struct Opened {
    LongMutex mutex;  // held while it is opened; a child forked meanwhile opens it itself
    std::optional<Result<std::shared_ptr<Compiler>>> compiler;
  };
  const RuntimeOptions& options_;
  Opened nvrtc_, host_cxx_;
};

}  // namespace diecast
