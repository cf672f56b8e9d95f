// The kernels of quantize_nvfp4, by what was measured; see quantize_nvfp4_kernels.h.
#include <diecast/ops/quantize_nvfp4_few.h>
#include <diecast/ops/quantize_nvfp4_kernels.h>

#include <algorithm>
#include <iterator>

namespace diecast {
namespace {

using Request = PreparedQuantizeNvfp4::Request;

// What both templates have.
Bindings bindings_of(const Request& request) {
  Bindings bindings;
  bindings.set("COLS", request.cols).set("IN", request.in);
  bindings.set("SCALES_APART", Value::boolean(request.scales_apart));
  bindings.set("PROFILE", profile_name(request.profile)).set("LAYOUT", layout_name(request.layout));
  bindings.set("FOUR_OVER_SIX", four_over_six_name(request.four_over_six));
  bindings.set("BOUND", request.e4m3_bound);
  bindings.set("RHT", Value::boolean(request.rht)).set("SIGN_MASK", int{request.sign_mask});
  bindings.set("STOCHASTIC", Value::boolean(request.stochastic));
  return bindings;
}

// Threads that share a row: as many as hold all of it in registers, 128 bytes each. The host has no
// threads to spread a row over: fewer fibers, fewer switches.
int row_threads(const Request& request, const DeviceProperties& device) {
  if (device.cc == 0) return 32;
  const std::int64_t bytes = capped_product(request.cols, request.in == DType::f32 ? 4 : 2);
  int threads = request.cols == 0 ? 256 : 32;
  while (threads < 512 && request.cols != 0 && threads * 128 < bytes) threads *= 2;
  return threads;
}

// Where rows are few and their length is known, a thread takes one block of 16: the wait for a row
// is all there is then, and it is up to a third shorter (an H200, NOTES.md). So many threads a row.
int few_row_threads(const Request& request) {
  int threads = 32;
  while (threads < 512 && threads * 16 < request.cols) threads *= 2;
  return threads;
}

// The rows that are on the GPU all at once where a row has so many threads.
std::int64_t rows_at_once(const DeviceProperties& device, int threads) {
  return device.sm_count * std::int64_t{1024} / threads;
}

// How many rows a block of threads takes: several of at most 512 columns, a block of 16 a lane.
int rows_side_by_side(const Request& request, const DeviceProperties& device, int threads) {
  if (device.cc == 0 || request.cols == 0 || request.rows == RowsClass::any) return 1;
  int lanes = 4;
  while (lanes <= 32 && lanes * 16 < request.cols) lanes *= 2;
  return lanes <= 32 ? threads / lanes : 1;
}

// What small matrices have kernels of their own for: where all of a matrix is on the GPU at once,
// what a thread computes is a good part of the launch.
bool is_plain(const Request& r, const DeviceProperties& device) {
  return device.cc != 0 && r.profile == Profile::te && !r.scales_apart &&
         r.four_over_six == FourOverSix::off && !r.rht && !r.stochastic;
}

// Rows of a known length, dense or apart, that find their own amax.
Result<FewKernels> few_that_find_rows(Runtime& runtime, const Request& request,
                                      const DeviceProperties& device) {
  Bindings options;
  options.set("COLS", request.cols).set("IN", request.in);
  options.set("LAYOUT", layout_name(request.layout));
  return few_by_bounds(runtime, "quantize_nvfp4_row_scaled_small", options, request.cols, device);
}

// Dense rows under a tensor's amax; with tiled scales of a known length.
Result<FewKernels> few_under_amax(Runtime& runtime, const Request& request,
                                  const DeviceProperties& device) {
  const bool linear = request.layout == ScaleLayout::linear;
  Bindings options;
  // A row's length buys nothing where scales lie as blocks do.
  options.set("COLS", linear ? 0 : request.cols).set("IN", request.in);
  options.set("LAYOUT", layout_name(request.layout));
  return few_by_bounds(runtime, "quantize_nvfp4_once", options, request.cols, device);
}

// So few elements that one cluster finds the tensor's amax and quantizes before three launches
// would. Linear scales.
Result<FewKernels> few_that_find_amax(Runtime& runtime, const Request& request,
                                      const DeviceProperties& device) {
  Bindings options;
  options.set("IN", request.in);
  return few_by_bounds(runtime, "quantize_nvfp4_dynamic_small", options, request.cols, device);
}

Result<QuantizeNvfp4Kernels> kernels_that_find_rows(Runtime& runtime, const Request& request,
                                                    const DeviceProperties& device) {
  constexpr std::string_view kName = "quantize_nvfp4_row_scaled";
  QuantizeNvfp4Kernels out;
  constexpr int kShortRows = 128;  // threads
  const int side = rows_side_by_side(request, device, kShortRows);
  const int many = side > 1 ? kShortRows : row_threads(request, device);
  const int few = few_row_threads(request);
  Bindings bindings = bindings_of(request);
  bindings.set("ROWS", request.rows == RowsClass::any ? "any" : "apart").set("SIDE", side);
  out.any = {kName, bindings.set("THREADS", many)};
  if (device.cc == 0 || request.cols == 0 || side > 1) return out;
  const auto of_threads = [&](int threads) -> QuantizeNvfp4Kernels::Few {
    return {capped_product(rows_at_once(device, threads), request.cols),
            {kName, bindings.set("THREADS", threads)}};
  };
  if (is_plain(request, device) && request.rows != RowsClass::any) {
    DIECAST_TRY(out.few, few_that_find_rows(runtime, request, device));
  }
  if (!out.few.empty()) {
    if (few != many) out.counted = of_threads(few);
    return out;
  }
  if (few == many) return out;
  const int some = std::max(2 * many, few / 2);  // few, where those are twice many
  out.counted = of_threads(few);
  out.few = {of_threads(few), of_threads(some)};
  return out;
}

Result<QuantizeNvfp4Kernels> kernels_under_given(Runtime& runtime, const Request& request,
                                                 const DeviceProperties& device, bool finds_amax) {
  Bindings bindings = bindings_of(request);
  bindings.set("ROWS", rows_class_name(request.rows));
  bindings.set("GLOBAL", global_scale_name(request.global));
  bindings.set("ROW_SCALE", Value::boolean(request.row_scaled));
  bindings.set("BLOCK_AMAX", Value::boolean(request.block_amax));
  QuantizeNvfp4Kernels out;
  out.any = {PreparedQuantizeNvfp4::kName, bindings};
  if (!is_plain(request, device) || request.rows != RowsClass::dense || request.row_scaled ||
      request.global != GlobalScale::amax)
    return out;
  const bool linear = request.layout == ScaleLayout::linear;
  // Where a scale lies would take a division; or the threads for the last tiles' padding too many.
  constexpr std::int64_t kLongestTiled = 1 << 24;
  if (!linear && (request.cols == 0 || request.cols > kLongestTiled)) return out;
  if (finds_amax && linear) {
    DIECAST_TRY(out.few, few_that_find_amax(runtime, request, device));
    if (!out.few.empty()) out.finds_amax = out.few.back().below;
  }
  DIECAST_TRY(auto under_amax, few_under_amax(runtime, request, device));
  std::ranges::move(under_amax, std::back_inserter(out.few));
  return out;
}

}  // namespace

Result<QuantizeNvfp4Kernels> quantize_nvfp4_kernels(Runtime& runtime, const Request& request,
                                                    bool finds_rows, bool finds_amax,
                                                    const DeviceProperties& device) {
  return finds_rows ? kernels_that_find_rows(runtime, request, device)
                    : kernels_under_given(runtime, request, device, finds_amax);
}

}  // namespace diecast
