// The tables of quantize_nvfp4_few.h: an H200 in a process of several streams, every configuration
// (templates/NOTES.md). Bounds are blocks of 16 for each multiprocessor.
#include <diecast/ops/quantize_nvfp4_few.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace diecast {
namespace {

using Request = PreparedQuantizeNvfp4::Request;

// Rows that find their own amax. While rows are few they are spread over more multiprocessors;
// where there are many, threads have two blocks of 16 each, whose stores come as they compute, and
// blocks of threads have several short rows: each takes time to say that the next may begin.
struct Row {
  std::int64_t below;
  int blocks, cluster, threads;  // of a block of threads with several rows, at most
  std::string_view next;         // what it has when it lets the next launch begin
};
struct RowsUpTo {
  std::int64_t cols;
  std::array<Row, 5> kernels;  // `below` 0: no more
};
constexpr RowsUpTo kLinearRows[] = {
    {2048,
     {{{700, 1, 1, 128, "elements"},
       {1500, 1, 1, 256, "elements"},
       {5600, 1, 1, 512, "elements"},
       {16384, 2, 1, 512, "codes"}}}},
    {4096,
     {{{290, 1, 1, 0, "elements"},
       {1700, 1, 1, 0, "amax"},
       {3300, 1, 1, 0, "elements"},
       {16384, 2, 1, 0, "amax"}}}},
    {8192,
     {{{150, 1, 4, 0, "elements"},
       {3300, 1, 1, 0, "amax"},
       {5200, 2, 1, 0, "codes"},
       {40000, 2, 1, 0, "amax"}}}},
    {16384,
     {{{155, 1, 8, 0, "elements"},
       {530, 1, 2, 0, "amax"},
       {1050, 2, 1, 0, "elements"},
       {2100, 1, 2, 0, "amax"},
       {16384, 2, 1, 0, "codes"}}}},
    {32768,
     {{{90, 1, 8, 0, "elements"},
       {400, 1, 8, 0, "amax"},
       {1000, 1, 2, 0, "elements"},
       {2000, 2, 1, 0, "amax"}}}},
    {65536, {{{90, 1, 8, 0, "elements"}, {1500, 1, 8, 0, "amax"}}}},
};
constexpr RowsUpTo kTiledRows[] = {
    {2048, {{{350, 1, 1, 128, "elements"}, {16384, 1, 1, 512, "amax"}}}},
    {4096, {{{90, 1, 4, 0, "elements"}, {700, 1, 1, 0, "amax"}, {16384, 2, 1, 512, "codes"}}}},
    {6144, {{{110, 1, 4, 0, "elements"}, {2100, 1, 1, 0, "amax"}, {16384, 2, 1, 0, "codes"}}}},
    {8192, {{{800, 1, 4, 0, "elements"}, {2250, 1, 2, 0, "elements"}, {16384, 2, 1, 0, "codes"}}}},
    {16384,
     {{{150, 1, 8, 0, "elements"},
       {540, 1, 4, 0, "amax"},
       {1300, 1, 4, 0, "elements"},
       {16384, 2, 2, 0, "codes"}}}},
    {65536, {{{512, 1, 8, 0, "elements"}}}},
};

// Under a tensor's amax: so that the fewest blocks of threads are as many as multiprocessors, or
// nearly twice as many.
struct Once {
  std::int64_t below;
  int lanes, blocks, threads;
};
constexpr Once kLinear[] = {
    {100, 2, 1, 384},  {330, 2, 1, 640},  {645, 1, 1, 640},  {770, 1, 1, 768},
    {1010, 1, 2, 512}, {1290, 1, 2, 640}, {1800, 1, 2, 896}, {2060, 1, 2, 1024},
    {2550, 1, 2, 640}, {3060, 1, 2, 768}, {8300, 1, 2, 512},
};
// With tiled scales: the longer rows are, the farther apart are the places of a block of threads'.
struct OnceUpTo {
  std::int64_t cols;
  std::array<Once, 4> kernels;  // `below` 0: no more
};
constexpr OnceUpTo kTiled[] = {
    {4096, {{{450, 2, 1, 256}, {1800, 1, 1, 640}, {3300, 1, 2, 512}, {16384, 1, 1, 512}}}},
    {8192, {{{900, 2, 1, 256}, {1800, 1, 1, 640}, {3300, 1, 2, 512}, {16384, 1, 1, 512}}}},
    {INT64_MAX, {{{930, 2, 1, 384}, {16384, 1, 1, 256}}}},
};

bool is_linear(const Request& request) { return request.layout == ScaleLayout::linear; }

}  // namespace

