// The kernels of `linear` on Hopper, with the times that choose among them.
#include <diecast/ops/linear/linear_table.h>

#include <cstdint>
#include <span>

namespace diecast {
namespace {

// A kernel by its tile of out, the time of a round of tiles (linear_tiles.h), and its tunes.
struct Row {
  int rows, weight_rows;
  double deep, once;
  int stages = 0, warp_rows = 16, resident = 1;  // of linear_few; linear_wgmma has no such stages
  bool apart = false;                            // of linear_wgmma: a thread block for each part

  bool few() const { return stages != 0; }
};

// Up to 16 rows the busiest multiprocessor's rows of weights count, however many thread blocks it
// has at once.
constexpr Row kOnePart[] = {
    {8, 64, 0.1, 0.5, 4},   {8, 128, 0.18, 0.5, 4},      {16, 64, 0.115, 0.5, 4},
    {16, 128, 0.2, 0.5, 4}, {32, 128, 0.5, 3, 3, 32, 2}, {64, 128, 0.285, 1.5},
    {128, 128, 0.4, 1.5},   {192, 128, 0.51, 1.5},       {256, 256, 0.69, 1.5}};
// linear_wgmma makes the parts of the depth apart, or, last, one behind another.
constexpr Row kParts[] = {{8, 64, 0.1, 0.5, 4},
                          {8, 128, 0.18, 0.5, 4},
                          {16, 64, 0.115, 0.5, 4},
                          {16, 128, 0.2, 0.5, 4},
                          {32, 64, 0.5, 3, 2, 16, 3},
                          {64, 128, 0.285, 3, 0, 0, 1, true},
                          {128, 128, 0.4, 4, 0, 0, 1, true},
                          {192, 128, 0.51, 5, 0, 0, 1, true},
                          {256, 128, 0.69, 6, 0, 0, 1, true},
                          {128, 128, 0.38, 2}};

LinearKernel kernel_of_row(const Row& row, const LinearRequest& request, int sm_count) {
  const bool parts = row.few() || row.apart;  // thread blocks of a cluster
  const int cluster = parts ? request.split : row.weight_rows / 128;
  // Clusters of four and more leave some of a group's 16 or 18 multiprocessors idle.
  const int multiprocessors = cluster > 2 ? sm_count * 10 / 11 : sm_count;
  LinearKernel::Tunes tunes = {{"M_TILE", row.rows}};
  if (row.few()) {
    tunes.insert(
        tunes.end(),
        {{"N_TILE", row.weight_rows}, {"STAGES", row.stages}, {"WARP_ROWS", row.warp_rows}});
  } else {
    tunes.insert(tunes.end(), {{"APART", row.apart}, {"CLUSTER", parts ? 1 : cluster}});
  }
  LinearKernel out = LinearKernel::of(row.few() ? row.rows : LinearKernel::kAnyRows,
                                      row.few() ? "linear_few" : "linear_wgmma", request, tunes);
  out.tiles = {.rows = row.rows,
               .weight_rows = row.weight_rows,
               .parts = parts ? request.split : 1,
               .at_once = row.resident * multiprocessors / (parts ? 1 : cluster),
               .deep = row.deep,
               .once = row.once};
  return out;
}

}  // namespace

std::vector<LinearKernel> hopper_table(const LinearRequest& request, int sm_count) {
  std::vector<LinearKernel> out;
  for (const Row& row : request.split > 1 ? std::span<const Row>(kParts) : kOnePart)
    out.push_back(kernel_of_row(row, request, sm_count));
  return out;
}

}  // namespace diecast
