// What each option costs: for every value of every option of every template the nearest cell of the
// template's space to its plain one, its time beside plain quantize_nvfp4's in this run, and its
// cold compile beside an empty kernel's. Nothing here knows a template: arguments come from its
// header.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/trial.h>
#include <diecast/tool/bench.h>
#include <diecast/tool/console.h>
#include <diecast/tool/devices.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace diecast::tool {
namespace {

constexpr double kPlainCompile = 4, kAnyCompile = 10;  // times an empty kernel's

struct Cell {
  std::string what;  // "quantize_mx LAYOUT=s128x4"; the template's name alone for the plain one
  bool plain = false;
  Bindings bindings;
};

// In how many options they differ.
int distance(const Template& tmpl, const Bindings& a, const Bindings& b) {
  int apart = 0;
  for (const Parameter& p : tmpl.parameters()) {
    apart += p.kind == Parameter::Kind::option && !(*a.find(p.name) == *b.find(p.name));
  }
  return apart;
}

std::vector<Value> values_of(const Parameter& parameter, const std::vector<Bindings>& space) {
  std::vector<Value> values;
  for (const Bindings& bindings : space) {
    const Value& value = *bindings.find(parameter.name);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

// The plain cell, and for each other value of each option the one nearest to it.
Result<std::vector<Cell>> cells_of(const Template& tmpl, const Target& target) {
  Bindings held;
  for (const Parameter& p : tmpl.parameters()) {
    const bool option = p.kind == Parameter::Kind::option;
    if (!option && p.compiled() && p.fallback) held.set(p.name, *p.fallback);
  }
  DIECAST_TRY(const auto space, tmpl.space(target, held));
  if (space.empty()) return std::vector<Cell>();
  Bindings defaults = space.front();  // where there is no default, the first value
  for (const Parameter& p : tmpl.parameters()) {
    if (p.compiled() && p.fallback) defaults.set(p.name, *p.fallback);
  }
  const auto nearest = [&](const Parameter* p, const Value* value) {
    const Bindings* best = nullptr;
    for (const Bindings& bindings : space) {
      if (value != nullptr && !(*bindings.find(p->name) == *value)) continue;
      if (best == nullptr || distance(tmpl, bindings, defaults) < distance(tmpl, *best, defaults)) {
        best = &bindings;
      }
    }
    return best;
  };
  const Bindings plain = *nearest(nullptr, nullptr);
  std::vector<Cell> cells = {{tmpl.name(), true, plain}};
  for (const Parameter& p : tmpl.parameters()) {
    if (p.kind != Parameter::Kind::option) continue;
    for (const Value& value : values_of(p, space)) {
      if (value == *plain.find(p.name)) continue;
      cells.push_back(
          {cat(tmpl.name(), " ", p.name, "=", value.spelling()), false, *nearest(&p, &value)});
    }
  }
  return cells;
}

// The sizes of a launch on a [rows, cols] matrix (or as many elements); none for a template with
// sizes that only its op can make.
std::optional<RunSizes> sizes_of(const Specialization& one, std::int64_t rows, std::int64_t cols) {
  const bool matrix = one.tmpl().size("rows") != nullptr;
  RunSizes sizes;
  for (const std::string& name : free_sizes(one)) {
    const bool absent = is_absent_size(one.tmpl(), name);
    if (!absent && name != "rows" && name != "cols" && name != "count") return std::nullopt;
    const std::int64_t count = matrix || absent ? 0 : rows * cols;  // beside rows: of a group
    sizes.emplace_back(name, name == "rows" ? rows : name == "cols" ? cols : count);
  }
  return sizes;
}

// Times on the device, or none where a cell cannot be run by its header alone.
class Times {
 public:
  Times(Runtime& runtime, std::shared_ptr<Device> device)
      : runtime_(runtime), device_(std::move(device)) {}

  Result<std::optional<double>> of(const std::string& name, const Bindings& bindings) const {
    const bool host = device_->properties().cc == 0;
    DIECAST_TRY(const auto one, runtime_.specialize_for(name, bindings, *device_));
    const auto sizes = sizes_of(one, host ? 256 : 8192, host ? 2048 : 8192);
    if (!sizes) return std::optional<double>();
    DIECAST_TRY(const auto kernel, runtime_.preload(one, device_));
    const auto trial = Trial::make(one, device_, *sizes);
    if (!trial && trial.error().code == ErrorCode::not_supported) return std::optional<double>();
    if (!trial) return trial.error();
    DIECAST_TRY(const LaunchTunes tunes, kernel->tunes({}));
    DIECAST_TRY(const LaunchTime time, time_launch(*kernel, trial->arguments(), tunes, 5));
    return std::optional<double>(static_cast<double>(time.ns) * 1e-9);
  }

 private:
  Runtime& runtime_;
  std::shared_ptr<Device> device_;
};

// Cold compiles for one target, or none where there is no NVRTC for it.
class Compiles {
 public:
  Compiles(Runtime& runtime, const Target& target) : runtime_(runtime), target_(target) {
    auto compiler = runtime.compiler(target);
    if (!compiler || !(*compiler)->accepts(target)) return;
    compiler_ = *compiler;
    const Source empty{"empty.cu", "empty", "extern \"C\" __global__ void empty() {}\n"};
    const auto taken = ms(empty);
    if (taken) empty_ms_ = *taken;
  }
  bool there() const { return compiler_ != nullptr && empty_ms_ > 0; }

  Result<Figure> of(const Cell& cell, const std::string& name) const {
    DIECAST_TRY(const auto tmpl, runtime_.find_template(name));
    DIECAST_TRY(const auto one, Specialization::make(tmpl, cell.bindings, target_));
    DIECAST_TRY(const Source source, runtime_.render(one));
    DIECAST_TRY(const double taken, ms(source));
    return Figure{cat("compile ", cell.what),
                  taken / empty_ms_,
                  "x empty",
                  cell.plain ? kPlainCompile : kAnyCompile,
                  false,
                  cat(static_cast<int>(taken), " ms against ", static_cast<int>(empty_ms_), " ms, ",
                      target_.name())};
  }

 private:
  Result<double> ms(const Source& source) const {
    Result<double> outcome = 0.0;
    const double median = median_of(3, [&] {
      auto artifact = compiler_->compile(source, target_);
      if (!artifact) outcome = artifact.error();
      return artifact ? artifact->compile_ms : 0.0;
    });
    return outcome ? Result<double>(median) : outcome;
  }

  Runtime& runtime_;
  Target target_;
  std::shared_ptr<Compiler> compiler_;
  double empty_ms_ = 0;
};

}  // namespace

Result<Figures> bench_options(Runtime& runtime) {
  DIECAST_TRY(const auto device, open_device(runtime, "auto"));
  const bool host = device->properties().cc == 0;
  DIECAST_TRY(const Target target,
              host ? Target::parse("sm_90a") : Result<Target>(device->targets().front()));
  const Times times(runtime, device);
  const Compiles compiles(runtime, target);
  const Bindings plain_quantize{{"IN", Value::of(DType::bf16)}};
  DIECAST_TRY(const auto base, times.of("quantize_nvfp4", plain_quantize));
  Figures figures;
  for (const std::string& name : runtime.template_names()) {
    DIECAST_TRY(const auto tmpl, runtime.find_template(name));
    DIECAST_TRY(const auto cells, cells_of(*tmpl, target));
    for (const Cell& cell : cells) {
      DIECAST_TRY(const auto seconds, times.of(name, cell.bindings));
      if (seconds && base) {
        figures.push_back(
            {cell.what, *seconds / *base, "x plain quantize", 0, false,
             cat(fixed(*seconds * 1e6, 1), " us on ", device->targets().front().name())});
      }
      if (!compiles.there()) continue;
      DIECAST_TRY(figures.emplace_back(), compiles.of(cell, name));
    }
  }
  return figures;
}

}  // namespace diecast::tool
