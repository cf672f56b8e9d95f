// The kernels of an op of linear layers: which one serves how many rows. All give the same bits.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/linear/linear_tiles.h>
#include <diecast/ops/prepared.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast {

// A kernel and the most rows of x that it serves, of an expert on average.
struct LinearKernel {
  static constexpr std::int64_t kAnyRows = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_rows;
  KernelWanted wanted;
  LinearTiles tiles = {};

  using Tunes = std::vector<std::pair<std::string, std::int64_t>>;
  template <IsRequest Request>
  static LinearKernel of(std::int64_t most_rows, std::string_view name, const Request& request,
                         const Tunes& tunes) {
    Bindings bindings;
    for (const auto& [tune, value] : tunes) bindings.set(tune, value);
    return {most_rows, kernel_of(name, request, std::move(bindings))};
  }
  // It finds x by a tensor map, which a run asks the driver for.
  bool mapped() const { return wanted.name.ends_with("_wgmma"); }
};

std::vector<KernelWanted> kernels_of(const std::vector<LinearKernel>& table);

// Which one of a table is the soonest, of those for the fewest rows that are enough. A table is in
// order of most_rows, and ends with a kernel for any number of rows.
template <class Kernels>
std::size_t soonest_of(const Kernels& table, const LinearSize& size) {
  std::size_t soonest = 0;
  while (size.rows > table[soonest].most_rows) ++soonest;
  const std::int64_t most_rows = table[soonest].most_rows;
  double least = table[soonest].tiles.time(size);
  for (std::size_t i = soonest + 1; i < table.size() && table[i].most_rows == most_rows; ++i) {
    const double time = table[i].tiles.time(size);
    if (time < least) least = time, soonest = i;
  }
  return soonest;
}

// The same, resident.
class LinearKernels {
 public:
  // Those of the request's table. Errors: value_not_allowed (a field that is no value of its enum),
  // those of Runtime::specialize_for and Runtime::preload.
  template <IsRequest Request>
  static Result<LinearKernels> prepare(Runtime& runtime, const std::shared_ptr<Device>& device,
                                       const Request& request) {
    DIECAST_CHECK(check_device(device));
    DIECAST_CHECK(check_values(request));
    return of_table(runtime, device, request.table(device->properties()));
  }
  // null where nothing was prepared
  const void* prepared() const { return entries_.empty() ? nullptr : entries_.data(); }

  struct Entry {
    std::int64_t most_rows;
    LinearTiles tiles;
    std::shared_ptr<Kernel> kernel;
    bool mapped;
  };
  const Entry& serving(const LinearSize& size) const {
    return entries_[soonest_of(entries_, size)];
  }

 private:
  static Result<LinearKernels> of_table(Runtime& runtime, const std::shared_ptr<Device>& device,
                                        const std::vector<LinearKernel>& table);

  std::vector<Entry> entries_;  // the last one serves any number of rows
};

}  // namespace diecast
