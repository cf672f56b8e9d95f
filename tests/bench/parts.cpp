// diecast-bench [part ...]: our numbers on this machine, against their bounds.
#include <diecast/base/text.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/bench.h"
#include "bench/commands.h"
#include "bench/shape.h"

namespace diecast::tool {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string middle_half(std::vector<double> values, int digits) {
  if (values.empty()) return "none";
  std::ranges::sort(values);
  const std::size_t quarter = values.size() / 4;
  return cat(fixed(values[quarter], digits), " to ",
             fixed(values[values.size() - 1 - quarter], digits));
}

double median_of(int repeats, const std::function<double()>& measure) {
  std::vector<double> values;
  for (int i = 0; i < repeats; ++i) values.push_back(measure());
  return median(std::move(values));
}

namespace {

struct Part {
  const char* name;
  std::function<Result<Figures>(Runtime&)> measure;
  bool by_name_alone = false;  // too long for a run of everything
};

// What the command was given.
struct BenchOptions {
  std::vector<std::string> parts;      // all but those by name alone without one
  std::vector<std::string> templates;  // those whose options are measured; all without one
  std::vector<std::string> on;         // what measures options: host, cuda, compiler
  std::vector<BenchShape> shapes;      // of parts that take them; their own without one
  std::string plot;                    // an SVG file; alone it is all that is measured
  bool json = false;
};

std::vector<BenchShape> small_shapes() {
  std::vector<BenchShape> out;
  for (const std::int64_t cols : {2048, 4096, 7168, 8192, 16384}) {
    for (const std::int64_t rows : {1, 8, 32, 64, 128, 512}) out.push_back({rows, cols});
  }
  return out;
}

std::vector<BenchShape> odd_shapes() {
  std::vector<BenchShape> out;
  for (const std::int64_t cols : {80, 464, 2880}) {
    for (const std::int64_t rows : {1, 3, 7, 129, 248320}) out.push_back({rows, cols});
  }
  return out;
}

std::vector<BenchShape> plotted_shapes() {
  std::vector<BenchShape> out;
  for (std::int64_t rows = 1; rows <= 65536; rows *= 2) out.push_back({rows, 7168});
  return out;
}

std::vector<Part> parts(const BenchOptions& given) {
  const auto options = [names = given.templates, on = given.on](Runtime& runtime) {
    return bench_options(runtime, names, on);
  };
  // A part's own shapes where none are given.
  const auto on = [&given](auto measure, std::vector<BenchShape> own) {
    const auto shapes = given.shapes.empty() ? std::move(own) : given.shapes;
    return [measure, shapes](Runtime& runtime) { return measure(runtime, shapes); };
  };
  const auto gpu = on(bench_gpu, {{16384, 16384}, {65536, 7168}});
  const auto small = on(bench_small, small_shapes());
  const auto special = on(bench_specialization, {{8192, 8192}, {8, 8192}});
  const auto inputs = [shapes = given.shapes](Runtime& runtime) {
    const std::vector<BenchShape> large = {{16384, 16384}};
    return shapes.empty() ? bench_inputs(runtime, large, odd_shapes())
                          : bench_inputs(runtime, shapes, shapes);
  };
  const auto linear = on(bench_linear, {});
  const auto plot = on(
      [file = given.plot](Runtime& runtime, const std::vector<BenchShape>& shapes) {
        return bench_plot(runtime, shapes, file);
      },
      plotted_shapes());
  std::vector<Part> all;
  if (!given.plot.empty()) all.push_back({"plot", plot});
  if (!given.plot.empty() && given.parts.empty()) return all;
  const Part named[] = {{"compile", bench_compile},
                        {"cache", bench_cache},
                        {"warm", bench_warm},
                        {"host", bench_host},
                        {"checkpoint", bench_checkpoint},
                        {"gpu", gpu},
                        {"small", small},
                        {"inputs", inputs},
                        {"specialization", special},
                        {"functions", bench_functions},
                        {"gemm", bench_gemm},
                        {"linear", linear},
                        {"launch", bench_launch},
                        {"weights", bench_weights},
                        {"options", options, true},
                        {"python", bench_python, true}};
  all.insert(all.end(), std::begin(named), std::end(named));
  return all;
}

std::vector<std::string> part_names(bool by_name_alone) {
  std::vector<std::string> names;
  for (const Part& part : parts({})) {
    if (part.by_name_alone == by_name_alone) names.emplace_back(part.name);
  }
  return names;
}

std::vector<std::string> parts_of_shapes() {
  return {"gpu", "small", "inputs", "specialization", "linear"};
}

// What no part that is measured takes would be ignored.
Result<void> check_used(const BenchOptions& given) {
  const auto unused = [&](std::string_view option, std::string_view by) {
    return Error{ErrorCode::invalid_argument,
                 cat(option, " changes nothing of ",
                     given.parts.empty() ? "what is measured" : join(given.parts, ", ")),
                 cat("leave it out, or name a part that takes it: ", by)};
  };
  const std::vector<std::string> of_shapes = parts_of_shapes();
  const bool shaped = given.parts.empty() || !given.plot.empty() ||
                      std::ranges::find_first_of(given.parts, of_shapes) != given.parts.end();
  if (!given.shapes.empty() && !shaped) return unused("--shape", join(of_shapes, ", "));
  const bool options = std::ranges::find(given.parts, "options") != given.parts.end();
  if (!given.templates.empty() && !options) return unused("--template", "options");
  if (!given.on.empty() && !options) return unused("--on", "options");
  return {};
}

Result<int> bench(const BenchOptions& given) {
  const bool json = given.json;
  const std::vector<Part> all = parts(given);
  DIECAST_TRY(const auto runtime, Runtime::create());
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"measured", "figure", "unit", "bound", "", "against"});
  bool all_hold = true;
  Result<void> outcome;
  Progress progress("bench", json);
  for (const Part& part : all) {
    const bool named =
        std::find(given.parts.begin(), given.parts.end(), part.name) != given.parts.end();
    const bool asked = named || part.name == std::string_view("plot");
    if (!asked && (!given.parts.empty() || part.by_name_alone)) continue;
    progress.update(static_cast<std::uint64_t>(&part - all.data()), all.size(), part.name);
    auto figures = part.measure(*runtime);
    if (!figures) {
      // Without being asked for, a part this machine cannot measure is only named; else it ends the
      // run, which still tells what was measured before.
      if (asked) {
        outcome = figures.error();
        break;
      }
      table.add({cat(part.name, ": not measured"), "", "", "", "", figures.error().what});
      continue;
    }
    for (const Figure& f : *figures) {
      if (!f.missing.empty()) {
        table.add({cat(f.what, ": not measured"), "", "", "", "", f.missing});
        continue;
      }
      all_hold = all_hold && f.holds();
      const std::string bound =
          f.bound == 0 ? "" : cat(f.at_least ? "at least " : "at most ", f.bound);
      table.add({f.what,
                 fixed(f.value, f.value < 10    ? 2
                                : f.value < 100 ? 1
                                                : 0),
                 f.unit, bound,
                 f.bound == 0 ? ""
                 : f.holds()  ? "holds"
                              : "MISSED",
                 f.detail});
      out.push_back({{"part", part.name},
                     {"what", f.what},
                     {"value", f.value},
                     {"unit", f.unit},
                     {"bound", f.bound},
                     {"holds", f.holds()},
                     {"detail", f.detail}});
    }
  }
  progress.clear();
  if (!outcome && out.empty()) return outcome.error();
  if (json) {
    print_json(out);
  } else {
    table.print();
  }
  DIECAST_CHECK(outcome);
  return all_hold ? 0 : 1;
}

}  // namespace

