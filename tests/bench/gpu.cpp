// diecast-bench gpu: two large shapes, on each the ops against a device-to-device copy, against
// their loads and stores alone, and options against the op without them, in one run.
#include "bench/gpu.h"

#include <diecast/base/text.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <utility>

namespace diecast::tool {
namespace {

constexpr int kTurns = 21, kChoosingTurns = 5;
constexpr float kGivenAmax = 5.5f;
constexpr std::int64_t kHeadStartNs = 50'000;  // of the host: a call's launches take a few thousand
// What is within 2 % of the best that its loads and stores allow has met its bound.
constexpr double kShareOfAccesses = 98;
constexpr const char* kOfAccesses = "% of the same accesses without arithmetic";

}  // namespace

Result<GpuBench> GpuBench::open(Runtime& runtime, std::shared_ptr<Device> device, std::int64_t rows,
                                std::int64_t cols, DType dtype) {
  GpuBench bench;
  bench.runtime_ = &runtime;
  bench.device_ = std::move(device);
  bench.rows_ = rows, bench.cols_ = cols;
  DIECAST_TRY(bench.stream_, bench.device_->create_stream());
  DIECAST_TRY(bench.spin_, Spin::open(runtime, bench.device_));
  DIECAST_TRY(bench.from_, bench.device_->create_event());
  DIECAST_TRY(bench.to_, bench.device_->create_event());
  for (std::size_t set = 0; set < kGpuSets; ++set) {
    // The bits of two bf16 make an f32 of the second's size, and those of one a moderate f16.
    const std::int64_t words = cols * dtype_bits(dtype) / 16;
    DIECAST_TRY(BenchMatrix m, bench_matrix(bench.device_, rows, words, false, set + 1));
    bench.x_.push_back({m.x.data, dtype, Shape{rows, cols}, 0, nullptr});
    bench.of_x_.push_back(std::move(m.memory));
  }
  return bench;
}

Result<void*> GpuBench::take(std::int64_t bytes) {
  DIECAST_TRY(taken_.emplace_back(),
              DeviceMemory::allocate(device_, static_cast<std::size_t>(bytes)));
  return taken_.back().data();
}

Result<std::vector<Tensor>> GpuBench::outputs() {
  std::vector<Tensor> out = x_;
  for (Tensor& one : out) {
    DIECAST_TRY(one.data, take(rows_ * cols_ * 2));
  }
  return out;
}

Result<void> GpuBench::give_amax(const QuantizedSide& side) {
  if (side.amax_count == 0) return {};
  const std::vector<float> values(static_cast<std::size_t>(side.amax_count), kGivenAmax);
  DIECAST_CHECK(device_->copy_to_device(side.amax, values.data(), values.size() * 4, stream_));
  return device_->synchronize(stream_);
}

Result<std::vector<QuantizedTensor>> GpuBench::quantized(const QuantizedType& type, Sides sides) {
  std::vector<QuantizedTensor> out;
  for (std::size_t set = 0; set < kGpuSets; ++set) {
    DIECAST_TRY(outputs_.emplace_back(),
                QuantizedBuffer::allocate(device_, x_.front().shape, type, sides));
    out.push_back(outputs_.back().tensor());
    DIECAST_CHECK(give_amax(out.back().rowwise));
    DIECAST_CHECK(give_amax(out.back().columnwise));
  }
  return out;
}

// Behind a call of its own kind on other matrices: what the caches hold by then, and must still
// write to memory, is such a call's. And both behind a kernel that only waits, so that the host's
// time between launches is not the GPU's.
Result<double> GpuBench::milliseconds(const Call& call, std::size_t set) const {
  DIECAST_CHECK(spin_.run(kHeadStartNs, stream_));
  DIECAST_CHECK(call((set + 1) % kGpuSets));
  DIECAST_CHECK(device_->record(from_, stream_));
  DIECAST_CHECK(call(set));
  DIECAST_CHECK(device_->record(to_, stream_));
  return device_->elapsed_ms(from_, to_);
}

// One call at a time, by device events, after a turn over every set that warms up.
Result<std::vector<double>> GpuBench::in_turns(const std::vector<Call>& calls, int turns) const {
  std::vector<std::vector<double>> ms(calls.size());
  for (std::size_t i = 0; i < kGpuSets + static_cast<std::size_t>(turns); ++i) {
    for (std::size_t call = 0; call < calls.size(); ++call) {
      DIECAST_TRY(const double of_call, milliseconds(calls[call], i % kGpuSets));
      if (i >= kGpuSets) ms[call].push_back(of_call);
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& of_call : ms) medians.push_back(median(std::move(of_call)));
  return medians;
}

Accesses GpuBench::reading(int bytes) const {
  Accesses out;
  out.read = bytes;
  out.rows = rows_;
  out.row_units = cols_ * 2 / bytes;
  return out;
}

Accesses GpuBench::quantizing(const std::vector<QuantizedTensor>& out) const {
  const QuantizedTensor& like = out.front();
  Accesses of = reading(2 * like.type.block());
  of.written = static_cast<int>(like.rowwise.data_bytes / (of.rows * of.row_units));
  of.writes_scales = true;
  of.columns = like.columnwise.data != nullptr;
  of.tiled = like.type.layout == ScaleLayout::s128x4;
  if (of.tiled && (of.rows % 128 != 0 || of.row_units % 4 != 0)) return {};  // padding is written
  for (std::size_t set = 0; set < kGpuSets; ++set) {
    const QuantizedSide &across = out[set].rowwise, &down = out[set].columnwise;
    of.of_set.push_back({x_[set].data, nullptr, across.data, across.scale, down.data, down.scale});
  }
  return of;
}

Result<std::vector<AccessPattern>> GpuBench::best_patterns(const Accesses& accesses) const {
  std::vector<AccessPattern> best;
  if (accesses.of_set.empty()) return best;
  DIECAST_TRY(const auto all, access_patterns(*runtime_, device_, stream_, accesses));
  std::vector<Call> calls;
  for (const AccessPattern& pattern : all) calls.push_back(pattern.run);
  DIECAST_TRY(const std::vector<double> ms, in_turns(calls, kChoosingTurns));
  for (std::size_t kind = 0; kind < kAccessKinds; ++kind) {
    std::size_t fastest = all.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (static_cast<std::size_t>(all[i].kind) != kind) continue;
      if (fastest == all.size() || ms[i] < ms[fastest]) fastest = i;
    }
    if (fastest < all.size()) best.push_back(all[fastest]);
  }
  return best;
}

void GpuBench::add(Figure figure, const std::vector<double>& ms,
                   const std::vector<AccessPattern>& patterns) {
  const auto ratio = [&](double of) { return figure.at_least ? 100 * ms[0] / of : of / ms[0]; };
  const std::string shape = cat(", ", rows_, "x", cols_), what = figure.what, unit = figure.unit;
  figure.what += shape;
  figure.value = ratio(ms[1]);
  Figures of_patterns;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    of_patterns.push_back({cat(what, ", accesses alone, ", patterns[i].what, shape),
                           ratio(ms[2 + i]), unit, 0, figure.at_least,
                           cat(fixed(ms[2 + i] * 1e3, 1), " us")});
  }
  if (!patterns.empty()) {
    const double share = 100 * *std::min_element(ms.begin() + 2, ms.end()) / ms[1];
    if (figure.holds()) {
      figure.detail += cat("; ", fixed(share, 1), " ", kOfAccesses);
    } else {
      figure.detail = cat(fixed(figure.value, figure.at_least ? 1 : 2), " ", unit, ", wanted ",
                          figure.bound, "; ", figure.detail);
      figure.value = share, figure.unit = kOfAccesses;
      figure.bound = kShareOfAccesses, figure.at_least = true;
    }
  }
  figures.push_back(std::move(figure));
  figures.insert(figures.end(), of_patterns.begin(), of_patterns.end());
}

