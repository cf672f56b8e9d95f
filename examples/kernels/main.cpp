// Everyday kernels, each a file beside this one: every variant of each runs here at several sizes,
// on this processor and on the GPU if there is one, and is held against a plain loop in double
// (plain.cpp); what two kernels are fused into is held against both, to the bit (fused.cpp).
#include <diecast/diecast.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fused.h"
#include "plain.h"

using namespace diecast;

// How many steps of its type a number is from the right one.
static double steps(DType type, double got, double right, double terms) {
  if (is_whole(type)) return std::fabs(got - right);
  const int fraction = type == DType::bf16 ? 7 : type == DType::f16 ? 10 : 23;
  const int least = type == DType::f16 ? -14 : -126;
  const double size = std::max(std::fabs(right), type == DType::f32 ? terms : 0);
  const int power = size == 0 ? least : std::max(std::ilogb(size), least);
  return std::fabs(got - right) / std::ldexp(1.0, power - fraction);
}

// The largest distance of an element of the output from what is right, in steps of its type, and
// the largest that is allowed.
struct Distance {
  double most, allowed;
};

static Distance distance(const Example& example, const Kernel& kernel,
                         const std::shared_ptr<Device>& device, const Sizes& sizes) {
  const Specialization& variant = kernel.specialization();
  const std::map<std::string, float> scalars = {{"eps", 1e-5f}, {"low", -4}, {"per_unit", 32}};
  const Names names = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto size = sizes.find(std::string(name));
    return size == sizes.end() ? variant.names()(name) : size->second;
  };
  Tensors tensors;
  std::vector<KernelArgument> arguments;
  for (const BoundArgument& one : variant.arguments()) {
    if (one.kind == Argument::Kind::size) {
      arguments.push_back(KernelArgument::size(sizes.at(one.name)));
    } else if (one.kind == Argument::Kind::scalar) {
      arguments.push_back(KernelArgument::scalar(scalars.at(one.name)));
    } else if (one.kind == Argument::Kind::structure) {
      arguments.push_back(KernelArgument::bytes(&example.heads, sizeof example.heads));
    } else if (one.absent) {
      arguments.push_back(KernelArgument::tensor(one.dtype, nullptr));
    } else {
      const std::int64_t cols = one.shape.back().evaluate(names).value();
      const std::int64_t rows = one.shape.size() > 1 ? one.shape[0].evaluate(names).value() : 1;
      const auto made = tensors.try_emplace(one.name, device, one.dtype, rows, cols).first;
      arguments.push_back(made->second.argument());
    }
  }
  kernel.launch(arguments, {}).value();
  Matrix output = tensors.at(example.output);
  output.fetch();
  const bool sums = output.type() == DType::f32;
  Distance found{0, sums ? example.allowed : std::min(example.allowed, 1.0)};
  const std::int64_t step = output.cols() > 1000 ? 257 : 1;  // of long rows some elements
  for (std::int64_t row = 0; row < output.rows(); ++row)
    for (std::int64_t col = (output.cols() - 1) % step; col < output.cols(); col += step)
      found.most =
          std::max(found.most, steps(output.type(), output.at(row, col),
                                     example.plain(tensors, variant, row, col), example.terms));
  return found;
}

// What became of a variant, and what is said of it.
struct Outcome {
  bool right;
  std::string text;
};
using Trial = std::function<Outcome(const Kernel&, const std::shared_ptr<Device>&)>;

static Outcome beside_plain(const Example& example, const Kernel& kernel,
                            const std::shared_ptr<Device>& device) {
  Distance worst{0, 0};
  for (const Sizes& sizes : example.sizes) {
    const auto [most, allowed] = distance(example, kernel, device, sizes);
    worst = {std::max(worst.most, most), allowed};
  }
  char text[80];
  std::snprintf(text, sizeof text, "%4.2f steps of %s", worst.most, example.output);
  return {worst.most <= worst.allowed, text};
}

// Tries every variant of a kernel on every device. The wrong ones are counted.
static int try_variants(Runtime& runtime, const std::string& name,
                        const std::vector<std::shared_ptr<Device>>& devices, const Trial& trial) {
  const auto tmpl = runtime.add(EXAMPLE_KERNELS "/" + name + ".cu").value();
  int wrong = 0;
  for (const auto& device : devices) {
    const Target target = device->targets().front();
    std::vector<Specialization> variants;
    for (const Bindings& bindings : tmpl->space(target).value())
      variants.push_back(Specialization::make(tmpl, bindings, target).value());
    for (const auto& kernel : runtime.preload(variants, device).value()) {
      const Outcome outcome = trial(*kernel, device);
      std::printf("%s  %s  %s\n", outcome.right ? "right" : "WRONG", outcome.text.c_str(),
                  kernel->specialization().spelling().c_str());
      wrong += !outcome.right;
    }
  }
  return wrong;
}

int main() {
  const auto runtime = Runtime::create().value();
  runtime->add_header("kernels/piece.h", EXAMPLE_KERNELS "/include/kernels/piece.h").value();
  std::vector<std::shared_ptr<Device>> devices = {open_host_device().value()};
  const auto gpu = runtime->default_device();
  if (gpu && runtime->compiler((*gpu)->targets().front())) devices.push_back(*gpu);
  int wrong = 0;
  for (const Example& example : examples())
    wrong += try_variants(*runtime, example.name, devices, [&](const Kernel& kernel, auto& device) {
      return beside_plain(example, kernel, device);
    });
  wrong += try_variants(*runtime, "silu_and_mul_nvfp4", devices,
                        [&](const Kernel& kernel, auto& device) -> Outcome {
                          const std::int64_t bytes = fused_differences(*runtime, kernel, device);
                          return {bytes == 0, std::to_string(bytes) + " bytes differ"};
                        });
  return wrong == 0 ? 0 : 1;
}
