// What each option costs: for every value of every option of every template the nearest cells of
// the template's space to its plain one, their times beside plain quantize_nvfp4's in this run, on
// the host and on a GPU, and their cold compiles beside an empty kernel's. Nothing here knows a
// template: arguments come from its header.
#include <diecast/base/text.h>
#include <diecast/launch/host_device.h>
#include <diecast/runtime/tuning/trial.h>
#include <diecast/runtime/warm.h>
#include <diecast/tool/console.h>
#include <diecast/tool/devices.h>

#include <algorithm>
#include <optional>

#include "bench/bench.h"
#include "bench/cold.h"
#include "bench/sizes.h"

namespace diecast::tool {
namespace {

constexpr int kSamples = 5;

struct Cell {
  std::string name;  // of the template
  std::string what;  // "quantize_mx LAYOUT=s128x4"; the template's name alone for the plain one
  bool plain = false;
  Bindings bindings;
};

// The options in which they differ, as a spelling has them: " RHT=1 SIGN_MASK=55272".
struct Apart {
  int count = 0;
  std::string text;
};
Apart apart(const Template& tmpl, const Bindings& one, const Bindings& plain) {
  Apart out;
  for (const Parameter& p : tmpl.parameters()) {
    const Value& value = *one.find(p.name);
    if (p.kind != Parameter::Kind::option || value == *plain.find(p.name)) continue;
    ++out.count;
    out.text += cat(" ", p.name, "=", value.spelling());
  }
  return out;
}

// A template's cells with everything but options as it is by itself, and how far each is from
// plain.
struct Space {
  Bindings plain;
  std::vector<Bindings> points;
  std::vector<Apart> distances;
};
Result<Space> space_of(const Template& tmpl, const Target& target) {
  Bindings held;
  for (const Parameter& p : tmpl.parameters()) {
    const bool option = p.kind == Parameter::Kind::option;
    if (!option && p.compiled() && p.fallback) held.set(p.name, *p.fallback);
  }
  Space out;
  DIECAST_TRY(out.points, tmpl.space(target, held));
  if (out.points.empty()) return out;
  out.plain = out.points.front();  // where there is no default, the first value
  for (const Parameter& p : tmpl.parameters()) {
    if (p.compiled() && p.fallback) out.plain.set(p.name, *p.fallback);
  }
  for (const Bindings& point : out.points) out.distances.push_back(apart(tmpl, point, out.plain));
  return out;
}

// For each other value of an option the points nearest to plain: several where the value needs a
// second one, as a bound of 256 needs a rule of four over six or another profile.
void take_nearest(const Space& space, const Parameter& option, std::vector<bool>& taken) {
  std::vector<std::pair<Value, int>> least;  // how far the nearest with each value is
  for (const bool finding : {true, false}) {
    for (std::size_t i = 0; i < space.points.size(); ++i) {
      const Value& value = *space.points[i].find(option.name);
      if (value == *space.plain.find(option.name)) continue;
      const int count = space.distances[i].count;
      auto at = std::find_if(least.begin(), least.end(),
                             [&](const auto& known) { return known.first == value; });
      if (at == least.end()) at = least.insert(at, {value, count});
      at->second = std::min(at->second, count);
      if (!finding && count == at->second) taken[i] = true;
    }
  }
}

// The plain cell, and the nearest ones with each value of each option.
Result<void> add_cells(const Template& tmpl, const Target& target, std::vector<Cell>& cells) {
  DIECAST_TRY(const Space space, space_of(tmpl, target));
  if (space.points.empty()) return {};
  cells.push_back({tmpl.name(), tmpl.name(), true, space.plain});
  std::vector<bool> taken(space.points.size());
  for (const Parameter& p : tmpl.parameters()) {
    if (p.kind == Parameter::Kind::option) take_nearest(space, p, taken);
  }
  for (std::size_t i = 0; i < space.points.size(); ++i) {
    if (!taken[i]) continue;
    cells.push_back({tmpl.name(), tmpl.name() + space.distances[i].text, false, space.points[i]});
  }
  return {};
}

// Times on one device beside plain quantize's there: each with one of plain quantize right before.
class Times {
 public:
  static Result<Times> open(Runtime& runtime, std::shared_ptr<Device> device) {
    Times out(runtime, std::move(device));
    const Bindings plain{{"IN", Value::of(DType::bf16)}};
    DIECAST_TRY(const auto one, runtime.specialize_for("quantize_nvfp4", plain, *out.device_));
    DIECAST_TRY(out.plain_, out.launch(one));
    return out;
  }

  const std::shared_ptr<Device>& device() const { return device_; }

  // The cell as its op would launch it on this device: tunes by themselves. On the host, blocks
  // whose threads wait for one another are small: it has no threads to spread them over.
  Result<Specialization> specialization(const Cell& cell) const {
    DIECAST_TRY(const auto tmpl, runtime_->find_template(cell.name));
    Bindings bindings;
    for (const Parameter& p : tmpl->parameters()) {
      if (p.compiled() && p.kind != Parameter::Kind::tune) {
        bindings.set(p.name, *cell.bindings.find(p.name));
      }
      const bool small = p.name == "THREADS" && !p.allowed.empty();
      if (host() && small && tmpl->exchange() == Exchange::block) {
        bindings.set(p.name, p.allowed.front());
      }
    }
    return runtime_->specialize_for(cell.name, bindings, *device_);
  }

