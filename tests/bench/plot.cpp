// diecast-bench --plot: the bandwidth of quantize_nvfp4 over the rows of a matrix, beside a copy's
// of as many bytes: what a launch takes in a CUDA graph of many.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "bench/graph.h"
#include "bench/svg.h"

namespace diecast::tool {
namespace {

struct Curve {
  const char* name;
  const char* colour;
  double bytes;  // an element
};
constexpr Curve kCurves[] = {{"device-to-device copy", "#888888", 2.5625},
                             {"amax given", "#1b6ca8", 2.5625},
                             {"row-scaled", "#2a9d5c", 2.5625},
                             {"with its own tensor amax", "#c75146", 4.5625}};
constexpr std::size_t kCurveCount = std::size(kCurves);

// Of one matrix: gigabytes a second, curve by curve.
using Bandwidths = std::array<double, kCurveCount>;

Result<PreparedQuantizeNvfp4> plotted_op(const GpuBench& bench, bool amax_given, bool row_scaled) {
  PreparedQuantizeNvfp4::Request request;
  request.amax_given = amax_given;
  request.out.row_scaled = row_scaled;
  request.cols = bench.cols();
  return PreparedQuantizeNvfp4::prepare(bench.runtime(), bench.device(), request);
}

// One copy of more than half a gigabyte in a graph runs at two thirds of what it does in pieces.
Result<void> copy_in_pieces(Device& device, void* to, const void* from, std::size_t bytes,
                            Stream stream) {
  constexpr std::size_t kPiece = std::size_t{256} << 20;
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    DIECAST_CHECK(device.copy_on_device(static_cast<std::byte*>(to) + at,
                                        static_cast<const std::byte*>(from) + at,
                                        std::min(kPiece, bytes - at), stream));
  }
  return {};
}

Result<Bandwidths> bandwidths(Runtime& runtime, const std::shared_ptr<Device>& device,
                              BenchShape shape) {
  DIECAST_TRY(GpuBench bench, GpuBench::open(runtime, device, shape.rows, shape.cols));
  DIECAST_TRY(const auto out, bench.quantized());
  DIECAST_TRY(const auto out_by_rows, bench.quantized({.row_scaled = true}));
  DIECAST_TRY(const auto given, plotted_op(bench, true, false));
  DIECAST_TRY(const auto row_scaled, plotted_op(bench, false, true));
  DIECAST_TRY(const auto dynamic, plotted_op(bench, false, false));
  const double elements = static_cast<double>(shape.rows) * static_cast<double>(shape.cols);
  const auto half = static_cast<std::size_t>(elements * kCurves[0].bytes / 2);
  DIECAST_TRY(void* const from, bench.take(static_cast<std::int64_t>(half)));
  DIECAST_TRY(void* const to, bench.take(static_cast<std::int64_t>(half)));
  // Some milliseconds of each.
  const int calls = static_cast<int>(std::clamp(4e9 / (elements * 4), 4.0, 100.0));
  DIECAST_TRY(GraphTimes times, GraphTimes::open(runtime, device, bench.stream()));
  const Stream stream = bench.stream();
  DIECAST_CHECK(
      times.add(calls, [&](int) { return copy_in_pieces(*device, to, from, half, stream); }));
  const auto add = [&](const PreparedQuantizeNvfp4& op, const std::vector<QuantizedTensor>& into) {
    return times.add(calls, [&](int i) {
      const std::size_t set = static_cast<std::size_t>(i) % kGpuSets;
      return op.run(bench.x(set), into[set], stream);
    });
  };
  DIECAST_CHECK(add(given, out));
  DIECAST_CHECK(add(row_scaled, out_by_rows));
  DIECAST_CHECK(add(dynamic, out));
  DIECAST_TRY(const std::vector<double> us, times.measure());
  Bandwidths result;
  for (std::size_t i = 0; i < kCurveCount; ++i)
    result[i] = elements * kCurves[i].bytes / us[i] / 1e3;
  return result;
}

// 1, 2 or 5 times a power of ten: about a sixth of the whole.
double nice_step(double whole) {
  const double power = std::pow(10, std::floor(std::log10(whole / 6)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (whole / (times * power) <= 8) return times * power;
  }
  return 10 * power;
}

std::string drawn(const std::vector<BenchShape>& shapes, const std::vector<Bandwidths>& measured,
                  const std::string& device) {
  constexpr double kLeft = 70, kTop = 40, kWidth = 620, kHeight = 300;
  double most = 0;
  for (const Bandwidths& at : measured)
    most = std::max(most, *std::max_element(at.begin(), at.end()));
  const double step = nice_step(most), top = step * std::ceil(most / step);
  const double first = std::log2(shapes.front().rows), last = std::log2(shapes.back().rows);
  const auto x = [&](std::int64_t rows) {
    return kLeft + kWidth * (std::log2(rows) - first) / std::max(1.0, last - first);
  };
  const auto y = [&](double of) { return kTop + kHeight * (1 - of / top); };
  Svg svg(720, 460);
  svg.words({kLeft, 20}, cat("quantize_nvfp4 of bf16 rows x ", shapes.front().cols,
                             ", GB/s read and written, ", device));
  for (double at = 0; at <= top * 1.001; at += step) {
    svg.line({{kLeft, y(at)}, {kLeft + kWidth, y(at)}}, "#dddddd", 1);
    svg.words({kLeft - 8, y(at) + 4}, fixed(at, step < 1 ? 1 : 0), "end");
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (i % 2 == 0)
      svg.words({x(shapes[i].rows), kTop + kHeight + 18}, cat(shapes[i].rows), "middle");
  }
  svg.words({kLeft + kWidth / 2, kTop + kHeight + 38}, "rows", "middle");
  for (std::size_t curve = 0; curve < kCurveCount; ++curve) {
    std::vector<Svg::Point> points;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      points.emplace_back(x(shapes[i].rows), y(measured[i][curve]));
    }
    svg.line(points, kCurves[curve].colour, 2);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      svg.dot(points[i], 3, kCurves[curve].colour,
              cat(kCurves[curve].name, ", ", shapes[i].rows,
                  " rows: ", fixed(measured[i][curve], 0), " GB/s"));
    }
    const double left = kLeft + static_cast<double>(curve) * 160;
    svg.rectangle({left, 415}, {12, 12}, kCurves[curve].colour);
    svg.words({left + 18, 425}, kCurves[curve].name);
  }
  return svg.text();
}

}  // namespace