Result<void> GpuBench::against_copy(const std::string& what, double bytes_an_element, double bound,
                                    const Call& call, const Accesses& accesses) {
  const auto half =
      static_cast<std::size_t>(bytes_an_element * static_cast<double>(rows_ * cols_)) / 2;
  std::vector<DeviceMemory> buffers;
  for (std::size_t i = 0; i < 2 * kGpuSets; ++i) {
    DIECAST_TRY(buffers.emplace_back(), DeviceMemory::allocate(device_, half));
  }
  DIECAST_TRY(const auto patterns, best_patterns(accesses));
  std::vector<Call> calls = {[&](std::size_t set) {
                               return device_->copy_on_device(buffers[2 * set].data(),
                                                              buffers[2 * set + 1].data(), half,
                                                              stream_);
                             },
                             call};
  for (const AccessPattern& pattern : patterns) calls.push_back(pattern.run);
  DIECAST_TRY(const std::vector<double> ms, in_turns(calls, kTurns));
  const auto gigabytes = [&](double t) {
    return static_cast<int>(2 * static_cast<double>(half) / t / 1e6);
  };
  add({what, 0, "% of copy", bound, true,
       cat(gigabytes(ms[1]), " GB/s against ", gigabytes(ms[0]), " GB/s, ", fixed(ms[1] * 1e3, 1),
           " us")},
      ms, patterns);
  taken_.clear();
  outputs_.clear();
  return {};
}

Result<void> GpuBench::against(const std::string& what, const std::string& base_name, double bound,
                               const Call& base, const Call& call, const Accesses& accesses) {
  DIECAST_TRY(const auto patterns, best_patterns(accesses));
  std::vector<Call> calls = {base, call};
  for (const AccessPattern& pattern : patterns) calls.push_back(pattern.run);
  DIECAST_TRY(const std::vector<double> ms, in_turns(calls, kTurns));
  add({what, 0, cat("x ", base_name), bound, false,
       cat(fixed(ms[1] * 1e3, 1), " us against ", fixed(ms[0] * 1e3, 1), " us")},
      ms, patterns);
  return {};
}

Result<Figures> bench_gpu(Runtime& runtime, const std::vector<BenchShape>& shapes) {
  DIECAST_TRY(const auto device, runtime.default_device());
  Figures figures;
  for (const auto& [rows, cols] : shapes) {
    DIECAST_TRY(GpuBench bench, GpuBench::open(runtime, device, rows, cols));
    DIECAST_CHECK(add_gpu_ops(bench));
    DIECAST_CHECK(add_gpu_options(bench));
    figures.insert(figures.end(), bench.figures.begin(), bench.figures.end());
  }
  return figures;
}

}  // namespace diecast::tool
