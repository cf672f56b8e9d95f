// The measurements of diecast-bench; each part measures in one run what it compares.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/runtime/runtime.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace diecast::tool {

// One measured figure and, where we promise one, its bound.
struct Figure {
  std::string what;
  double value = 0;
  std::string unit = {};
  double bound = 0;          // 0: no promise
  bool at_least = false;     // the bound is a lower one
  std::string detail = {};   // of what the ratio was made
  std::string missing = {};  // why it could not be measured here; a measured one has none

  bool holds() const { return bound == 0 || (at_least ? value >= bound : value <= bound); }
};

using Figures = std::vector<Figure>;

struct BenchShape {
  std::int64_t rows = 0, cols = 0;
  friend bool operator==(const BenchShape&, const BenchShape&) = default;
};

// A private folder that goes away again.
class ScratchRoot {
 public:
  explicit ScratchRoot(const std::string& parent = "");  // "": that of temporary files
  ~ScratchRoot();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline constexpr std::string_view kBenchStart = "start";  // the subcommand that it measures

// PYTHONPATH of a child: the package of this build, before what the environment names.
std::string python_path();

// The middle of them; 0 of none.
double median(std::vector<double> values);
// Where the middle half of them lies: "0.61 to 1.32".
std::string middle_half(std::vector<double> values, int digits);
// That of `repeats` runs of `measure`.
double median_of(int repeats, const std::function<double()>& measure);

Result<Figures> bench_compile(Runtime& runtime);  // cold compiles against an empty kernel's
Result<Figures> bench_cache(Runtime& runtime);    // memory, disk and bundle hits, publishing
Result<Figures> bench_warm(Runtime& runtime);     // warming on two cores, a warmed start
Result<Figures> bench_host(Runtime& runtime);     // the ops on one core of this processor
// Checkpoints from file to file in memory, on this processor and on a GPU where there is one.
Result<Figures> bench_checkpoint(Runtime& runtime);
// The ops on matrices of these shapes (whole blocks of 32) against a device-to-device copy and
// against their loads and stores alone.
Result<Figures> bench_gpu(Runtime& runtime, const std::vector<BenchShape>& shapes);
// quantize_nvfp4 of few rows in a CUDA graph, against its loads and stores alone and against its
// fastest configuration.
Result<Figures> bench_small(Runtime& runtime, const std::vector<BenchShape>& shapes);
// Each template made for these matrices, against itself with its shape parameters left open.
Result<Figures> bench_specialization(Runtime& runtime, const std::vector<BenchShape>& shapes);
// On matrices of the first shapes f16 and f32 beside bf16, on the others each odd shape beside the
// next larger even one.
Result<Figures> bench_inputs(Runtime& runtime, const std::vector<BenchShape>& typed,
                             const std::vector<BenchShape>& odd);
// The bandwidth of quantize_nvfp4 over the rows of these matrices, which have the same columns, as
// a picture in an SVG file. Errors: invalid_argument; of the file.
Result<Figures> bench_plot(Runtime& runtime, const std::vector<BenchShape>& shapes,
                           const std::string& file);
// Layers of experts on a GPU: some that models have, or of 8 experts, two a token, whose outputs
// and x have as many columns as these shapes have rows and columns.
Result<Figures> bench_linear(Runtime& runtime, const std::vector<BenchShape>& shapes);
// The functions of diecast/device/math on a GPU, beside CUDA's own.
Result<Figures> bench_functions(Runtime& runtime);
Result<Figures> bench_gemm(Runtime& runtime);     // gemm_nvfp4 on a GPU, by each of its ways
Result<Figures> bench_launch(Runtime& runtime);   // launches against the driver's own
Result<Figures> bench_python(Runtime& runtime);   // calls from Python beside calls from C++
Result<Figures> bench_weights(Runtime& runtime);  // casts of sharded weights on a GPU
// The ops that take many matrices at once, on a device; a part of the options'.
Result<Figures> bench_groups(Runtime& runtime, const std::shared_ptr<Device>& device);
// Each option of these templates (of all without a name) on "host", "cuda" and "compiler" (on what
// there is without a word): its time beside plain quantize_nvfp4's on this processor and on a GPU,
// its cold compile beside an empty kernel's.
Result<Figures> bench_options(Runtime& runtime, const std::vector<std::string>& templates,
                              const std::vector<std::string>& on);

}  // namespace diecast::tool