Result<Figures> bench_plot(Runtime& runtime, const std::vector<BenchShape>& shapes,
                           const std::string& file) {
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    if (shapes[i].cols == shapes[0].cols && shapes[i].rows > shapes[i - 1].rows) continue;
    return Error{ErrorCode::invalid_argument,
                 "a plot over rows is of matrices that differ in nothing else, the shorter first",
                 "give --shape the same columns and rising rows, or leave it out"};
  }
  // What cannot be written is not measured.
  DIECAST_TRY(AtomicFile picture, AtomicFile::create(system_files(), file));
  DIECAST_TRY(const auto device, runtime.default_device());
  std::vector<Bandwidths> measured;
  Figures figures;
  for (const BenchShape shape : shapes) {
    DIECAST_TRY(measured.emplace_back(), bandwidths(runtime, device, shape));
    for (std::size_t i = 0; i < kCurveCount; ++i) {
      figures.push_back(
          {cat(kCurves[i].name, ", ", shape.rows, "x", shape.cols), measured.back()[i], "GB/s"});
    }
  }
  const std::string svg = drawn(shapes, measured, device->properties().name);
  DIECAST_CHECK(picture.write(as_bytes(svg)));
  DIECAST_CHECK(picture.commit());
  return figures;
}

}  // namespace diecast::tool
