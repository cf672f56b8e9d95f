// diecast compare A B: how far apart two checkpoints are, with A as the signal; a file, an index or
// a folder each.
#include <diecast/base/text.h>
#include <diecast/checkpoint/compare.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace diecast::tool {
namespace {

std::string scientific(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3e", value);
  return buffer;
}

std::string decibels(const ErrorFigures& figures, std::string_view unit = "") {
  if (figures.noise == 0) return "exact";
  if (figures.signal == 0) return "no signal";
  return cat(fixed(figures.decibels(), 2), unit);
}

// "3 not finite, left out", or empty.
std::string left_out(const ErrorFigures& figures) {
  return figures.nonfinite == 0 ? "" : cat(figures.nonfinite, " not finite, left out");
}

void add_values(Table& table, const std::string& name, const ErrorFigures& figures) {
  if (figures.elements == 0) return table.add({name, "", "", "", left_out(figures)});
  table.add({name, scientific(figures.largest), scientific(figures.mean()), decibels(figures),
             left_out(figures)});
}

nlohmann::ordered_json as_json(const Comparison& comparison) {
  nlohmann::ordered_json out = {{"identical", comparison.identical()},
                                {"tensors", nlohmann::ordered_json::array()}};
  const auto figures = [](const ErrorFigures& f) {
    nlohmann::ordered_json entry = {{"elements", f.elements},
                                    {"nonfinite", f.nonfinite},
                                    {"largest", f.largest},
                                    {"mean", f.mean()}};
    entry["decibels"] =
        std::isinf(f.decibels()) ? nlohmann::ordered_json() : nlohmann::ordered_json(f.decibels());
    return entry;
  };
  for (const TensorComparison& t : comparison.tensors) {
    nlohmann::ordered_json entry = {{"name", t.name}, {"identical", t.identical}};
    if (t.kind == Comparability::values) entry["figures"] = figures(t.figures);
    if (!t.remark.empty()) entry["remark"] = t.remark;
    out["tensors"].push_back(entry);
  }
  out["total"] = figures(comparison.total);
  return out;
}

// In one file alone, or of another type or shape there.
bool has_no_counterpart(const TensorComparison& t) {
  return t.kind != Comparability::values && t.kind != Comparability::bytes;
}

Result<int> run(const std::string& first, const std::string& second, bool json) {
  DIECAST_TRY(const auto a, Checkpoint::open(first));
  DIECAST_TRY(const auto b, Checkpoint::open(second));
  Progress progress("compare", json);
  DIECAST_TRY(const Comparison comparison,
              compare(a, b, [&](std::uint64_t done, std::uint64_t total) {
                progress.update(done, total, "");
              }));
  const auto apart =
      static_cast<std::size_t>(std::ranges::count_if(comparison.tensors, has_no_counterpart));
  if (json) {
    print_json(as_json(comparison));
    return apart == 0 ? 0 : 1;
  }
  Table table({"tensor", "largest error", "mean error", "signal to noise, dB", ""});
  for (const TensorComparison& t : comparison.tensors) {
    const std::string name = quote(t.name);
    const std::string bare = name.substr(1, name.size() - 2);
    if (t.identical) {
      table.add({bare, "", "", "", "identical"});
    } else if (t.kind == Comparability::values) {
      add_values(table, bare, t.figures);
    } else {
      table.add({bare, "", "", "", t.remark.empty() ? "differs" : t.remark});
    }
  }
  table.print();
  if (comparison.identical()) {
    print("identical");
  } else if (apart == comparison.tensors.size()) {
    print("nothing in one file can be compared with anything in the other");
  } else if (comparison.total.elements + comparison.total.nonfinite == 0) {
    print("no floating-point value is in both");
  } else if (comparison.total.elements == 0) {
    print(cat("no finite value is in both; ", left_out(comparison.total)));
  } else {
    const std::string rest = left_out(comparison.total);
    print(cat(apart == 0 ? "all values" : "the values that both have", ": largest error ",
              scientific(comparison.total.largest), ", mean ", scientific(comparison.total.mean()),
              ", signal to noise ", decibels(comparison.total, " dB"), rest.empty() ? "" : "; ",
              rest));
  }
  if (apart == 0) return 0;
  print(cat(apart, " of ", comparison.tensors.size(),
            " tensors cannot be compared, see above; a quantized file is compared after `diecast "
            "dequantize`"));
  return 1;
}

}  // namespace

Command add_compare(CLI::App& app) {
  struct Options {
    std::string first, second;
    bool json = false;
  };
  auto* command =
      app.add_subcommand("compare", "Errors and signal-to-noise of one checkpoint against another");
  auto options = std::make_shared<Options>();
  command->add_option("first", options->first, "The signal: a file, an index or a folder")
      ->required();
  command->add_option("second", options->second, "What is compared with it")->required();
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] { return run(options->first, options->second, options->json); }};
}

}  // namespace diecast::tool
