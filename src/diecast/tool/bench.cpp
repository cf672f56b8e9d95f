// diecast bench [part ...]: our numbers on this machine, against their bounds.
#include <diecast/base/text.h>
#include <diecast/tool/bench.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace diecast::tool {

double median_of(int repeats, const std::function<double()>& measure) {
  std::vector<double> values;
  for (int i = 0; i < repeats; ++i) values.push_back(measure());
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

namespace {

struct Part {
  const char* name;
  std::function<Result<Figures>(Runtime&)> measure;
  bool by_name_alone = false;  // too long for a run of everything
};

// `templates`: those whose options are measured; all without one.
std::vector<Part> parts(const std::vector<std::string>& templates) {
  const auto options = [templates](Runtime& runtime) { return bench_options(runtime, templates); };
  return {{"compile", bench_compile}, {"cache", bench_cache},     {"warm", bench_warm},
          {"host", bench_host},       {"gpu", bench_gpu},         {"gemm", bench_gemm},
          {"launch", bench_launch},   {"weights", bench_weights}, {"options", options, true}};
}

std::vector<std::string> part_names() {
  std::vector<std::string> names;
  for (const Part& part : parts({})) names.emplace_back(part.name);
  return names;
}

Result<int> bench(const std::vector<std::string>& wanted, const std::vector<std::string>& templates,
                  bool json) {
  const std::vector<Part> all = parts(templates);
  DIECAST_TRY(const auto runtime, Runtime::create());
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  Table table({"measured", "figure", "unit", "bound", "", "against"});
  bool all_hold = true;
  Progress progress("bench", json);
  for (const Part& part : all) {
    const bool named = std::find(wanted.begin(), wanted.end(), part.name) != wanted.end();
    if (!named && (!wanted.empty() || part.by_name_alone)) continue;
    progress.update(static_cast<std::uint64_t>(&part - all.data()), all.size(), part.name);
    auto figures = part.measure(*runtime);
    if (!figures) {
      // Without being asked for, a part this machine cannot measure is only named.
      if (named) return figures.error();
      table.add({cat(part.name, ": not measured"), "", "", "", "", figures.error().what});
      continue;
    }
    for (const Figure& f : *figures) {
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
  if (json) {
    print(out.dump(2));
  } else {
    table.print();
  }
  return all_hold ? 0 : 1;
}

}  // namespace

Command add_bench(CLI::App& app) {
  struct Options {
    std::vector<std::string> parts, templates;
    bool json = false;
  };
  auto* command = app.add_subcommand("bench", "Our numbers on this machine, against their bounds");
  auto options = std::make_shared<Options>();
  command
      ->add_option(
          "part", options->parts,
          "compile, cache, warm, host, gpu, gemm, launch, weights: all without one; options: "
          "each template's")
      ->check(CLI::IsMember(part_names()));
  command->add_option("--template", options->templates, "options: of these templates alone");
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return bench(options->parts, options->templates, options->json); }};
}

}  // namespace diecast::tool
