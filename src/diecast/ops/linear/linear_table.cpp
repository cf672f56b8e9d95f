// The kernels of `linear` on Hopper, with the times that choose among them.
#include <diecast/ops/linear/linear_table.h>

#include <cstdint>

namespace diecast {
namespace {

// A kernel by its tile of out and the time of a round of tiles (linear_tiles.h).
struct Row {
  int rows, weight_rows;
  double deep, once;
};

// linear_few with so many stages. What counts is how many rows of weights the busiest
// multiprocessor has, however many thread blocks it has at once.
struct FewRow : Row {
  int stages;
};
constexpr FewRow kFew[] = {{{8, 64, 0.1, 0.5}, 4},
                           {{8, 128, 0.18, 0.5}, 4},
                           {{16, 64, 0.115, 0.5}, 4},
                           {{16, 128, 0.2, 0.5}, 4}};

// linear_wgmma. 256 rows of weights are of four warpgroups, which hide more of the conversion.
// `once` is of several parts of the depth, each of which a thread block of its own makes.
constexpr Row kMany[] = {{32, 128, 0.245, 3}, {32, 256, 0.41, 3}, {64, 128, 0.285, 3},
                         {64, 256, 0.48, 3},  {128, 128, 0.4, 4}, {192, 128, 0.51, 5},
                         {256, 128, 0.69, 6}};
constexpr double kOnceOfOnePart = 1.5;
// Fewer rows of a weight in parts are never sooner in one.
constexpr int kFewestInOnePart = 128;
// Of several parts, one behind another.
constexpr Row kInTurn = {128, 128, 0.38, 2};

// Clusters that a GPU works on at once, one thread block on each multiprocessor. Those of four and
// more leave some of a group's 16 or 18 multiprocessors idle.
int clusters_at_once(int sm_count, int cluster) {
  return (cluster > 2 ? sm_count * 10 / 11 : sm_count) / cluster;
}

LinearTiles tiles_of(const Row& row, int parts, int at_once) {
  return {.rows = row.rows,
          .weight_rows = row.weight_rows,
          .parts = parts,
          .at_once = at_once,
          .deep = row.deep,
          .once = row.once};
}

LinearKernel few(const FewRow& row, const LinearRequest& request, int sm_count) {
  const int parts = request.split;
  auto out =
      LinearKernel::of(row.rows, "linear_few", request,
                       {{"M_TILE", row.rows}, {"N_TILE", row.weight_rows}, {"STAGES", row.stages}});
  out.tiles = tiles_of(row, parts, parts * clusters_at_once(sm_count, parts));
  return out;
}

// Under 256 rows of x two thread blocks share these, unless their cluster is of parts.
LinearKernel many(const Row& row, const LinearRequest& request, int sm_count, bool apart) {
  const int parts = apart ? request.split : 1, sharers = !apart && row.rows == 256 ? 2 : 1;
  auto out =
      LinearKernel::of(row.rows < 64 ? row.rows : LinearKernel::kAnyRows, "linear_wgmma", request,
                       {{"M_TILE", row.rows},
                        {"WARPGROUPS", row.weight_rows / 64},
                        {"CLUSTER", sharers},
                        {"APART", apart}});
  Row tile = row;
  tile.weight_rows *= sharers;
  out.tiles = tiles_of(tile, parts, parts * clusters_at_once(sm_count, parts * sharers));
  return out;
}

LinearKernel in_one_part(Row row, const LinearRequest& request, int sm_count) {
  row.once = kOnceOfOnePart;
  return many(row, request, sm_count, false);
}

}  // namespace

std::vector<LinearKernel> hopper_table(const LinearRequest& request, int sm_count) {
  std::vector<LinearKernel> out;
  for (const FewRow& row : kFew) out.push_back(few(row, request, sm_count));
  const bool apart = request.split > 1;
  for (const Row& row : kMany)
    out.push_back(apart ? many(row, request, sm_count, true) : in_one_part(row, request, sm_count));
  if (apart) out.push_back(many(kInTurn, request, sm_count, false));
  if (apart && request.fast) {
    LinearRequest whole = request;
    whole.split = 1;
    for (const Row& row : kMany)
      if (row.rows >= kFewestInOnePart) out.push_back(in_one_part(row, whole, sm_count));
  }
  return out;
}

}  // namespace diecast
