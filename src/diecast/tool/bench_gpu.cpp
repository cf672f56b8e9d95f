// diecast bench gpu: two large shapes, on each the ops against a device-to-device copy and options
// against the op without them, in one run.
#include <diecast/base/text.h>
#include <diecast/tool/bench_gpu.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace diecast::tool {
namespace {

constexpr int kTurns = 21;
constexpr float kGivenAmax = 5.5f;

double middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

Result<GpuBench> GpuBench::open(Runtime& runtime, std::shared_ptr<Device> device, std::int64_t rows,
                                std::int64_t cols) {
  GpuBench bench;
  bench.runtime_ = &runtime;
  bench.device_ = std::move(device);
  bench.rows_ = rows, bench.cols_ = cols;
  DIECAST_TRY(bench.stream_, bench.device_->create_stream());
  DIECAST_TRY(bench.from_, bench.device_->create_event());
  DIECAST_TRY(bench.to_, bench.device_->create_event());
  for (std::size_t set = 0; set < kGpuSets; ++set) {
    DIECAST_TRY(BenchMatrix m, bench_matrix(bench.device_, rows, cols, false, set + 1));
    bench.x_.push_back(m.x);
    std::move(m.memory.begin(), m.memory.end(), std::back_inserter(bench.of_x_));
  }
  return bench;
}

Result<void*> GpuBench::take(std::int64_t bytes) {
  DIECAST_TRY(taken_.emplace_back(),
              BenchMemory::allocate(device_, static_cast<std::size_t>(bytes)));
  return taken_.back().data();
}

Result<std::vector<Tensor>> GpuBench::outputs() {
  std::vector<Tensor> out = x_;
  for (Tensor& one : out) {
    DIECAST_TRY(one.data, take(rows_ * cols_ * 2));
  }
  return out;
}

Result<void> GpuBench::allocate(QuantizedSide& side) {
  DIECAST_TRY(side.data, take(side.data_bytes));
  DIECAST_TRY(side.scale, take(side.scale_bytes));
  if (side.amax_count == 0) return {};
  DIECAST_TRY(void* const amax, take(side.amax_count * 4));
  side.amax = static_cast<float*>(amax);
  const std::vector<float> values(static_cast<std::size_t>(side.amax_count), kGivenAmax);
  DIECAST_CHECK(device_->copy_to_device(amax, values.data(), values.size() * 4, stream_));
  return device_->synchronize(stream_);
}

Result<std::vector<QuantizedTensor>> GpuBench::quantized(QuantizedTensor like, bool rowwise,
                                                         bool columnwise) {
  std::vector<QuantizedTensor> out;
  like.shape = x_.front().shape;
  for (std::size_t set = 0; set < kGpuSets; ++set) {
    out.push_back(like);
    if (rowwise) {
      DIECAST_TRY(out.back().rowwise, like.rowwise_sizes());
      DIECAST_CHECK(allocate(out.back().rowwise));
    }
    if (columnwise) {
      DIECAST_TRY(out.back().columnwise, like.columnwise_sizes());
      DIECAST_CHECK(allocate(out.back().columnwise));
    }
  }
  return out;
}

Result<double> GpuBench::milliseconds(const Call& call, std::size_t set) const {
  DIECAST_CHECK(device_->record(from_, stream_));
  DIECAST_CHECK(call(set));
  DIECAST_CHECK(device_->record(to_, stream_));
  return device_->elapsed_ms(from_, to_);
}

// Medians of one call at a time, by device events, after a turn over every set that warms up.
Result<GpuBench::Medians> GpuBench::in_turns(const Call& base, const Call& call) const {
  std::vector<double> base_ms, call_ms;
  for (std::size_t i = 0; i < kGpuSets + kTurns; ++i) {
    DIECAST_TRY(const double of_base, milliseconds(base, i % kGpuSets));
    DIECAST_TRY(const double of_call, milliseconds(call, i % kGpuSets));
    if (i < kGpuSets) continue;
    base_ms.push_back(of_base);
    call_ms.push_back(of_call);
  }
  return Medians{middle_of(base_ms), middle_of(call_ms)};
}

Result<void> GpuBench::against_copy(const std::string& what, double bytes_an_element, double bound,
                                    const Call& call) {
  const auto half =
      static_cast<std::size_t>(bytes_an_element * static_cast<double>(rows_ * cols_)) / 2;
  std::vector<BenchMemory> buffers;
  for (std::size_t i = 0; i < 2 * kGpuSets; ++i) {
    DIECAST_TRY(buffers.emplace_back(), BenchMemory::allocate(device_, half));
  }
  const Call copy = [&](std::size_t set) {
    return device_->copy_on_device(buffers[2 * set].data(), buffers[2 * set + 1].data(), half,
                                   stream_);
  };
  DIECAST_TRY(const Medians ms, in_turns(copy, call));
  const auto gigabytes = [&](double t) {
    return static_cast<int>(2 * static_cast<double>(half) / t / 1e6);
  };
  figures.push_back({cat(what, ", ", rows_, "x", cols_), 100 * ms.base_ms / ms.call_ms, "% of copy",
                     bound, true,
                     cat(gigabytes(ms.call_ms), " GB/s against ", gigabytes(ms.base_ms), " GB/s, ",
                         fixed(ms.call_ms * 1e3, 1), " us")});
  taken_.clear();
  return {};
}

Result<void> GpuBench::against(const std::string& what, const std::string& base_name, double bound,
                               const Call& base, const Call& call) {
  DIECAST_TRY(const Medians ms, in_turns(base, call));
  figures.push_back(
      {cat(what, ", ", rows_, "x", cols_), ms.call_ms / ms.base_ms, cat("x ", base_name), bound,
       false, cat(fixed(ms.call_ms * 1e3, 1), " us against ", fixed(ms.base_ms * 1e3, 1), " us")});
  return {};
}

Result<Figures> bench_gpu(Runtime& runtime) {
  DIECAST_TRY(const auto device, runtime.default_device());
  Figures figures;
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{16384, 16384},
                                   std::pair<std::int64_t, std::int64_t>{65536, 7168}}) {
    DIECAST_TRY(GpuBench bench, GpuBench::open(runtime, device, rows, cols));
    DIECAST_CHECK(add_gpu_ops(bench));
    DIECAST_CHECK(add_gpu_options(bench));
    figures.insert(figures.end(), bench.figures.begin(), bench.figures.end());
  }
  return figures;
}

}  // namespace diecast::tool
