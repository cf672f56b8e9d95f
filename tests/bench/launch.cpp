// What a launch costs the calling thread above the driver's own launch of the same kernel with the
// same arguments and attributes, in one run on a GPU.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/launch/cuda/code.h>
#include <diecast/launch/cuda/context.h>
#include <diecast/launch/kernel/arguments.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>

#include <chrono>
#include <utility>

#include "bench/bench.h"
#include "bench/device.h"

namespace diecast::tool {
namespace {

constexpr std::int64_t kDecodeRows = 8, kDecodeCols = 4096;  // a step of decoding
constexpr int kBurst = 200, kRounds = 500;                   // a burst fits into the stream's queue

// A launch with nothing of ours left in it: arguments packed, shape known, function at hand.
struct BareLaunch {
  std::shared_ptr<const Driver> driver;
  std::shared_ptr<ResidentCode> code;
  std::unique_ptr<CurrentContext> current;   // as in a thread of an engine
  std::unique_ptr<PackedParameters> packed;  // points into itself
  LaunchShape shape;

  Result<void> run(Stream stream) {
    const auto& cuda_code = static_cast<const CudaCode&>(*code);
    const cuda::Result result = launch_cuda_code(*driver, cuda_code, shape, packed->pointers.data(),
                                                 static_cast<cuda::StreamHandle*>(stream.handle));
    if (result == cuda::success) return {};
    return driver->failure(result, "the driver's launch", "measuring a bare launch");
  }
  Result<void> run_without_attributes(Stream stream) {
    const bool dependent = std::exchange(shape.dependent, false);
    const auto launched = run(stream);
    shape.dependent = dependent;
    return launched;
  }
  // What a launch of ours asks the driver before it on a stream that is not prepared; drivers
  // before 12.0 have it not.
  Result<void> run_after_asking(Stream stream) {
    unsigned long long id = 0;
    if (driver->cuCtxGetId) (void)driver->cuCtxGetId(nullptr, &id);
    return run(stream);
  }
};

// `arguments` must outlive the launch.
Result<BareLaunch> bare_launch(const Kernel& kernel, std::span<const KernelArgument> arguments) {
  BareLaunch bare;
  DIECAST_TRY(bare.driver, Driver::shared());
  DIECAST_TRY(bare.code, kernel.device().load(kernel.artifact(), {}, nullptr));
  bare.current = std::make_unique<CurrentContext>(*bare.driver);
  DIECAST_CHECK(bare.current->push(static_cast<const CudaCode&>(*bare.code).context));
  DIECAST_TRY(const auto slots, LaunchSlots::make(kernel.specialization()));
  DIECAST_TRY(const auto check, ArgumentCheck::make(kernel.specialization(), slots));
  LaunchSlots::Values values{};
  bare.packed = std::make_unique<PackedParameters>();
  DIECAST_CHECK(check.pack(arguments, values, *bare.packed));
  DIECAST_TRY(bare.shape, kernel.shape(arguments));
  return bare;
}

// Nanoseconds a call of each, in bursts taken in turns: what else the machine does meets all.
class Bursts {
 public:
  Bursts(const std::shared_ptr<Device>& device, Stream stream) : device_(device), stream_(stream) {}

  Result<double> burst(const std::function<Result<void>()>& call) const {
    Result<void> outcome;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kBurst && outcome; ++i) outcome = call();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    DIECAST_CHECK(outcome);
    DIECAST_CHECK(device_->synchronize(stream_));
    return took.count() / kBurst;
  }

  // The time of `calls[0]` in each round, then by how much each other one is longer. Each round
  // begins with another call: what comes after a certain one is not always the same.
  Result<std::vector<std::vector<double>>> compare(
      const std::vector<std::function<Result<void>()>>& calls) const {
    std::vector<std::vector<double>> times(calls.size(), std::vector<double>(kRounds));
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t turn = 0; turn < calls.size(); ++turn) {
        const std::size_t i = (round + turn) % calls.size();
        DIECAST_TRY(times[i][round], burst(calls[i]));
      }
      for (std::size_t i = 1; i < calls.size(); ++i) times[i][round] -= times[0][round];
    }
    return times;
  }

 private:
  std::shared_ptr<Device> device_;
  Stream stream_;
};

}  // namespace

Result<Figures> bench_launch(Runtime& runtime) {
  DIECAST_TRY(const auto device, runtime.default_device());
  DIECAST_TRY(const Stream stream, device->create_stream());
  DIECAST_TRY(const BenchMatrix m, bench_matrix(device, kDecodeRows, kDecodeCols, false, 1));
  PreparedQuantizeNvfp4::Request request;
  request.amax_given = true;
  DIECAST_TRY(const auto op, PreparedQuantizeNvfp4::prepare(runtime, device, request));
  const Kernel& kernel = op.kernel(kDecodeRows * kDecodeCols);
  const QuantizedSide& to = m.quantized().rowwise;
  const auto arguments = args::QuantizeNvfp4Few{.x = tensor_argument(m.x),
                                                .amax = to.amax,
                                                .codes = to.data,
                                                .scales = to.scale,
                                                .rows = rows_argument(m.x),
                                                .cols = cols_argument(m.x)}
                             .in_order();
  DIECAST_TRY(BareLaunch bare, bare_launch(kernel, arguments));
  QuantizeNvfp4Options options;
  options.amax_given = true;
  options.device = device;
  DIECAST_TRY(const auto ns,
              Bursts(device, stream)
                  .compare({
                      [&] { return bare.run(stream); },
                      [&] { return bare.run_without_attributes(stream); },
                      [&] { return bare.run_after_asking(stream); },
                      [&] { return kernel.launch(arguments, stream); },
                      [&] { return op.run(m.x, m.quantized(), stream); },
                      [&] { return op.run(m.x, m.quantized(), Stream{stream.handle}); },
                      [&] { return quantize_nvfp4(runtime, m.x, m.quantized(), options, stream); },
                  }));
  const auto figure = [&](const char* what, std::size_t call, double bound = 0) {
    return Figure{
        what,
        median(ns[call]),
        "ns",
        bound,
        false,
        cat("quantize_nvfp4 of ", kDecodeRows, "x", kDecodeCols,
            ", amax given; the middle half of ", kRounds, " rounds: ", middle_half(ns[call], 1))};
  };
  return Figures{figure("the driver's launch", 0),
                 figure("cuLaunchKernel, without attributes, above it", 1),
                 figure("cuCtxGetId above it", 2),
                 figure("Kernel::launch above it", 3),
                 figure("a prepared op on a prepared stream above it", 4, 150),
                 figure("a prepared op on another stream above it", 5),
                 figure("the convenience call above it", 6, 300)};
}

}  // namespace diecast::tool
