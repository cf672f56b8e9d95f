// diecast-bench small: quantize_nvfp4 of few rows, as a step of decoding has them, many launches in
// one CUDA graph: against the fastest configuration that the header allows, and with linear scales
// against a kernel of the same grid, threads, loads and stores without arithmetic, all in the same
// graph run.
#include <diecast/base/text.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/tool/console.h>

#include <algorithm>

#include "bench/accesses.h"
#include "bench/bench.h"
#include "bench/device.h"
#include "bench/graph.h"
#include "bench/named_arguments.h"

namespace diecast::tool {
namespace {

constexpr int kGraphLaunches = 100;
constexpr double kMostOverAccesses = 1.10, kMostOverFastest = 1.05;

// What is measured on one matrix.
struct SmallCase {
  BenchMatrix matrix;
  bool row_scaled() const { return matrix.quantized().type.row_scaled; }
  ScaleLayout layout() const { return matrix.quantized().type.layout; }
  std::int64_t rows() const { return matrix.x.rows(); }
  std::int64_t cols() const { return matrix.x.cols(); }
};

// What the names of kernels' and patterns' headers stand for.
std::vector<KernelArgument> arguments_of(const Specialization& one, const SmallCase& of) {
  const Tensor& x = of.matrix.x;
  const QuantizedSide& to = of.matrix.quantized().rowwise;
  return arguments_by_name(one,
                           {{"x", x.data},
                            {"amax", to.amax},
                            {"codes", to.data},
                            {"scales", to.scale},
                            {"from", x.data},
                            {"to", to.data},
                            {"to_row", to.amax},
                            {"to_scales", to.scale},
                            {"word", to.amax}},
                           {{"rows", x.rows()},
                            {"cols", x.cols()},
                            {"pieces", x.rows() * x.cols() / 16},
                            {"row_pieces", x.cols() / 16}});
}

// One way to launch a kernel.
struct Configured {
  std::shared_ptr<Kernel> kernel;
  std::vector<KernelArgument> arguments;
  Bindings tunes;  // of the launch
  LaunchShape shape;

