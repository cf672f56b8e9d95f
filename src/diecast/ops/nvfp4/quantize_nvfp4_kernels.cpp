// The kernels of quantize_nvfp4, by what was measured; see quantize_nvfp4_kernels.h.
#include <diecast/ops/nvfp4/quantize_nvfp4_few.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_kernels.h>

#include <algorithm>
#include <iterator>

namespace diecast {
namespace {

using Request = QuantizeNvfp4Request;

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
std::int64_t rows_of_a_wave(const DeviceProperties& device, int threads) {
  return device.sm_count * std::int64_t{1024} / threads;
}

// How many rows a thread block takes: several of at most 512 columns, a block of 16 a lane.
int rows_side_by_side(const Request& request, const DeviceProperties& device, int threads) {
  if (device.cc == 0 || request.cols == 0 || request.rows == RowsClass::any) return 1;
  int lanes = 4;
  while (lanes <= 32 && lanes * 16 < request.cols) lanes *= 2;
  return lanes <= 32 ? threads / lanes : 1;
}

// What small matrices have kernels of their own for: where all of a matrix is on the GPU at once,
// what a thread computes is a good part of the launch.
bool is_plain(const Request& r, const DeviceProperties& device) {
  return device.cc != 0 && r.out.profile == Profile::te && !r.scales_apart &&
         r.four_over_six == FourOverSix::off && r.rht == TransformedSides::none && !r.stochastic;
}

// Rows of a known length, dense or apart, that find their own amax.
Result<FewKernels> few_that_find_rows(Runtime& runtime, const Request& request,
                                      const DeviceProperties& device) {
  Bindings options;
  options.set("COLS", request.cols).set("IN", request.in);
  options.set("LAYOUT", word(request.out.layout));
  return few_by_bounds(runtime, "quantize_nvfp4_row_scaled_few", options, request.cols, device);
}

// Dense rows under a tensor's amax; with tiled scales of a known length.
Result<FewKernels> few_under_amax(Runtime& runtime, const Request& request,
                                  const DeviceProperties& device) {
  const bool linear = request.out.layout == ScaleLayout::linear;
  Bindings options;
  // A row's length buys nothing where scales lie as blocks do.
  options.set("COLS", linear ? 0 : request.cols).set("IN", request.in);
  options.set("LAYOUT", word(request.out.layout));
  return few_by_bounds(runtime, "quantize_nvfp4_few", options, request.cols, device);
}

// So few elements that one cluster finds the tensor's amax and quantizes before three launches
// would. Linear scales.
Result<FewKernels> few_that_find_amax(Runtime& runtime, const Request& request,
                                      const DeviceProperties& device) {
  Bindings options;
  options.set("IN", request.in);
  return few_by_bounds(runtime, "quantize_nvfp4_amax_few", options, request.cols, device);
}

Result<QuantizeNvfp4Kernels> kernels_that_find_rows(Runtime& runtime, const Request& request,
                                                    const DeviceProperties& device) {
  constexpr std::string_view kName = "quantize_nvfp4_row_scaled";
  QuantizeNvfp4Kernels out;
  constexpr int kShortRows = 128;  // threads
  const int at_once = rows_side_by_side(request, device, kShortRows);
  const int many = at_once > 1 ? kShortRows : row_threads(request, device);
  const int few = few_row_threads(request);
  const auto of_block = [&](int threads) {
    Bindings bindings{{"RHT", Value::boolean(request.rht != TransformedSides::none)}};
    return kernel_of(kName, request, bindings.set("ROWS_AT_ONCE", at_once).set("THREADS", threads));
  };
  out.any = of_block(many);
  if (device.cc == 0 || request.cols == 0 || at_once > 1) return out;
  const auto of_threads = [&](int threads) -> QuantizeNvfp4Kernels::Few {
    return {capped_product(rows_of_a_wave(device, threads), request.cols), of_block(threads)};
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
                                                 const DeviceProperties& device) {
  QuantizeNvfp4Kernels out;
  out.any = kernel_of("quantize_nvfp4", request,
                      {{"RHT", Value::boolean(request.rht != TransformedSides::none)}});
  if (!is_plain(request, device) || request.rows != RowsClass::dense || request.out.row_scaled ||
      request.global != GlobalScale::amax)
    return out;
  const bool linear = request.out.layout == ScaleLayout::linear;
  // Where a scale lies would take a division; or the threads for the last tiles' padding too many.
  constexpr std::int64_t kLongestTiled = 1 << 24;
  if (!linear && (request.cols == 0 || request.cols > kLongestTiled)) return out;
  if (request.finds_amax() && linear) {
    DIECAST_TRY(out.few, few_that_find_amax(runtime, request, device));
    if (!out.few.empty()) out.finds_amax = out.few.back().below;
  }
  DIECAST_TRY(auto under_amax, few_under_amax(runtime, request, device));
  std::ranges::move(under_amax, std::back_inserter(out.few));
  return out;
}

}  // namespace

Result<QuantizeNvfp4Kernels> quantize_nvfp4_kernels(Runtime& runtime, const Request& request,
                                                    const DeviceProperties& device) {
  return request.finds_rows() ? kernels_that_find_rows(runtime, request, device)
                              : kernels_under_given(runtime, request, device);
}

Result<std::vector<KernelWanted>> QuantizeNvfp4Request::kernels(Runtime& runtime,
                                                                const Target& target) const {
  DeviceProperties device;
  device.cc = target.cc;
  std::vector<KernelWanted> all;
  const auto add = [&](std::vector<KernelWanted> more) {
    std::ranges::move(more, std::back_inserter(all));
  };
  if (along_rows()) {
    DIECAST_TRY(const auto wanted, quantize_nvfp4_kernels(runtime, *this, device));
    add({wanted.any});
    for (const auto& few : wanted.few) add({few.kernel});
    if (wanted.counted) add({wanted.counted->kernel});
    DIECAST_TRY(auto tuned, few_of_every_device(runtime, wanted, target));
    add(std::move(tuned));
  } else {
    add({nvfp4_tiles_kernel(*this, false, device)});
  }
  if (finds_rows() || !finds_amax()) return all;
  if (has_rows(sides)) add(amax(false).kernels(device));
  if (has_columns(sides) && !shares_amax()) add(amax(true).kernels(device));
  return all;
}

}  // namespace diecast
