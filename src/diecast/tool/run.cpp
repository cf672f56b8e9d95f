// diecast run SPELLING: launches one kernel once, on arrays of files or on drawn ones, and shows
// what it wrote; with --against host, where that is not what this processor makes of it.
#include <diecast/base/text.h>
#include <diecast/launch/host_device.h>
#include <diecast/runtime/tuning/elements.h>
#include <diecast/runtime/tuning/extents.h>
#include <diecast/runtime/tuning/trial.h>
#include <diecast/tool/arrays.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <diecast/tool/devices.h>
#include <diecast/tool/given_files.h>
#include <diecast/tool/given_scalars.h>
#include <diecast/tool/open_runtime.h>
#include <diecast/tool/output_file.h>
#include <diecast/tool/run_sizes.h>
#include <diecast/tool/sanitized.h>

#include <algorithm>

namespace diecast::tool {
namespace {

struct RunArguments {
  std::vector<std::string> words;  // the spelling, with or without quotes around it
  std::vector<std::string> sizes, scalars, given, in, out;
  Own own;
  std::string target = "auto", against;
  bool debug = false;
  bool sanitize = false;   // in a child
  bool sanitized = false;  // this is that child
};

// A tensor that a launch has written.
struct Output {
  const BoundArgument* tensor = nullptr;
  std::vector<std::int64_t> extents;
  Bytes elements;
};

Result<const BoundArgument*> find_tensor(const Specialization& kernel, std::string_view option,
                                         std::string_view name, Argument::Direction without) {
  std::vector<std::string> names;
  for (const BoundArgument& argument : kernel.arguments()) {
    if (argument.kind != Argument::Kind::tensor || argument.direction == without || argument.absent)
      continue;
    if (argument.name == name) return &argument;
    names.push_back(argument.name);
  }
  return Error{ErrorCode::unknown_parameter,
               cat(option, ": ", kernel.tmpl().name(), " has no such tensor as ", quote(name, 40),
                   did_you_mean(name, names)),
               names.empty() ? std::string("leave it out") : cat("there are ", join(names, ", "))};
}

// A tensor that is read and written begins as its file says.
Result<void> fill_inout(const Trial& trial, const Specialization& kernel, Device& device,
                        const std::vector<std::pair<const BoundArgument*, Bytes>>& starts) {
  for (const auto& [tensor, bytes] : starts) {
    if (bytes.empty()) continue;
    const auto at = static_cast<std::size_t>(tensor - kernel.arguments().data());
    void* const memory = const_cast<void*>(trial.arguments()[at].data);
    DIECAST_CHECK(device.copy_to_device(memory, bytes.data(), bytes.size(), {}));
    DIECAST_CHECK(device.synchronize({}));
  }
  return {};
}

Result<std::vector<Output>> outputs_of(const Trial& trial, const Specialization& kernel,
                                       const RunSizes& sizes) {
  DIECAST_TRY(auto bytes, trial.output_bytes());
  std::vector<Output> out;
  for (const BoundArgument& argument : kernel.arguments()) {
    if (argument.kind != Argument::Kind::tensor || argument.absent ||
        argument.direction == Argument::Direction::in)
      continue;
    DIECAST_TRY(auto extents, extents_at(kernel, argument, sizes));
    out.push_back({&argument, std::move(extents), std::move(bytes[out.size()])});
  }
  return out;
}

Result<std::vector<Output>> run_on(Runtime& runtime, const std::shared_ptr<Device>& device,
                                   const Specialization& kernel, const RunArguments& options) {
  DIECAST_TRY(SizeLists lists, read_sizes(options.sizes));
  DIECAST_CHECK(add_sizes_of(kernel, options.in, lists));
  DIECAST_TRY(const RunSizes sizes, one_point_of(kernel, lists));
  DIECAST_TRY(GivenFiles given, read_given(kernel, {&sizes, 1}, options.given, device));
  std::vector<std::pair<const BoundArgument*, Bytes>> starts;
  for (const std::string& word : options.in) {
    DIECAST_TRY(const NamedFile file, named_file("--in", word));
    DIECAST_TRY(const BoundArgument* const tensor,
                find_tensor(kernel, "--in", file.name, Argument::Direction::out));
    DIECAST_TRY(const auto extents, extents_at(kernel, *tensor, sizes));
    DIECAST_TRY(Bytes bytes, read_array(file.path, *tensor, extents));
    if (tensor->direction == Argument::Direction::in)
      DIECAST_CHECK(given.add(*tensor, bytes, device));
    else
      starts.emplace_back(tensor, std::move(bytes));
  }
  DIECAST_CHECK(check_scalars_of({&kernel, 1}, options.scalars));
  DIECAST_TRY(const GivenArguments scalars, scalars_of(kernel, options.scalars));
  given.arguments.insert(given.arguments.end(), scalars.begin(), scalars.end());
  DIECAST_TRY(const auto loaded, runtime.preload(kernel, device));
  DIECAST_TRY(const Trial trial, Trial::make(kernel, device, sizes, given.arguments));
  DIECAST_CHECK(fill_inout(trial, kernel, *device, starts));
  DIECAST_CHECK(loaded->launch(trial.arguments(), {}));
  DIECAST_CHECK(device->synchronize({}));
  return outputs_of(trial, kernel, sizes);
}

std::uint64_t bits_at(const Output& output, std::int64_t index) {
  return element_bits(output.tensor->dtype, output.elements, static_cast<std::size_t>(index));
}

void print_outputs(const std::vector<Output>& outputs) {
  constexpr std::int64_t kShown = 6;
  Table table({"tensor", "type", "shape", "begins with"});
  for (const Output& output : outputs) {
    const std::int64_t count = elements_of(output.extents);
    std::vector<std::string> words;
    for (std::int64_t i = 0; i < std::min(count, kShown); ++i)
      words.push_back(element_text(output.tensor->dtype, bits_at(output, i)));
    if (count > kShown) words.emplace_back("...");
    table.add({output.tensor->name, std::string(dtype_name(output.tensor->dtype)),
               extents_text(output.extents), join(words, " ")});
  }
  table.print();
}

// The line that says whether two launches wrote the same, where a NaN is a NaN.
bool print_comparison(const Output& mine, const Output& its, const std::string& where) {
  const DType type = mine.tensor->dtype;
  const std::int64_t count = elements_of(mine.extents);
  std::int64_t first = -1, others = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t a = bits_at(mine, i), b = bits_at(its, i);
    if (a == b || (is_nan(type, a) && is_nan(type, b))) continue;
    if (others++ == 0) first = i;
  }
  const std::string& name = mine.tensor->name;
  if (others == 0) {
    print(cat(name, " is the same on ", where));
    return true;
  }
  const std::uint64_t a = bits_at(mine, first), b = bits_at(its, first);
  const bool apart = !is_nan(type, a) && !is_nan(type, b);
  const std::uint64_t steps = apart ? steps_between(type, a, b) : 0;
  print(cat(
      name, place_text(mine.extents, first), " is ", element_text(type, a), ", and on ", where, " ",
      element_text(type, b),
      apart ? cat(": ", steps, fraction_bits(type) ? " ulp" : " step", steps == 1 ? "" : "s") : "",
      "; of ", count, " elements ", others, others == 1 ? " differs" : " differ"));
  return false;
}

// The plainest build for this processor, of the same parameters.
Result<bool> same_on_host(Runtime& runtime, const Specialization& kernel,
                          const std::vector<Output>& mine, const RunArguments& options) {
  DIECAST_TRY(const auto host, open_host_device());
  const Target target = host->targets().back();
  DIECAST_TRY(const Specialization one,
              Specialization::make(kernel.shared_tmpl(), kernel.bindings(), target));
  DIECAST_TRY(const auto its, run_on(runtime, host, one, options));
  bool same = true;
  for (std::size_t i = 0; i < mine.size(); ++i)
    same = print_comparison(mine[i], its[i], target.name()) && same;
  return same;
}

Result<void> check_files(const RunArguments& options) {
  std::vector<std::string> inputs = options.own.files();
  for (const auto& [option, words] :
       {std::pair("--in", &options.in), std::pair("--given", &options.given)}) {
    for (const std::string& word : *words) {
      DIECAST_TRY(const NamedFile file, named_file(option, word));
      inputs.push_back(file.path);
    }
  }
  for (const std::string& word : options.out) {
    DIECAST_TRY(const NamedFile file, named_file("--out", word));
    DIECAST_CHECK(check_no_input(file.path, inputs));
  }
  return {};
}

Result<void> check(const RunArguments& options) {
  if (!options.sanitize || options.target != "cuda") return {};
  return Error{ErrorCode::invalid_argument, "--sanitize runs on this processor, not on a GPU",
               "leave out --target; on a GPU `compute-sanitizer diecast run ...` does the same"};
}

// The child's words: the same run, without a child of its own.
std::vector<std::string> arguments_of(const RunArguments& options) {
  std::vector<std::string> out = {"run", join(options.words, " "), "--target", "host",
                                  "--sanitized"};
  const auto add = [&](const char* name, const std::vector<std::string>& words) {
    for (const std::string& word : words) out.insert(out.end(), {name, word});
  };
  add("--size", options.sizes);
  add("--in", options.in);
  add("--out", options.out);
  add("--scalar", options.scalars);
  add("--given", options.given);
  if (!options.against.empty()) add("--against", {options.against});
  if (options.debug) out.emplace_back("--debug");
  const auto own = options.own.arguments();
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

// Code for the sanitizer, which names its lines, is kept nowhere.
RuntimeOptions runtime_options(const RunArguments& options) {
  RuntimeOptions with = options_of_build(options.debug);
  if (!options.sanitized) return with;
  if (with.build == BuildKind::plain) with.build = BuildKind::lines;
  with.cache_policy = CachePolicy::off;
  with.host_cxx.sanitizer = built_sanitizer().empty() ? "address" : built_sanitizer();
  return with;
}

Result<int> run(const RunArguments& options) {
  DIECAST_CHECK(check_files(options));
  if (options.sanitize) return run_sanitized(arguments_of(options));
  DIECAST_TRY(const auto runtime, open_runtime(runtime_options(options)));
  DIECAST_CHECK(add_own_to(*runtime, options.own));
  DIECAST_TRY(const auto device, open_device(*runtime, options.target));
  DIECAST_TRY(const Specialization kernel,
              runtime->specialize_for(join(options.words, " "), *device));
  for (const std::string& word : options.out)
    DIECAST_CHECK(
        find_tensor(kernel, "--out", named_file("--out", word)->name, Argument::Direction::in));
  print(cat(kernel.spelling(), " on ", describe(*device)));
  DIECAST_TRY(const auto outputs, run_on(*runtime, device, kernel, options));
  print_outputs(outputs);
  for (const std::string& word : options.out) {
    const NamedFile file = *named_file("--out", word);
    const auto found = std::ranges::find_if(
        outputs, [&](const Output& output) { return output.tensor->name == file.name; });
    DIECAST_CHECK(write_array(file.path, *found->tensor, found->extents, found->elements));
  }
  if (options.against.empty()) return 0;
  DIECAST_TRY(const bool same, same_on_host(*runtime, kernel, outputs, options));
  return same ? 0 : 1;
}

}  // namespace

Command add_run(CLI::App& app) {
  auto* command = app.add_subcommand("run", "Launch one kernel once, and show what it writes");
  command->footer(
      "Arrays are .npy files. bf16, 8-bit floats and scales stand there as their bits, in uint16 "
      "or\n"
      "uint8. An input that is not given is drawn, the same numbers each time. With --against it\n"
      "fails if an element is not the same to the bit.");
  auto options = std::make_shared<RunArguments>();
  command->add_option("spelling", options->words, "A kernel without a target: scale_rows IN=bf16")
      ->required();
  add_target(*command, options->target);
  const auto add_words = [&](const char* name, std::vector<std::string>& words, const char* text) {
    command->add_option(name, words, text)->allow_extra_args(false);
  };
  add_words("--size", options->sizes, "A size: rows=64. Each size once");
  add_words("--in", options->in, "An array to read: x=x.npy");
  add_words("--out", options->out, "Where to write an array: y=y.npy");
  add_words("--scalar", options->scalars,
            "A scalar's value: eps=1e-5. Without it an f32 scalar is 1");
  add_words("--given", options->given,
            "A file with the bytes of a tensor or structure: how=how.bin");
  command
      ->add_option("--against", options->against,
                   "Compare with what this target makes of the same numbers")
      ->check(CLI::IsMember({"host"}));
  add_debug(*command, options->debug);
  command->add_flag(
      "--sanitize", options->sanitize,
      "On this processor, under AddressSanitizer: it ends at the first access outside "
      "of a buffer");
  command->add_flag("--sanitized", options->sanitized)->group("");
  add_own(*command, options->own);
  return {command, [options] { return run(*options); }, [options] { return check(*options); }};
}

}  // namespace diecast::tool
