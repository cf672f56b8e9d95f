// diecast-bench kernels: the kernels of examples/kernels beside the same in Triton.
#include <diecast/base/text.h>
#include <diecast/tool/console.h>
#include <diecast/tool/devices.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/cold.h"
#include "bench/commands.h"
#include "bench/example_kernels.h"
#include "bench/shape.h"
#include "bench/triton_times.h"

namespace diecast::tool {
namespace {

constexpr double kBesideTriton = 1.02;  // the most that a launch may take of Triton's time

struct KernelsOptions {
  std::vector<std::string> names, shapes;
  std::string on = "auto", python = "python3";
  bool list = false, json = false;

  std::vector<BenchShape> shapes_of(const std::string& name, bool host) const {
    if (shapes.empty()) return example_shapes(name, host);
    std::vector<BenchShape> out;
    for (const std::string& text : shapes) out.push_back(*parse_shape(text));
    return out;
  }
};

std::string shape_text(BenchShape shape) { return cat(shape.rows, "x", shape.cols); }

int list(const KernelsOptions& options) {
  Table table({"kernel", "GPU", "host"});
  for (const std::string& name : options.names) {
    std::vector<std::string> row = {name};
    for (const bool host : {false, true}) {
      std::vector<std::string> shapes;
      for (const BenchShape shape : options.shapes_of(name, host))
        shapes.push_back(shape_text(shape));
      row.push_back(join(shapes, ", "));
    }
    table.add(std::move(row));
  }
  table.print();
  return 0;
}

// Compiles for sm_90a, without a device.
Result<int> compile(const KernelsOptions& options) {
  DIECAST_TRY(const auto runtime, example_runtime(options.names));
  DIECAST_TRY(const Target target, Target::parse("sm_90a"));
  DIECAST_TRY(const ColdCompiles compiles, ColdCompiles::open(*runtime, target));
  Table table({"kernel", "lines", "compile ms"});
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const std::string& name : options.names) {
    DIECAST_TRY(const int lines, example_lines(name));
    DIECAST_TRY(const Specialization one,
                example_kernel(*runtime, name, options.shapes_of(name, false).back(), target));
    DIECAST_TRY(const Source source, runtime->render(one));
    DIECAST_TRY(const ColdTime time, compiles.measure(source, 3));
    table.add({name, cat(lines), fixed(time.ms, 0)});
    out.push_back({{"kernel", name}, {"lines", lines}, {"compile_ms", time.ms}});
  }
  if (options.json) {
    print_json(out);
  } else {
    table.print();
  }
  return 0;
}

// A kernel on one shape, and the same in Triton where that was measured.
struct Beside {
  std::string kernel;
  int lines;
  double first_ms;
  BenchShape shape;
  double us;
  std::optional<TritonTime> triton = {};

  double ratio() const { return us / triton->us; }
  std::string verdict() const {
    if (!triton) return "";
    return !triton->agrees ? "WRONG" : ratio() <= kBesideTriton ? "holds" : "MISSED";
  }
};

Result<std::vector<Beside>> time_ours(const KernelsOptions& options, Runtime& runtime,
                                      const std::shared_ptr<Device>& device) {
  std::vector<Beside> out;
  Progress progress("kernels", options.json);
  for (const std::string& name : options.names) {
    progress.update(static_cast<std::uint64_t>(&name - options.names.data()), options.names.size(),
                    name);
    const auto shapes = options.shapes_of(name, device->properties().cc == 0);
    DIECAST_TRY(const int lines, example_lines(name));
    DIECAST_TRY(const ExampleTimes times, time_example(runtime, device, name, shapes));
    for (std::size_t i = 0; i < shapes.size(); ++i)
      out.push_back({name, lines, times.first_ms, shapes[i], times.us[i]});
  }
  progress.clear();
  return out;
}

void add_triton(std::vector<Beside>& all, const std::vector<TritonTime>& theirs) {
  for (Beside& one : all) {
    const auto found = std::ranges::find_if(theirs, [&](const TritonTime& time) {
      return time.kernel == one.kernel && time.shape == one.shape;
    });
    if (found != theirs.end()) one.triton = *found;
  }
}

void print_table(const std::vector<Beside>& all) {
  Table table({"kernel", "lines", "first ms", "matrix", "us", "Triton us", "ratio", ""});
  for (const Beside& one : all) {
    table.add({one.kernel, cat(one.lines), fixed(one.first_ms, 0), shape_text(one.shape),
               fixed(one.us, 2), one.triton ? fixed(one.triton->us, 2) : "",
               one.triton ? fixed(one.ratio(), 2) : "", one.verdict()});
  }
  table.print();
}

void print_for_programs(const std::vector<Beside>& all) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Beside& one : all) {
    out.push_back({{"kernel", one.kernel},
                   {"lines", one.lines},
                   {"first_ms", one.first_ms},
                   {"rows", one.shape.rows},
                   {"cols", one.shape.cols},
                   {"us", one.us}});
    if (one.triton) {
      out.back()["triton_us"] = one.triton->us;
      out.back()["agrees"] = one.triton->agrees;
    }
  }
  print_json(out);
}

Result<int> kernels(const KernelsOptions& options) {
  if (options.list) return list(options);
  if (options.on == "compiler") return compile(options);
  DIECAST_TRY(const auto runtime, example_runtime(options.names));
  DIECAST_TRY(const auto device, open_device(*runtime, options.on));
  DIECAST_TRY(std::vector<Beside> all, time_ours(options, *runtime, device));
  const bool host = device->properties().cc == 0;
  Result<void> measured;
  if (!host) {
    const auto theirs = triton_times(options.python, options.names, options.shapes);
    if (theirs) add_triton(all, *theirs);
    if (!theirs) measured = theirs.error();
  }
  if (options.json) {
    print_for_programs(all);
  } else {
    print(describe(*device));
    print_table(all);
  }
  if (!measured) print_error(measured.error());
  const bool hold = std::ranges::all_of(
      all, [](const Beside& one) { return one.verdict() == "" || one.verdict() == "holds"; });
  return hold ? 0 : 1;
}

}  // namespace

Command add_kernels(CLI::App& app) {
  auto* command = app.add_subcommand("kernels", "The example kernels beside the same in Triton");
  auto options = std::make_shared<KernelsOptions>();
  command->add_option("kernel", options->names, "Of these alone")
      ->check(CLI::IsMember(example_names()));
  command
      ->add_option("--on", options->on,
                   "auto, host, cuda; compiler: what compiling for sm_90a takes")
      ->check(CLI::IsMember({"auto", "host", "cuda", "compiler"}))
      ->capture_default_str();
  command->add_option("--shape", options->shapes, "On these matrices")
      ->check(is_shape())
      ->allow_extra_args(false);
  command->add_option("--python", options->python, "One with torch and triton")
      ->capture_default_str();
  command->add_flag("--list", options->list, "Only say what would be measured");
  command->add_flag("--json", options->json, "For programs");
  return {command, [options] {
            if (options->names.empty()) options->names = example_names();
            return kernels(*options);
          }};
}

}  // namespace diecast::tool
