// gemm_nvfp4 of 4096x4096x4096 on a GPU by each of its ways, which give one result, beside the
// floor of three f32 operations a block and output: to make a float of its sum, to multiply both
// scales, to add. (Over bytes the first two are one, f16 needs the last alone.) And by cuBLASLt.
#include <diecast/base/text.h>
#include <diecast/ops/gemm/cublaslt/api.h>
#include <diecast/ops/gemm/cublaslt/gemm_cublaslt.h>
#include <diecast/ops/gemm/gemm_nvfp4.h>
#include <diecast/ops/gemm/gemm_unpacked.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>

#include "bench/bench.h"
#include "bench/device.h"

namespace diecast::tool {
namespace {

constexpr std::int64_t kSide = 4096;
constexpr double kProducts = 1.0 * kSide * kSide * kSide;
constexpr int kGemmRepeats = 15;
constexpr std::string_view kWhat = "gemm_nvfp4 to bf16, ", kByLibrary = "cuBLASLt",
                           kUnpacked = "unpacked, wgmma";

struct Way {
  const char* what;
  GemmMath math;
  GemmTile tile;
  bool row_scaled;
  double bound;
};
constexpr Way kWays[] = {{"f16 tensor cores", GemmMath::f16, GemmTile::large, false, 100},
                         {"int8 tensor cores", GemmMath::s8, GemmTile::large, false, 100},
                         {"without tensor cores", GemmMath::dp4a, GemmTile::small, false, 0},
                         {"f16, row-scaled", GemmMath::f16, GemmTile::large, true, 0},
                         {"f16, 64x64 tiles", GemmMath::f16, GemmTile::small, false, 0},
                         {"int8, 64x64 tiles", GemmMath::s8, GemmTile::small, false, 0}};

Result<BenchMatrix> gemm_operand(Runtime& runtime, const std::shared_ptr<Device>& device,
                                 bool row_scaled, std::uint64_t seed,
                                 ScaleLayout layout = ScaleLayout::linear) {
  DIECAST_TRY(BenchMatrix m, bench_matrix(device, kSide, kSide, row_scaled, seed, layout));
  DIECAST_CHECK(quantize_nvfp4(runtime, m.x, m.quantized(), {false, device}));
  return m;
}

Figure figure_of(std::string_view way, double ms, double bound, const std::string& detail) {
  return {cat(kWhat, way),
          2 * kProducts / ms / 1e9,
          "TFLOP/s",
          bound,
          true,
          cat(static_cast<int>(ms * 1e3), " us; ", detail)};
}

Result<Figure> measure(Runtime& runtime, const std::shared_ptr<Device>& device, const Way& way) {
  DIECAST_TRY(const BenchMatrix a, gemm_operand(runtime, device, way.row_scaled, 1));
  DIECAST_TRY(const BenchMatrix b, gemm_operand(runtime, device, false, 2));
  GemmNvfp4Options options;
  options.device = device;
  // The activation is not needed any more: its memory takes the product.
  auto request = PreparedGemmNvfp4::Request::of(a.quantized(), b.quantized(), a.x, options,
                                                device->properties());
  request.math = way.math;
  request.tile = way.tile;
  DIECAST_TRY(const auto op, PreparedGemmNvfp4::prepare(runtime, device, request));
  DIECAST_TRY(const double ms, median_ms(*device, {}, kGemmRepeats, [&] {
                return op.run(a.quantized(), b.quantized(), a.x, options, {});
              }));
  const double lanes = 128.0 * device->properties().sm_count;  // f32 operations a clock
  return figure_of(way.what, ms, way.bound,
                   cat("three f32 operations a block and output: ",
                       static_cast<int>(kProducts / 16 * 3 / lanes / 1e3), " thousand clocks"));
}

// Path unpacked. Errors: as PreparedGemmUnpacked's.
Result<Figure> measure_unpacked(Runtime& runtime, const std::shared_ptr<Device>& device) {
  DIECAST_TRY(const BenchMatrix a, gemm_operand(runtime, device, false, 1));
  DIECAST_TRY(const BenchMatrix b, gemm_operand(runtime, device, false, 2));
  GemmNvfp4Options options;
  options.device = device;
  options.scratch_bytes = GemmUnpackedRequest::scratch_bytes(kSide, kSide, kSide);
  DIECAST_TRY(const DeviceMemory scratch,
              DeviceMemory::allocate(device, static_cast<std::size_t>(options.scratch_bytes)));
  options.scratch = scratch.data();
  DIECAST_CHECK(PreparedGemmUnpacked::check(*device, a.quantized(), b.quantized(), a.x, options));
  const auto request = GemmUnpackedRequest::of(a.quantized(), b.quantized(), a.x, options);
  DIECAST_TRY(const auto op, PreparedGemmUnpacked::prepare(runtime, device, request));
  DIECAST_TRY(const double ms, median_ms(*device, {}, kGemmRepeats, [&] {
                return op.run(a.quantized(), b.quantized(), a.x, options, {});
              }));
  const double lanes = 128.0 * device->properties().sm_count;  // f32 operations a clock
  return figure_of(kUnpacked, ms, 400,
                   cat("one f32 operation a block and output: ",
                       static_cast<int>(kProducts / 16 / lanes / 1e3), " thousand clocks"));
}

// Path cublaslt. Errors: as PreparedGemmCublaslt's.
Result<Figure> measure_library(Runtime& runtime, const std::shared_ptr<Device>& device) {
  constexpr ScaleLayout kTiles = ScaleLayout::s128x4;
  DIECAST_TRY(const BenchMatrix a, gemm_operand(runtime, device, false, 1, kTiles));
  DIECAST_TRY(const BenchMatrix b, gemm_operand(runtime, device, false, 2, kTiles));
  GemmNvfp4Options options;
  options.device = device;
  const auto request =
      PreparedGemmCublaslt::Request::of(a.quantized(), b.quantized(), a.x, options);
  options.scratch_bytes = request.scratch_bytes(kSide, kSide);
  DIECAST_TRY(const DeviceMemory scratch,
              DeviceMemory::allocate(device, static_cast<std::size_t>(options.scratch_bytes)));
  options.scratch = scratch.data();
  DIECAST_CHECK(PreparedGemmCublaslt::check(*device, a.quantized(), b.quantized(), a.x, options));
  DIECAST_TRY(const auto op, PreparedGemmCublaslt::prepare(runtime, device, request));
  DIECAST_TRY(const double ms, median_ms(*device, {}, kGemmRepeats, [&] {
                return op.run(a.quantized(), b.quantized(), a.x, options, {});
              }));
  DIECAST_TRY(const auto api, cublaslt::shared_api());
  return figure_of(kByLibrary, ms, 0, api->description());
}

// A way that not every machine has: its figure, or why there is none.
Result<void> add_if_taken(Figures& figures, std::string_view way, Result<Figure> measured) {
  if (measured) {
    figures.push_back(*std::move(measured));
    return {};
  }
  const ErrorCode code = measured.error().code;
  if (code != ErrorCode::not_supported && code != ErrorCode::file_not_found)
    return measured.error();
  figures.push_back({.what = cat(kWhat, way), .missing = measured.error().what});
  return {};
}

}  // namespace

Result<Figures> bench_gemm(Runtime& runtime) {
  DIECAST_TRY(const auto device, runtime.default_device());
  Figures figures;
  for (const Way& way : kWays) {
    DIECAST_TRY(figures.emplace_back(), measure(runtime, device, way));
  }
  DIECAST_CHECK(add_if_taken(figures, kUnpacked, measure_unpacked(runtime, device)));
  DIECAST_CHECK(add_if_taken(figures, kByLibrary, measure_library(runtime, device)));
  return figures;
}

}  // namespace diecast::tool
