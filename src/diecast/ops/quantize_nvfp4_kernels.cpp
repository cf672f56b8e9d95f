// The kernels of quantize_nvfp4, by what was measured; see quantize_nvfp4_kernels.h.
#include <diecast/ops/quantize_nvfp4_kernels.h>

#include <algorithm>
#include <optional>

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
  const std::int64_t bytes = request.cols * (request.in == DType::f32 ? 4 : 2);
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
  while (lanes * 16 < request.cols) lanes *= 2;
  return lanes <= 32 ? threads / lanes : 1;
}

// What small matrices have kernels of their own for: where all of a matrix is on the GPU at once,
// what a thread computes is a good part of the launch.
bool is_plain(const Request& r, const DeviceProperties& device) {
  return device.cc != 0 && r.profile == Profile::te && !r.scales_apart &&
         r.four_over_six == FourOverSix::off && !r.rht && !r.stochastic;
}

// What a block of threads has when it lets the next launch begin: the headers' NEXT.
enum class Next : std::uint8_t { elements, amax, codes };
std::string_view next_name(Next next) {
  constexpr std::string_view kNames[] = {"elements", "amax", "codes"};
  return kNames[static_cast<std::size_t>(next)];
}

// The kernel for few rows with so many threads a block of 16, in blocks of about so many threads,
// as many as a row needs, up to a cluster; none where it needs more.
std::optional<KernelWanted> small_rows(const Request& r, const DeviceProperties& device, int lanes,
                                       int about, Next next = Next::elements) {
  if (!is_plain(r, device) || r.rows == RowsClass::any) return std::nullopt;
  const std::int64_t needed = r.cols / 16 * lanes, most = device.cc < 90 ? 1 : 8;
  if (device.cc < 90) next = Next::elements;  // there it begins when this one has ended
  int threads = 128, cluster = 1;
  while (threads < 512 && threads < needed && (threads < about || threads * most < needed))
    threads *= 2;
  while (cluster * threads < needed) cluster *= 2;
  if (cluster > most) return std::nullopt;
  Bindings bindings;
  bindings.set("COLS", r.cols).set("IN", r.in).set("LANES", lanes);
  bindings.set("THREADS", threads).set("CLUSTER", cluster).set("LAYOUT", layout_name(r.layout));
  bindings.set("NEXT", next_name(next));
  return KernelWanted{"quantize_nvfp4_row_scaled_small", bindings};
}

// The kernels for few rows. While rows are few they are spread over more multiprocessors; later as
// many of them as there are should be on the GPU at once. The next launch begins when that was
// fastest or nearly so (an H200 in a process of several streams, every configuration at 13 numbers
// of rows and 8 lengths, NOTES.md).
void add_small_rows(const Request& request, const DeviceProperties& device,
                    QuantizeNvfp4Kernels& out) {
  using enum Next;
  const std::int64_t cols = request.cols;
  const auto add = [&](int lanes, int threads, Next next, std::int64_t below) {
    const auto wanted = small_rows(request, device, lanes, threads, next);
    if (wanted) out.few.push_back({below, *wanted});
  };
  // Elements of so many rows for every 100 multiprocessors, and of so many blocks of 16 for each.
  const auto rows = [&](std::int64_t count) { return device.sm_count * count * cols / 100; };
  const auto blocks = [&](std::int64_t count) { return device.sm_count * count * 16; };
  const bool tiled = request.layout != ScaleLayout::linear;
  if (cols <= 2048 && tiled) {
    add(2, 256, elements, blocks(80)), add(2, 256, amax, blocks(310));
    add(1, 128, elements, blocks(2048));
  } else if (cols <= 2048) {
    add(2, 256, elements, blocks(80)), add(1, 128, elements, blocks(150));
    add(1, 128, amax, blocks(430)), add(1, 128, elements, blocks(2048));
  } else if (cols <= 4096 && tiled) {
    add(2, 128, elements, rows(36)), add(1, 256, amax, rows(84));
    add(1, 128, elements, rows(340)), add(1, 256, amax, rows(1600));
  } else if (cols <= 4096) {
    add(1, 256, elements, rows(60)), add(1, 256, amax, rows(1600));
  } else if (cols <= 8192 && tiled) {
    add(2, 128, elements, rows(9)), add(1, 128, elements, rows(170));
    if (cols > 6144)
      add(1, 256, elements, rows(480)), add(1, 512, codes, rows(1200));
    else
      add(1, 512, amax, rows(480));
  } else if (cols <= 8192) {
    add(1, 128, elements, rows(36)), add(1, 512, amax, rows(cols > 6144 ? 1200 : 680));
  } else if (cols <= 16384 && tiled) {
    add(1, 128, elements, rows(18)), add(1, 128, amax, rows(36));
    add(1, 256, cols > 14336 ? codes : amax, rows(170));
    if (cols > 14336) add(1, 256, elements, rows(340));
  } else if (cols <= 16384) {
    add(1, 128, elements, rows(18)), add(1, 512, amax, rows(cols > 14336 ? 1200 : 240));
  } else {
    add(1, 256, elements, blocks(512));
  }
}