Command add_parts(CLI::App& app) {
  struct Words : BenchOptions {
    std::vector<std::string> of_shapes;
  };
  auto words = std::make_shared<Words>();
  std::vector<std::string> names = part_names(false);
  const std::vector<std::string> more = part_names(true);
  const std::string described = cat("What to measure; all but ", join(more, ", "), " without one");
  names.insert(names.end(), more.begin(), more.end());
  app.add_option("part", words->parts, described)->check(CLI::IsMember(names));
  app.add_option("--template", words->templates, "options: of these templates alone")
      ->allow_extra_args(false);
  app.add_option("--on", words->on, "options: on these alone: host, cuda, compiler")
      ->check(CLI::IsMember({"host", "cuda", "compiler"}))
      ->allow_extra_args(false);
  app.add_option("--shape", words->of_shapes,
                 join(parts_of_shapes(), ", ") + ", --plot: of these matrices")
      ->check(is_shape())
      ->allow_extra_args(false);
  app.add_option("--plot", words->plot,
                 "Draw quantize_nvfp4's bandwidth over rows into this SVG file");
  app.add_flag("--json", words->json, "For programs");
  const auto given = [words] {
    BenchOptions out = *words;
    for (const std::string& text : words->of_shapes) out.shapes.push_back(*parse_shape(text));
    return out;
  };
  return {&app, [given] { return bench(given()); }, [given] { return check_used(given()); }};
}

}  // namespace diecast::tool
