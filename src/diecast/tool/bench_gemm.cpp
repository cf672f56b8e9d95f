// gemm_nvfp4 of 4096x4096x4096 on a GPU by each of its ways, which give one result, beside the
// floor of three f32 operations a block and output: to make a float of its sum, to multiply both
// scales, to add. (Over bytes the first two are one, f16 needs the last alone.)
#include <diecast/base/text.h>
#include <diecast/ops/gemm_nvfp4.h>
#include <diecast/ops/quantize_nvfp4.h>
#include <diecast/tool/bench.h>
#include <diecast/tool/bench_device.h>

namespace diecast::tool {
namespace {

constexpr std::int64_t kSide = 4096;
constexpr int kGemmRepeats = 15;

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
                                 bool row_scaled, std::uint64_t seed) {
  DIECAST_TRY(BenchMatrix m, bench_matrix(device, kSide, kSide, row_scaled, seed));
  DIECAST_CHECK(quantize_nvfp4(runtime, m.x, m.quantized, {false, device}));
  return m;
}

Result<Figure> measure(Runtime& runtime, const std::shared_ptr<Device>& device, const Way& way) {
  DIECAST_TRY(const BenchMatrix a, gemm_operand(runtime, device, way.row_scaled, 1));
  DIECAST_TRY(const BenchMatrix b, gemm_operand(runtime, device, false, 2));
  GemmNvfp4Options options;
  options.device = device;
  // The activation is not needed any more: its memory takes the product.
  auto request = PreparedGemmNvfp4::Request::of(a.quantized, b.quantized, a.x, options, *device);
  request.math = way.math;
  request.tile = way.tile;
  DIECAST_TRY(const auto op, PreparedGemmNvfp4::prepare(runtime, device, request));
  DIECAST_TRY(const double ms,
              median_ms(*device, {}, kGemmRepeats,
                        [&] { return op.run(a.quantized, b.quantized, a.x, options, {}); }));
  const double products = 1.0 * kSide * kSide * kSide;
  const double lanes = 128.0 * device->properties().sm_count;  // f32 operations a clock
  return Figure{cat("gemm_nvfp4 to bf16, ", way.what),
                2 * products / ms / 1e9,
                "TFLOP/s",
                way.bound,
                true,
                cat(static_cast<int>(ms * 1e3), " us; three f32 operations a block and output: ",
                    static_cast<int>(products / 16 * 3 / lanes / 1e3), " thousand clocks")};
}

}  // namespace

Result<Figures> bench_gemm(Runtime& runtime) {
  DIECAST_TRY(const auto device, runtime.default_device());
  Figures figures;
  for (const Way& way : kWays) {
    DIECAST_TRY(figures.emplace_back(), measure(runtime, device, way));
  }
  return figures;
}

}  // namespace diecast::tool