  // None where a header alone does not tell how to launch it, or its cell is not for this target.
  Result<std::optional<Figure>> of(const Cell& cell) const {
    const auto one = specialization(cell);
    if (!one && one.error().code == ErrorCode::constraint_violated) return std::optional<Figure>();
    if (!one) return one.error();
    DIECAST_TRY(const auto made, launch(*one));
    if (!made) return std::optional<Figure>();
    DIECAST_TRY(const double base, microseconds(*plain_));
    DIECAST_TRY(const double taken, microseconds(*made));
    return std::optional(Figure{cat(host() ? "host: " : "GPU: ", cell.what), taken / base,
                                "x plain quantize", 0, false,
                                cat(fixed(taken, 1), " us against ", fixed(base, 1), " us, ",
                                    device_->targets().front().name())});
  }

 private:
  struct Launch {
    std::shared_ptr<Kernel> kernel;
    Trial trial;
    LaunchTunes tunes;
  };

  Times(Runtime& runtime, std::shared_ptr<Device> device)
      : runtime_(&runtime), device_(std::move(device)) {}

  bool host() const { return device_->properties().cc == 0; }

  Result<std::optional<Launch>> launch(const Specialization& one) const {
    const auto sizes =
        host() ? matrix_sizes(one, {256, 2048}, 64) : matrix_sizes(one, {8192, 8192}, 1024);
    if (!sizes) return std::optional<Launch>();
    DIECAST_TRY(const auto kernel, runtime_->preload(one, device_));
    auto trial = Trial::make(one, device_, *sizes);
    if (!trial && trial.error().code == ErrorCode::not_supported) return std::optional<Launch>();
    if (!trial) return trial.error();
    DIECAST_TRY(const LaunchTunes tunes, kernel->tunes({}));
    return std::optional(Launch{kernel, *std::move(trial), tunes});
  }

  static Result<double> microseconds(const Launch& made) {
    DIECAST_TRY(const LaunchTime time,
                time_launch(*made.kernel, made.trial.arguments(), made.tunes, kSamples));
    return static_cast<double>(time.ns) * 1e-3;
  }

  Runtime* runtime_;
  std::shared_ptr<Device> device_;
  std::optional<Launch> plain_;
};

Result<Figure> cold_compile(Runtime& runtime, const ColdCompiles& compiles, const Cell& cell) {
  DIECAST_TRY(const auto tmpl, runtime.find_template(cell.name));
  DIECAST_TRY(const auto one, Specialization::make(tmpl, cell.bindings, compiles.target()));
  DIECAST_TRY(const Source source, runtime.render(one));
  const double bound = cell.plain && is_plain(cell.name) ? kPlainCompile : kAnyCompile;
  DIECAST_TRY(const ColdTime time, compiles.measure_against(source, bound));
  return Figure{cat("compile: ", cell.what),
                time.ratio(),
                "x empty",
                bound,
                false,
                cat(fixed(time.ms, 1), " ms against ", fixed(time.empty_ms, 1), " ms, ",
                    compiles.target().name())};
}

// Whether "host", "cuda" or "compiler" is to be measured, and whether it must be there.
struct Wanted {
  const std::vector<std::string>& on;
  bool by_name(std::string_view what) const {
    return std::find(on.begin(), on.end(), what) != on.end();
  }
  bool operator()(std::string_view what) const { return on.empty() || by_name(what); }
};

// This processor and, where there is one, the GPU.
Result<std::vector<Times>> devices(Runtime& runtime, const Wanted& wanted) {
  std::vector<Times> out;
  HostDeviceOptions one_thread;
  one_thread.threads = 1;
  auto host = open_host_device(one_thread);
  if (!host && wanted.by_name("host")) return host.error();
  if (host && wanted("host")) {
    DIECAST_TRY(Times times, Times::open(runtime, *std::move(host)));
    out.push_back(std::move(times));
  }
  DIECAST_TRY(const auto device, open_device(runtime, wanted.by_name("cuda") ? "cuda" : "auto"));
  if (device->properties().cc != 0 && wanted("cuda")) {
    DIECAST_TRY(Times times, Times::open(runtime, device));
    out.push_back(std::move(times));
  }
  return out;
}

}  // namespace

Result<Figures> bench_options(Runtime& runtime, const std::vector<std::string>& templates,
                              const std::vector<std::string>& on) {
  const Wanted wanted{on};
  DIECAST_TRY(const auto device, open_device(runtime, "auto"));
  DIECAST_TRY(const Target target, device->properties().cc == 0
                                       ? Target::parse("sm_90a")
                                       : Result<Target>(device->targets().front()));
  std::vector<Cell> cells;
  for (const std::string& name : templates.empty() ? runtime.template_names() : templates) {
    DIECAST_TRY(const auto tmpl, runtime.find_template(name));
    DIECAST_CHECK(add_cells(*tmpl, target, cells));
  }
  DIECAST_TRY(const auto times, devices(runtime, wanted));
  std::vector<Specialization> all;
  for (const Times& on : times) {
    for (const Cell& cell : cells) {
      if (auto one = on.specialization(cell)) all.push_back(*std::move(one));
    }
  }
  (void)warm(runtime, all);  // side by side; what fails is told when it is launched
  const auto compiles = ColdCompiles::open(runtime, target);
  if (!compiles && wanted.by_name("compiler")) return compiles.error();
  Figures figures;
  for (const Times& on : times) {
    if (!templates.empty()) break;
    DIECAST_TRY(const Figures groups, bench_groups(runtime, on.device()));
    figures.insert(figures.end(), groups.begin(), groups.end());
  }
  for (const Cell& cell : cells) {
    for (const Times& on : times) {
      DIECAST_TRY(const auto figure, on.of(cell));
      if (figure) figures.push_back(*figure);
    }
    if (!compiles || !wanted("compiler")) continue;
    if (cell.plain) {
      DIECAST_TRY(figures.emplace_back(), slowest_of_space(runtime, *compiles, cell.name));
    }
    DIECAST_TRY(figures.emplace_back(), cold_compile(runtime, *compiles, cell));
  }
  return figures;
}

}  // namespace diecast::tool
