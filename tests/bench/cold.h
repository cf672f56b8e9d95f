// One source's cold compile against an empty kernel's, in the same process and turn by turn, so
// that the ratio says how much source we give the compiler and not how fast or busy the machine is.
#pragma once

#include <diecast/base/error.h>
#include <diecast/compile/compiler.h>
#include <diecast/compile/nvrtc_api.h>
#include <diecast/runtime/runtime.h>

#include <memory>

#include "bench/bench.h"

namespace diecast::tool {

// What a cold compile may take, times an empty kernel's: of plain quantize_nvfp4, of a plain cell,
// and of any.
inline constexpr double kQuantizeCompile = 3, kPlainCompile = 4, kAnyCompile = 10;
// The plain operations: along rows, with no more than a template's defaults.
inline constexpr std::string_view kPlainTemplates[] = {
    "amax", "quantize_nvfp4", "quantize_nvfp4_row_scaled", "dequantize_nvfp4"};
bool is_plain(std::string_view name);

// Milliseconds of the processor on one thread, the mean of the repeats.
struct ColdTime {
  double ms = 0, empty_ms = 0;
  double ratio() const { return ms / empty_ms; }
};

class ColdCompiles {
 public:
  // Errors: compiler_unavailable, target_not_supported, compile_failed.
  static Result<ColdCompiles> open(Runtime& runtime, const Target& target);

  // An empty kernel's compile goes before each of the source's. It is made as NVRTC does by itself,
  // its own cache aside: what options win counts.
  Result<ColdTime> measure(const Source& source, int repeats) const;
  // One compile, and several where that comes near the bound of its ratio.
  Result<ColdTime> measure_against(const Source& source, double bound) const;
  // Milliseconds of the one compile of each, side by side on the cores: which are the slowest, and
  // no figure.
  Result<std::vector<double>> sweep(const std::vector<Source>& sources) const;
  const Target& target() const { return target_; }

 private:
  ColdCompiles(Target target, nvrtc::Api nvrtc, std::shared_ptr<Compiler> compiler)
      : target_(std::move(target)), nvrtc_(std::move(nvrtc)), compiler_(std::move(compiler)) {}
  Result<void> compile_empty_kernel() const;

  Target target_;
  nvrtc::Api nvrtc_;
  std::shared_ptr<Compiler> compiler_;
};

// Of some dozens of points spread evenly over a template's whole space the slowest to compile.
Result<Figure> slowest_of_space(Runtime& runtime, const ColdCompiles& compiles,
                                const std::string& name);

}  // namespace diecast::tool
