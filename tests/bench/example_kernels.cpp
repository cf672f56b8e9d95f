// Arguments of the example kernels and their times; see example_kernels.h.
#include "bench/example_kernels.h"

#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/launch/device_memory.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/runtime/tuning/extents.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "bench/graph.h"

namespace diecast::tool {
namespace {

constexpr std::int64_t kHeads = 4, kChosen = 8;           // of rotary_embedding, of top_k_gate
constexpr std::size_t kRotated = std::size_t{400} << 20;  // bytes: more than caches hold
constexpr std::size_t kMostSets = 100;

std::string file_of(const std::string& name) {
  return cat(DIECAST_SOURCE_DIR "/examples/kernels/", name, ".cu");
}

RunSizes sizes_of(const Specialization& kernel, BenchShape shape) {
  const std::string& name = kernel.tmpl().name();
  RunSizes out;
  for (const std::string& size : free_sizes(kernel)) {
    std::int64_t value = shape.rows;  // rows, tokens, gemv's n
    if (size == "cols") value = name == "silu_and_mul" ? shape.cols / 2 : shape.cols;
    if (size == "k") value = shape.cols;
    if (size == "pairs") value = shape.cols / kHeads / 2;
    if (name == "histogram") value = shape.rows * shape.cols;
    out.emplace_back(size, value);
  }
  return out;
}

// Normal numbers, the same each time; of `frequencies` those of rotary embedding; of integers that
// are read 0, 1, 2, ...; zeros of what is counted in.
Bytes values_of(const BoundArgument& tensor, std::int64_t elements) {
  Bytes out(static_cast<std::size_t>(elements * dtype_bits(tensor.dtype) / 8));
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (tensor.name == "frequencies")
      reference::store(out.data(), tensor.dtype, i,
                       std::pow(10000.0f, -static_cast<float>(i) / static_cast<float>(elements)));
    else if (tensor.dtype == DType::i64)
      reinterpret_cast<std::int64_t*>(out.data())[i] = i;
    else if (tensor.dtype != DType::u32)
      reference::store(out.data(), tensor.dtype, i, normal(random));
  }
  return out;
}

// One launch's arguments and their memory.
struct Launch {
  std::vector<DeviceMemory> memory;
  std::vector<std::int32_t> heads;  // a structure that rotary_embedding takes
  std::vector<KernelArgument> arguments;
  std::size_t bytes = 0;

