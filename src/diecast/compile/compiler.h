// The interface of compilers: source text in, machine code out. Implementations: nvrtc.h,
// host_cxx.h.
#pragma once

#include <diecast/base/error.h>
#include <diecast/compile/artifact.h>
#include <diecast/template/source.h>
#include <diecast/template/target.h>

#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// Returns the options that decide the machine code. They are part of the cache key, so they are
// known without a compiler and the same for every compiler version.
std::vector<std::string> code_options(const Target& target, BuildKind build = BuildKind::plain);

// Returns those of a host target with a sanitizer ("address,undefined") or none ("").
std::vector<std::string> host_options(const Target& target, const std::string& sanitizer,
                                      BuildKind build = BuildKind::plain);

// The sanitizer that this library was built with; kernels for the host are compiled with it too.
std::string built_sanitizer();

// Makes a compile_failed with the compiler's cleaned log. The fix names the first line of the
// source's own file that the log calls an error.
Error rejected_source(const Source& source, const Target& target, std::string_view compiler,
                      std::string_view log);

class Compiler {
 public:
  virtual ~Compiler() = default;
  // Name, version and build, in [a-zA-Z0-9._-]: the directory level of the cache.
  virtual const std::string& identity() const = 0;
  // The absolute path of its file, which no other compiler has.
  virtual const std::string& path() const = 0;
  // Where it was found and its version, for `doctor`.
  virtual std::string description() const = 0;
  // Says whether it compiles for a target. Errors: target_not_supported naming the version that
  // does.
  virtual Result<void> accepts(const Target& target) const = 0;
  // Compiles; thread-safe. It fills kind, target, symbol, compiler, resource numbers, compile_ms,
  // log and payload; the caller adds argument_schema and spelling. Errors: compile_failed with the
  // trimmed log (lines under the template's own file name), target_not_supported.
  virtual Result<Artifact> compile(const Source& source, const Target& target) = 0;
  // Compiles too, and returns the PTX from which the machine code is made. Errors: those of
  // compile(); target_not_supported where there is no PTX on the way.
  virtual Result<std::string> ptx(const Source& source, const Target& target);
};

}  // namespace diecast
