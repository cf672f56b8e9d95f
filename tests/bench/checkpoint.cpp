// Checkpoints from file to file in memory, beside reading and writing alone: megabytes of input a
// second, and microseconds a tensor where tensors are small.
#include <diecast/base/text.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/checkpoint/run_tasks.h>
#include <diecast/checkpoint/safetensors_writer.h>
#include <diecast/launch/host_device.h>
#include <diecast/tool/console.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <random>

#include "bench/bench.h"

namespace diecast::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRepeats = 5;
constexpr double kOfCopy = 0.8;                      // the share of reading and writing alone
constexpr std::uint64_t kLarge = 4096, kSmall = 32;  // rows and columns
// 4 weights of 16 MiB each. A GPU takes more layers: of few its start is a good part of the time.
constexpr std::uint64_t kLayersOnHost = 4, kLayersOnGpu = 16;
constexpr std::uint64_t kExperts = 4096;  // 2 weights each

std::string memory_folder() { return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ""; }

std::vector<TensorInfo> large_tensors(std::uint64_t layers) {
  std::vector<TensorInfo> out;
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    for (const char* name : {"self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
      TensorInfo& tensor = out.emplace_back();
      tensor.name = cat("model.layers.", layer, ".", name, ".weight");
      tensor.dtype = StoredDType::bf16;
      tensor.shape = {kLarge / 2, kLarge};
    }
  }
  return out;
}

std::vector<TensorInfo> small_tensors() {
  std::vector<TensorInfo> out;
  for (std::uint64_t expert = 0; expert < kExperts; ++expert) {
    for (const char* name : {"gate_proj", "up_proj"}) {
      TensorInfo& tensor = out.emplace_back();
      tensor.name = cat("model.layers.0.mlp.experts.", expert, ".", name, ".weight");
      tensor.dtype = StoredDType::bf16;
      tensor.shape = {kSmall, kSmall};
    }
  }
  return out;
}

// The same drawn values in every tensor.
Result<void> write_checkpoint(const std::string& path, std::vector<TensorInfo> tensors) {
  DIECAST_TRY(SafetensorsHeader layout, lay_out(std::move(tensors), {}));
  DIECAST_TRY(SafetensorsWriter writer,
              SafetensorsWriter::create(path, std::move(layout), nullptr));
  std::mt19937 random(1);
  std::vector<std::uint16_t> values(writer.layout().tensors.front().bytes() / 2);
  for (std::uint16_t& value : values)
    value = static_cast<std::uint16_t>(0x3C00 + (random() & 0x83FF));  // 2^-7 to 2, either sign
  for (const TensorInfo& tensor : writer.layout().tensors)
    DIECAST_CHECK(writer.write(tensor, 0, std::as_bytes(std::span(values))));
  return writer.commit();
}