  std::string text() const {
    std::string out;
    const Specialization& one = kernel->specialization();
    for (const Parameter& p : one.tmpl().parameters()) {
      if (p.kind != Parameter::Kind::tune) continue;
      const Value* given = p.compiled() ? one.bindings().find(p.name) : tunes.find(p.name);
      out += cat(out.empty() ? "" : " ", p.name, "=", given->spelling());
    }
    return out;
  }
};

Result<void> launch(const Configured& of, Stream stream) {
  return of.kernel->launch(of.arguments, stream, of.tunes);
}

bool same_grid(const LaunchShape& a, const LaunchShape& b) {
  return a.grid == b.grid && a.block == b.block;
}

// Every configuration of a template, but of launches that come out alike the first alone.
Result<std::vector<Configured>> configurations(Runtime& runtime,
                                               const std::shared_ptr<Device>& device,
                                               const std::shared_ptr<const Template>& tmpl,
                                               const Bindings& fixed, const SmallCase& of) {
  const Target target = device->targets().front();
  DIECAST_TRY(const auto points, tmpl->space(target, fixed));
  std::vector<Specialization> all;
  for (const Bindings& point : points) {
    DIECAST_TRY(all.emplace_back(), Specialization::make(tmpl, point, target));
  }
  DIECAST_TRY(const auto kernels, runtime.preload(all, device));
  std::vector<Configured> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t of_kernel = out.size();
    const Parameter* const waves = tmpl->parameter("waves");
    for (const Value& value : waves == nullptr ? std::vector<Value>(1) : waves->allowed) {
      Configured one{kernels[i], arguments_of(all[i], of), {}, {}};
      if (waves != nullptr) one.tunes.set("waves", value);
      auto shape = one.kernel->shape(one.arguments, one.tunes);
      if (!shape && shape.error().code == ErrorCode::not_supported) continue;  // too large a grid
      DIECAST_TRY(one.shape, std::move(shape));
      const bool known =
          std::any_of(out.begin() + static_cast<std::ptrdiff_t>(of_kernel), out.end(),
                      [&](const Configured& other) { return same_grid(other.shape, one.shape); });
      if (!known) out.push_back(std::move(one));
    }
  }
  return out;
}

// All options by themselves: what of the space is left are its tunes.
Bindings plain_options(const Template& tmpl, const SmallCase& of) {
  Bindings out;
  for (const Parameter& p : tmpl.parameters()) {
    if (p.kind != Parameter::Kind::tune && p.fallback) out.set(p.name, *p.fallback);
  }
  return out.set("COLS", of.cols()).set("IN", DType::bf16).set("LAYOUT", word(of.layout()));
}

Result<std::vector<Configured>> kernels_of(Runtime& runtime, const std::shared_ptr<Device>& device,
                                           const SmallCase& of) {
  std::vector<Configured> out;
  for (const char* name : {"quantize_nvfp4_row_scaled", "quantize_nvfp4_row_scaled_few",
                           "quantize_nvfp4", "quantize_nvfp4_few"}) {
    if (of.row_scaled() != std::string_view(name).starts_with("quantize_nvfp4_row_scaled"))
      continue;
    DIECAST_TRY(const auto tmpl, runtime.find_template(name));
    DIECAST_TRY(auto some, configurations(runtime, device, tmpl, plain_options(*tmpl, of), of));
    std::ranges::move(some, std::back_inserter(out));
  }
  return out;
}

// The kernel without arithmetic whose grid and threads are these.
Result<Configured> accesses_of(Runtime& runtime, const std::shared_ptr<Device>& device,
                               const SmallCase& of, const Kernel& kernel) {
  DIECAST_TRY(const LaunchShape shape, kernel.shape(arguments_of(kernel.specialization(), of)));
  const Specialization& one = kernel.specialization();
  const bool once = one.tmpl().parameter("BLOCKS") != nullptr;
  const char* const pattern = of.row_scaled() ? once ? "accesses_row_once" : "accesses_rows"
                              : once          ? "accesses_once"
                                              : "accesses_direct";
  DIECAST_TRY(const auto tmpl, pattern_template(pattern));
  Bindings fixed;
  if (of.row_scaled()) {
    fixed.set("COLS", of.cols());
    if (once) {
      for (const char* const name : {"BLOCKS", "CLUSTER", "ROWS_AT_ONCE", "NEXT"})
        fixed.set(name, *one.bindings().find(name));
    }
  } else if (once) {
    fixed.set("LANES", one.number("LANES")).set("BLOCKS", one.number("BLOCKS"));
  } else {
    fixed.set("READ", 32).set("WRITE", 8).set("READ_SCALE", 0).set("WRITE_SCALE", 1);
    fixed.set("LAYOUT", "linear").set("READ_WORD", true).set("TOGETHER", 1).set("AHEAD", false);
  }
  if (tmpl->parameter("THREADS") != nullptr)
    fixed.set("THREADS", static_cast<std::int64_t>(shape.block[0]));
  DIECAST_TRY(const auto all, configurations(runtime, device, tmpl, fixed, of));
  for (const Configured& each : all) {
    if (same_grid(each.shape, shape)) return each;
  }
  return Error{ErrorCode::not_supported,
               cat("no pattern has the grid of ", one.spelling(), ": ",
                   shape.grid[0] * shape.grid[1], " blocks of ", shape.block[0], " threads"),
               cat("let ", tmpl->name(), " have the tunes of that kernel")};
}

Result<Figures> measure_small(Runtime& runtime, const std::shared_ptr<Device>& device,
                              Stream stream, const SmallCase& of) {
  PreparedQuantizeNvfp4::Request request;
  request.amax_given = !of.row_scaled();
  request.out.row_scaled = of.row_scaled();
  request.cols = of.cols();
  request.out.layout = of.layout();
  DIECAST_TRY(const auto op, PreparedQuantizeNvfp4::prepare(runtime, device, request));
  DIECAST_TRY(const auto configured, kernels_of(runtime, device, of));
  DIECAST_TRY(GraphTimes times, GraphTimes::open(runtime, device, stream));
  const auto add = [&](const std::function<Result<void>()>& call) {
    return times.add(kGraphLaunches, [&](int) { return call(); });
  };
  DIECAST_CHECK(add([&] { return op.run(of.matrix.x, of.matrix.quantized(), stream); }));
  for (const Configured& one : configured) {
    DIECAST_CHECK(add([&] { return launch(one, stream); }));
  }
  const bool linear = of.layout() == ScaleLayout::linear;
  if (linear) {
    const Kernel& chosen = op.kernel(of.rows() * of.cols());
    DIECAST_TRY(const auto alone, accesses_of(runtime, device, of, chosen));
    DIECAST_CHECK(add([&] { return launch(alone, stream); }));
  }
  DIECAST_TRY(const std::vector<double> us, times.measure());
  const std::string what =
      cat("quantize_nvfp4 bf16, ", linear ? "" : "128x4, ",
          of.row_scaled() ? "row-scaled" : "amax given", ", ", of.rows(), "x", of.cols());
  const auto beside = [&](double other) {
    return cat(fixed(us[0], 2), " us a launch against ", fixed(other, 2));
  };
  Figures out;
  if (linear) {
    out.push_back({what, us[0] / us.back(), "x its accesses alone", kMostOverAccesses, false,
                   beside(us.back())});
  }
  const auto fastest = std::min_element(us.begin() + 1, us.begin() + 1 + std::ssize(configured));
  out.push_back({what, us[0] / *fastest, "x the fastest configuration", kMostOverFastest, false,
                 cat(beside(*fastest), ": ",
                     configured[static_cast<std::size_t>(fastest - us.begin()) - 1].text())});
  return out;
}

}  // namespace

Result<Figures> bench_small(Runtime& runtime, const std::vector<BenchShape>& shapes) {
  DIECAST_TRY(const auto device, runtime.default_device());
  DIECAST_TRY(const Stream stream, device->create_stream());
  Figures figures;
  const auto measure = [&](const BenchShape& shape, bool row_scaled,
                           ScaleLayout layout) -> Result<void> {
    const auto [rows, cols] = shape;
    DIECAST_TRY(BenchMatrix m, bench_matrix(device, rows, cols, row_scaled, 1, layout));
    DIECAST_CHECK(device->fill(m.quantized().rowwise.amax, 0x41,
                               static_cast<std::size_t>(m.quantized().rowwise.amax_count) * 4,
                               stream));  // 12: above the largest, as amaxes are
    DIECAST_TRY(const Figures some, measure_small(runtime, device, stream, {std::move(m)}));
    figures.insert(figures.end(), some.begin(), some.end());
    return {};
  };
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4}) {
    for (const bool row_scaled : {false, true}) {
      for (const BenchShape& shape : shapes) DIECAST_CHECK(measure(shape, row_scaled, layout));
    }
  }
  return figures;
}

}  // namespace diecast::tool
