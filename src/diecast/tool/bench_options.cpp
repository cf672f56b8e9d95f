// What each option costs: for every value of every option of every template the nearest cell of the
// template's space to its plain one, its time beside plain quantize_nvfp4's in this run, and its
// cold compile beside an empty kernel's. Nothing here knows a template: arguments come from its
// header.
#include <diecast/base/text.h>
#include <diecast/tool/bench.h>
#include <diecast/tool/bench_device.h>
#include <diecast/tool/console.h>
#include <diecast/tool/devices.h>

#include <algorithm>
#include <chrono>
#include <map>
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

// One launch of a cell on a [rows, cols] matrix (or as many elements), its buffers made from the
// header. None for a template that takes addresses or counts that only its op can make.
class CellRun {
 public:
  CellRun(std::shared_ptr<Device> device, std::int64_t rows, std::int64_t cols)
      : device_(std::move(device)), rows_(rows), cols_(cols) {}

  Result<bool> prepare(const std::shared_ptr<Kernel>& kernel);
  // Seconds of a launch, the median of several.
  Result<double> seconds() const;

 private:
  std::optional<std::int64_t> size(const Template& tmpl, std::string_view name) const;
  Result<KernelArgument> tensor(const BoundArgument& argument, const Names& names);

  std::shared_ptr<Device> device_;
  std::int64_t rows_, cols_;
  std::shared_ptr<Kernel> kernel_;
  std::vector<BenchMemory> memory_;
  std::vector<KernelArgument> arguments_;
};

std::optional<std::int64_t> CellRun::size(const Template& tmpl, std::string_view name) const {
  const bool matrix = tmpl.size("rows") != nullptr;
  if (name == "rows") return rows_;
  if (name == "cols") return cols_;
  if (name == "count") return matrix ? 0 : rows_ * cols_;  // beside rows: of a group's members
  return std::nullopt;
}

// Device memory of the tensor's shape. Bits of 1.x in every type, so that nothing is NaN.
Result<KernelArgument> CellRun::tensor(const BoundArgument& argument, const Names& names) {
  std::int64_t elements = 1;
  for (const Expression& extent : argument.shape) {
    DIECAST_TRY(const std::int64_t value, extent.evaluate(names));
    elements *= value;
  }
  const auto bytes = static_cast<std::size_t>(elements * dtype_bits(argument.dtype) / 8);
  if (bytes == 0) return KernelArgument::tensor(argument.dtype, nullptr);
  DIECAST_TRY(memory_.emplace_back(), BenchMemory::allocate(device_, bytes));
  DIECAST_CHECK(device_->fill(memory_.back().data(), 0x3C, bytes, {}));
  return KernelArgument::tensor(argument.dtype, memory_.back().data());
}

Result<bool> CellRun::prepare(const std::shared_ptr<Kernel>& kernel) {
  kernel_ = kernel;
  const Specialization& s = kernel->specialization();
  std::map<std::string, std::int64_t, std::less<>> sizes;
  for (const Size& one : s.tmpl().sizes()) {
    const auto value = size(s.tmpl(), one.name);
    if (!value) return false;
    sizes[one.name] = *value;
  }
  const Names known = s.names();
  const Names names = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = sizes.find(name);
    return found != sizes.end() ? found->second : known(name);
  };
  for (const BoundArgument& argument : s.arguments()) {
    if (argument.kind == Argument::Kind::size) {
      arguments_.push_back(KernelArgument::size(sizes.at(argument.name)));
    } else if (argument.kind == Argument::Kind::tensor && argument.dtype != DType::i64) {
      DIECAST_TRY(arguments_.emplace_back(), tensor(argument, names));
    } else {
      return false;
    }
  }
  return true;
}

Result<double> CellRun::seconds() const {
  const int launches = kernel_->specialization().target().is_host() ? 1 : 20;
  Result<void> outcome;
  const auto once = [&] {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < launches && outcome; ++i) outcome = kernel_->launch(arguments_, {});
    if (outcome) outcome = device_->synchronize({});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return taken.count() / launches;
  };
  once();
  const double median = median_of(5, once);
  if (!outcome) return outcome.error();
  return median;
}

// Times on the device, or none where a cell cannot be run by its header alone.
class Times {
 public:
  Times(Runtime& runtime, std::shared_ptr<Device> device)
      : runtime_(runtime), device_(std::move(device)) {}

  Result<std::optional<double>> of(const std::string& name, const Bindings& bindings) const {
    const bool host = device_->properties().cc == 0;
    CellRun run(device_, host ? 256 : 8192, host ? 2048 : 8192);
    DIECAST_TRY(const auto specialization, runtime_.specialize_for(name, bindings, *device_));
    DIECAST_TRY(const auto kernel, runtime_.preload(specialization, device_));
    DIECAST_TRY(const bool runs, run.prepare(kernel));
    if (!runs) return std::optional<double>();
    DIECAST_TRY(const double seconds, run.seconds());
    return std::optional<double>(seconds);
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