// Seconds of a conversion; the output is gone again.
Result<double> converted(Runtime& runtime, const std::shared_ptr<Device>& device,
                         const Checkpoint& input, const std::string& output, std::size_t jobs) {
  const std::shared_ptr<Runtime> borrowed(&runtime, [](Runtime*) {});
  DIECAST_TRY(const Plan plan, plan_quantize(input));
  const ConvertKernels kernels = device_kernels(borrowed, device, plan.scheme);
  ConvertOptions options;
  options.jobs = jobs;
  std::vector<double> seconds;
  for (int i = 0; i <= kRepeats; ++i) {  // the first one prepares
    const auto start = Clock::now();
    DIECAST_CHECK(convert(input, plan, output, kernels, options));
    if (i > 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    ::unlink(output.c_str());
  }
  return median(std::move(seconds));
}

// Seconds in which so many threads read the file, whose tensors are alike, and write what the
// output has of its bytes.
Result<double> copied(const Checkpoint& input, const std::string& output, std::size_t threads) {
  std::vector<double> seconds;
  std::vector<Bytes> buffers(threads, Bytes(4 << 20));
  FileSystem& files = system_files();
  const std::vector<TensorInfo>& tensors = input.header().tensors;
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = Clock::now();
    const Descriptor file(files, files.open_at(AT_FDCWD, output.c_str(), O_RDWR | O_CREAT, 0600));
    const auto copy = [&](std::size_t thread, std::size_t index) -> Result<void> {
      const TensorInfo& tensor = tensors[index];
      for (std::uint64_t at = 0; at < tensor.bytes(); at += buffers[thread].size()) {
        const auto piece =
            std::span(buffers[thread]).first(std::min(buffers[thread].size(), tensor.bytes() - at));
        DIECAST_CHECK(input.read(tensor, at, piece));
        const std::uint64_t to = (index * tensor.bytes() + at) * 9 / 32;  // 4.5 bits of 16
        if (const int result =
                write_exactly(files, file.number(), piece.data(), piece.size() * 9 / 32, to);
            result < 0)
          return file_error("write", output, result);
      }
      return {};
    };
    DIECAST_CHECK(run_tasks(threads, tensors.size(), copy));
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    ::unlink(output.c_str());
  }
  return median(std::move(seconds));
}

Result<Figures> measured(Runtime& runtime, const std::shared_ptr<Device>& device,
                         const std::string& folder, std::uint64_t layers, double bound) {
  const std::string in = folder + "/in.safetensors", out = folder + "/out.safetensors";
  const std::size_t jobs = default_jobs(*device);
  const std::string on = device->targets().front().name();
  Figures figures;
  DIECAST_CHECK(write_checkpoint(in, large_tensors(layers)));
  DIECAST_TRY(const Checkpoint large, Checkpoint::open(in));
  const double megabytes = static_cast<double>(large.header().file_bytes) / 1e6;
  DIECAST_TRY(const double alone, copied(large, out, jobs));
  figures.push_back(
      {cat("checkpoint read and written, ", counted(jobs, "thread")), megabytes / alone, "MB/s"});
  DIECAST_TRY(const double one, converted(runtime, device, large, out, 1));
  figures.push_back({cat("quantize a checkpoint on ", on, ", 1 job"), megabytes / one, "MB/s"});
  DIECAST_TRY(const double all, converted(runtime, device, large, out, jobs));
  figures.push_back({cat("quantize a checkpoint on ", on, ", ", jobs, " jobs"), megabytes / all,
                     "MB/s", std::min(bound, kOfCopy * megabytes / alone), true,
                     cat(std::llround(megabytes), " MB of bf16 from and to memory, sync apart")});
  DIECAST_CHECK(write_checkpoint(in, small_tensors()));
  DIECAST_TRY(const Checkpoint small, Checkpoint::open(in));
  DIECAST_TRY(const double many, converted(runtime, device, small, out, jobs));
  const auto count = static_cast<double>(2 * kExperts);
  figures.push_back({cat("quantize a tensor of 2 KB of many on ", on), many / count * 1e6, "us",
                     135, false, cat(2 * kExperts, " tensors; 44,544 in 6 s are asked for")});
  return figures;
}

}  // namespace

Result<Figures> bench_checkpoint(Runtime& runtime) {
  const ScratchRoot root(memory_folder());
  DIECAST_TRY(const auto host, open_host_device());
  const bool vectors = host->targets().front().host_level >= 3;
  const double cores = std::min(2.0, static_cast<double>(host->properties().sm_count));
  DIECAST_TRY(Figures figures, measured(runtime, host, root.path(), kLayersOnHost,
                                        vectors ? 500 * cores : 250 * cores));
  const auto gpu = runtime.default_device();
  if (!gpu || (*gpu)->properties().cc == 0) return figures;
  DIECAST_TRY(const Figures more, measured(runtime, *gpu, root.path(), kLayersOnGpu, 4000));
  figures.insert(figures.end(), more.begin(), more.end());
  return figures;
}

}  // namespace diecast::tool