  Result<void> add(const std::shared_ptr<Device>& device, const BoundArgument& tensor,
                   std::int64_t elements);
};

Result<void> Launch::add(const std::shared_ptr<Device>& device, const BoundArgument& tensor,
                         std::int64_t elements) {
  constexpr std::int64_t kDrawn = 1 << 20;  // repeated
  const auto size = static_cast<std::size_t>(elements * dtype_bits(tensor.dtype) / 8);
  DIECAST_TRY(DeviceMemory one, DeviceMemory::allocate(device, size));
  if (tensor.direction != Argument::Direction::out) {
    const Bytes values = values_of(tensor, std::min(elements, kDrawn));
    for (std::size_t at = 0; at < size; at += values.size()) {
      DIECAST_CHECK(device->copy_to_device(static_cast<std::byte*>(one.data()) + at, values.data(),
                                           std::min(values.size(), size - at), {}));
    }
    DIECAST_CHECK(device->synchronize({}));
  }
  arguments.push_back(KernelArgument::tensor(tensor.dtype, one.data()));
  memory.push_back(std::move(one));
  bytes += size;
  return {};
}

Result<Launch> launch_of(const Specialization& kernel, const std::shared_ptr<Device>& device,
                         BenchShape shape) {
  const RunSizes sizes = sizes_of(kernel, shape);
  Launch out;
  out.heads = {static_cast<std::int32_t>(kHeads), static_cast<std::int32_t>(shape.cols / kHeads)};
  for (const BoundArgument& one : kernel.arguments()) {
    if (one.kind == Argument::Kind::size) {
      const auto found = std::ranges::find(sizes, one.name, &RunSizes::value_type::first);
      out.arguments.push_back(
          KernelArgument::size(found == sizes.end() ? one.fixed_value : found->second));
    } else if (one.kind == Argument::Kind::scalar) {
      out.arguments.push_back(KernelArgument::scalar(one.name == "eps"   ? 1e-5f
                                                     : one.name == "low" ? -4.0f
                                                                         : 32.0f));
    } else if (one.kind == Argument::Kind::structure) {
      out.arguments.push_back(KernelArgument::bytes(out.heads.data(), 2 * sizeof(std::int32_t)));
    } else {
      DIECAST_TRY(const auto extents, extents_at(kernel, one, sizes));
      DIECAST_CHECK(out.add(device, one, elements_of(extents)));
    }
  }
  return out;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

Result<double> time_launches(Runtime& runtime, const std::shared_ptr<Device>& device,
                             const std::shared_ptr<Kernel>& kernel, BenchShape shape) {
  std::vector<Launch> sets;
  std::size_t wanted = 1;
  while (sets.size() < wanted) {
    DIECAST_TRY(sets.emplace_back(), launch_of(kernel->specialization(), device, shape));
    if (device->properties().cc != 0)
      wanted = std::min(kMostSets, 1 + kRotated / std::max<std::size_t>(sets[0].bytes, 1));
  }
  DIECAST_TRY(const Stream stream, device->create_stream());
  DIECAST_TRY(GraphTimes times, GraphTimes::open(runtime, device, stream));
  DIECAST_CHECK(times.add(static_cast<int>(sets.size()), [&](int i) {
    return kernel->launch(sets[static_cast<std::size_t>(i)].arguments, stream);
  }));
  DIECAST_TRY(const std::vector<double> us, times.measure());
  DIECAST_CHECK(device->destroy_stream(stream));
  return us[0];
}

}  // namespace

const std::vector<std::string>& example_names() {
  static const auto& names =
      *new std::vector<std::string>{"softmax",      "rms_norm", "rotary_embedding", "top_k_gate",
                                    "silu_and_mul", "scan",     "histogram",        "gemv"};
  return names;
}

std::vector<BenchShape> example_shapes(const std::string& name, bool host) {
  const std::int64_t cols = name == "top_k_gate" ? 256 : host ? 1024 : 8192;
  const std::int64_t few = name == "gemv" ? 1024 : 64;
  return host ? std::vector<BenchShape>{{few, cols}}
              : std::vector<BenchShape>{{8192, cols}, {few, cols}};
}

Result<std::shared_ptr<Runtime>> example_runtime(const std::vector<std::string>& names) {
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.cache = "off";
  DIECAST_TRY(const auto runtime, Runtime::create(options));
  DIECAST_CHECK(runtime->add_header(
      "kernels/piece.h", DIECAST_SOURCE_DIR "/examples/kernels/include/kernels/piece.h"));
  for (const std::string& name : names) DIECAST_CHECK(runtime->add(file_of(name)));
  return runtime;
}

Result<Specialization> example_kernel(Runtime& runtime, const std::string& name, BenchShape shape,
                                      const Target& target) {
  Bindings bindings;
  bindings.set("IN", DType::bf16);
  if (name == "top_k_gate")
    bindings.set("EXPERTS", shape.cols).set("K", std::min(kChosen, shape.cols));
  DIECAST_TRY(const auto tmpl, runtime.find_template(name));
  return Specialization::make(tmpl, bindings, target);
}

Result<int> example_lines(const std::string& name) {
  DIECAST_TRY(const Bytes text, read_file(system_files(), file_of(name), 1 << 20));
  return static_cast<int>(std::ranges::count(text, static_cast<std::byte>('\n')));
}

Result<ExampleTimes> time_example(Runtime& runtime, const std::shared_ptr<Device>& device,
                                  const std::string& name, const std::vector<BenchShape>& shapes) {
  ExampleTimes out;
  for (const BenchShape shape : shapes) {
    DIECAST_TRY(const Specialization one,
                example_kernel(runtime, name, shape, device->targets().front()));
    DIECAST_TRY(const Launch first, launch_of(one, device, shape));
    const auto start = std::chrono::steady_clock::now();
    DIECAST_TRY(const auto kernel, runtime.preload(one, device));
    DIECAST_CHECK(kernel->launch(first.arguments, {}));
    DIECAST_CHECK(device->synchronize({}));
    if (out.us.empty()) out.first_ms = milliseconds_since(start);
    DIECAST_TRY(out.us.emplace_back(), time_launches(runtime, device, kernel, shape));
  }
  return out;
}

}  // namespace diecast::tool
