// diecast-bench specialization: whether it pays to fix what varies. Each template that can be made
// for a shape, made for it, against itself with one shape parameter left open and with all of them:
// the time on a large and on a small matrix, registers and instructions.
#include <diecast/base/text.h>
#include <diecast/compile/elf.h>
#include <diecast/runtime/tuning/trial.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <optional>

#include "bench/bench.h"
#include "bench/graph.h"
#include "bench/sizes.h"

namespace diecast::tool {
namespace {

constexpr std::int64_t kInstructionBytes = 16;
constexpr std::int64_t kProductDepth = 4096;

// A template with its shape parameters bound to what is known of a matrix, or left open.
struct Variant {
  std::string open;  // the parameters that are; empty: none
  std::shared_ptr<Kernel> kernel;
};

// What a shape parameter is when nothing is known: the length 0, the word that says "any", of what
// is or is not so the case that takes both (rows of scales that may be apart). None for GROUPED:
// members are no matrix.
std::optional<Value> unknown_value(const Parameter& p) {
  if (p.name == "GROUPED") return std::nullopt;
  if (p.type == ParameterType::integer) return Value::integer(0);
  if (p.type == ParameterType::boolean && p.fallback) {
    return Value::boolean(p.fallback->number == 0);
  }
  for (const Value& value : p.allowed) {
    if (value.word == "any") return value;
  }
  return std::nullopt;
}

// Options and shapes as they are by themselves, and the length of the rows.
Bindings specialized(const Template& tmpl, std::int64_t cols) {
  Bindings out;
  for (const Parameter& p : tmpl.parameters()) {
    if (p.kind == Parameter::Kind::tune) continue;
    if (!p.fallback && !p.allowed.empty()) out.set(p.name, p.allowed.front());
    if (p.fallback) out.set(p.name, *p.fallback);
    if (p.name == "COLS") out.set(p.name, cols);
  }
  return out;
}

// The kernel as it is specialized first. None where the parameters alone do not say what is open.
Result<std::vector<Variant>> variants(Runtime& runtime, const std::shared_ptr<Device>& device,
                                      const Template& tmpl, std::int64_t cols) {
  const Bindings bound = specialized(tmpl, cols);
  std::vector<std::pair<std::string, Bindings>> wanted = {{"", bound}};
  Bindings all_open = bound;
  std::string names;
  for (const Parameter& p : tmpl.parameters()) {
    if (p.kind != Parameter::Kind::shape) continue;
    const auto unknown = unknown_value(p);
    if (!unknown) continue;
    wanted.emplace_back(p.name, Bindings(bound).set(p.name, *unknown));
    all_open.set(p.name, *unknown);
    names += cat(names.empty() ? "" : ", ", p.name);
  }
  if (wanted.size() > 2) wanted.emplace_back(names, all_open);
  std::vector<Variant> out;
  if (wanted.size() == 1) return out;
  for (auto& [open, bindings] : wanted) {
    const auto one = runtime.specialize_for(tmpl.name(), bindings, *device);
    if (!one && one.error().code == ErrorCode::constraint_violated) continue;  // not both at once
    if (!one) return one.error();
    DIECAST_TRY(const auto kernel, runtime.preload(*one, device));
    out.push_back({open, kernel});
  }
  return out;
}

std::int64_t instructions(const Kernel& kernel) {
  const auto elf = Elf::parse(kernel.artifact().payload);
  return elf ? static_cast<std::int64_t>(elf->executable_bytes()) / kInstructionBytes : 0;
}

// Each variant's time in one graph run, then a figure for every one that leaves something open.
Result<void> add_template(Runtime& runtime, const std::shared_ptr<Device>& device, Stream stream,
                          BenchShape shape, const std::vector<Variant>& all, Figures& figures) {
  std::vector<Trial> trials;
  DIECAST_TRY(GraphTimes times, GraphTimes::open(runtime, device, stream));
  const double elements = static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
  const int calls = static_cast<int>(std::clamp(1e9 / elements, 4.0, 100.0));
  for (const Variant& one : all) {
    const auto sizes = matrix_sizes(one.kernel->specialization(), shape, kProductDepth);
    if (!sizes) return {};
    auto trial = Trial::make(one.kernel->specialization(), device, *sizes);
    if (!trial && trial.error().code == ErrorCode::not_supported) return {};
    if (!trial) return trial.error();
    trials.push_back(*std::move(trial));
    const auto launch = [&] { return one.kernel->launch(trials.back().arguments(), stream); };
    const auto launched = launch();
    if (!launched && launched.error().code == ErrorCode::not_supported) return {};  // not so large
    DIECAST_CHECK(launched);
    DIECAST_CHECK(times.add(calls, [&](int) { return launch(); }));
  }
  DIECAST_TRY(const std::vector<double> us, times.measure());
  const auto facts = [&](std::size_t i) {
    return cat(fixed(us[i], 2), " us, ", all[i].kernel->artifact().registers, " registers, ",
               instructions(*all[i].kernel), " instructions");
  };
  for (std::size_t i = 1; i < all.size(); ++i) {
    figures.push_back({cat(all[i].kernel->specialization().tmpl().name(), ", ", shape.rows, "x",
                           shape.cols, ", ", all[i].open, " open"),
                       us[i] / us[0], "x specialized", 0, false,
                       cat(facts(i), " against ", facts(0))});
  }
  return {};
}

}  // namespace

Result<Figures> bench_specialization(Runtime& runtime, const std::vector<BenchShape>& shapes) {
  DIECAST_TRY(const auto device, runtime.default_device());
  DIECAST_TRY(const Stream stream, device->create_stream());
  Figures figures;
  for (const std::string& name : runtime.template_names()) {
    DIECAST_TRY(const auto tmpl, runtime.find_template(name));
    if (!tmpl->supports(device->targets().front())) continue;
    for (const BenchShape shape : shapes) {
      DIECAST_TRY(const auto all, variants(runtime, device, *tmpl, shape.cols));
      if (all.empty()) continue;
      DIECAST_CHECK(add_template(runtime, device, stream, shape, all, figures));
    }
  }
  return figures;
}

}  // namespace diecast::tool