FewKernels few_that_find_rows(const Request& request, const DeviceProperties& device) {
  const auto& table = is_linear(request) ? kLinearRows : kTiledRows;
  const auto of_length =
      std::ranges::find_if(table, [&](const RowsUpTo& rows) { return request.cols <= rows.cols; });
  FewKernels out;
  if (of_length == std::end(table)) return out;
  for (auto [below, blocks, cluster, about, next] : of_length->kernels) {
    if (below == 0) break;
    if (device.cc < 90) cluster = 1, next = "elements";  // which have neither
    const std::int64_t of_each = ceil_div(request.cols / 16, std::int64_t{blocks} * cluster);
    const std::int64_t threads = ceil_div(of_each, 32) * 32;  // whole warps, as the header has them
    if (threads > 1024) continue;
    int side = 1;
    while (side < 8 && 2 * side * threads <= about) side *= 2;
    Bindings bindings;
    bindings.set("COLS", request.cols).set("IN", request.in);
    bindings.set("LAYOUT", layout_name(request.layout));
    bindings.set("BLOCKS", blocks).set("CLUSTER", cluster).set("SIDE", side).set("NEXT", next);
    out.push_back(
        {device.sm_count * below * 16, {"quantize_nvfp4_row_scaled_small", std::move(bindings)}});
  }
  return out;
}

FewKernels few_under_amax(const Request& request, const DeviceProperties& device) {
  const bool linear = is_linear(request);
  FewKernels out;
  const auto add = [&](const Once& once, std::int64_t blocks) {
    Bindings bindings;
    // A row's length buys nothing where scales lie as blocks do.
    bindings.set("COLS", linear ? 0 : request.cols).set("IN", request.in);
    bindings.set("LAYOUT", layout_name(request.layout)).set("LANES", once.lanes);
    bindings.set("BLOCKS", once.blocks).set("THREADS", once.threads);
    out.push_back({16 * blocks, {"quantize_nvfp4_once", std::move(bindings)}});
  };
  if (!linear) {
    const auto of_length =
        std::ranges::find_if(kTiled, [&](const OnceUpTo& up) { return request.cols <= up.cols; });
    for (const Once& once : of_length->kernels) {
      if (once.below != 0) add(once, device.sm_count * once.below);
    }
    return out;
  }
  for (const Once& once : kLinear) add(once, device.sm_count * once.below);
  constexpr std::int64_t kMost = std::int64_t{65535} * 256;  // where places have 32 bits
  add({.below = 0, .lanes = 1, .blocks = 1, .threads = 512}, kMost);
  return out;
}

FewKernels few_that_find_amax(const Request& request, const DeviceProperties& device) {
  FewKernels out;
  const auto add = [&](int threads, int cluster) {
    Bindings bindings;
    bindings.set("IN", request.in).set("THREADS", threads).set("CLUSTER", cluster);
    bindings.set("NEXT", "elements");
    out.push_back({std::int64_t{16} * threads * cluster + 1,
                   {"quantize_nvfp4_dynamic_small", std::move(bindings)}});
  };
  add(256, 1);
  if (device.cc >= 90) add(256, 8), add(512, 8);
  return out;
}

}  // namespace diecast