QuantizeNvfp4Kernels kernels_that_find_rows(const Request& request,
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
    return {rows_at_once(device, threads) * request.cols,
            {kName, bindings.set("THREADS", threads)}};
  };
  if (small_rows(request, device, 1, 512)) {
    add_small_rows(request, device, out);
    if (few != many) out.counted = of_threads(few);
    return out;
  }
  if (few == many) return out;
  const int some = std::max(2 * many, few / 2);  // few, where those are twice many
  out.counted = of_threads(few);
  out.few = {of_threads(few), of_threads(some)};
  return out;
}

// The kernels for so few elements that one cluster finds the tensor's amax and quantizes before
// three launches would (an H200, NOTES.md): as many threads as blocks of 16. The next launch begins
// when that was found best (an H100, NOTES.md).
void add_that_find_amax(const Request& request, const DeviceProperties& device,
                        QuantizeNvfp4Kernels& out) {
  const auto add = [&](int threads, int cluster, Next next) {
    Bindings bindings;
    bindings.set("IN", request.in).set("THREADS", threads).set("CLUSTER", cluster);
    bindings.set("NEXT", next_name(next));
    out.finds_amax = std::int64_t{16} * threads * cluster + 1;
    out.few.push_back({out.finds_amax, {"quantize_nvfp4_dynamic_small", bindings}});
  };
  add(256, 1, Next::elements);
  if (device.cc >= 90) add(256, 8, Next::amax), add(512, 8, Next::elements);
}

QuantizeNvfp4Kernels kernels_under_given(const Request& request, const DeviceProperties& device,
                                         bool finds_amax) {
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
  if (finds_amax && linear) add_that_find_amax(request, device, out);
  // Two threads a block of 16 for small matrices, then one: with linear scales as long as places
  // have 32 bits, with tiled ones up to sixteen times what is on the GPU at once (NOTES.md).
  const auto add = [&](int lanes, int threads, std::int64_t blocks) {
    Bindings once;
    once.set("COLS", request.cols).set("IN", request.in).set("LANES", lanes);
    once.set("THREADS", threads).set("LAYOUT", layout_name(request.layout));
    out.few.push_back({16 * blocks, {"quantize_nvfp4_once", once}});
  };
  const std::int64_t sm_count = device.sm_count;
  if (linear) {
    add(2, 256, sm_count * 85), add(2, 512, sm_count * 225), add(2, 256, sm_count * 400);
    add(1, 512, sm_count * 530), add(1, 256, sm_count * 940);
    add(1, 512, sm_count * 1024);  // two blocks of threads for every multiprocessor, nearly full
    add(1, 256, sm_count * 8192), add(1, 512, std::int64_t{65535} * 256);
  } else {
    add(2, 256, sm_count * 700), add(1, 256, sm_count * 16384);
  }
  return out;
}

}  // namespace

QuantizeNvfp4Kernels quantize_nvfp4_kernels(const Request& request, bool finds_rows,
                                            bool finds_amax, const DeviceProperties& device) {
  return finds_rows ? kernels_that_find_rows(request, device)
                    : kernels_under_given(request, device, finds_amax);
}

}  // namespace diecast
