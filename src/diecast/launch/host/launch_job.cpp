// Blocks are taken in runs from one counter: few enough at once that a slow block delays little,
// and many enough that a million small blocks do not meet at the counter.
#include <diecast/launch/host/launch_job.h>

#if defined(DIECAST_HAS_HOST_DEVICE)

#include <diecast/base/no_throw.h>
#include <fenv.h>

#include <algorithm>
#include <new>
#include <utility>

namespace diecast {
namespace {

// Kernels' arithmetic is that of GPUs whatever the process has made of its threads: libraries built
// with -ffast-math have them flush subnormals, and a program may round another way.
class PlainArithmetic {
 public:
  PlainArithmetic() {
    ::feholdexcept(&before_);
    ::fesetenv(FE_DFL_ENV);
  }
  PlainArithmetic(const PlainArithmetic&) = delete;
  PlainArithmetic& operator=(const PlainArithmetic&) = delete;
  ~PlainArithmetic() { ::fesetenv(&before_); }

 private:
  fenv_t before_;
};

}  // namespace

std::unique_ptr<BlockMachine> MachinePool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto machine = std::move(idle_.back());
      idle_.pop_back();
      return machine;
    }
  }
  return std::make_unique<BlockMachine>();
}

void MachinePool::put_back(std::unique_ptr<BlockMachine> machine) {
  const std::lock_guard lock(mutex_);
  try {
    idle_.push_back(std::move(machine));
  } catch (const std::bad_alloc&) {  // the next launch makes one
  }
}

LaunchJob::LaunchJob(const HostKernel& kernel, const LaunchShape& shape, void** parameters,
                     MachinePool& machines, int threads)
    : kernel_(kernel),
      shape_(shape),
      parameters_(parameters),
      machines_(machines),
      blocks_(std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2]),
      chunk_(std::clamp<std::uint64_t>(blocks_ / (16 * static_cast<unsigned>(threads)), 1, 256)) {}

// On the pool's threads too, where whatever is thrown ends the process.
void LaunchJob::work() {
  std::uint64_t first = next_.fetch_add(chunk_, std::memory_order_relaxed);
  if (first >= blocks_) return;
  const PlainArithmetic arithmetic;
  try {
    work_from(first);
  } catch (const std::bad_alloc&) {
    fail(first, out_of_memory());
  }
}

void LaunchJob::work_from(std::uint64_t first) {
  auto machine = machines_.take();
  HostBlock block{};
  std::copy(shape_.grid.begin(), shape_.grid.end(), block.grid);
  std::copy(shape_.block.begin(), shape_.block.end(), block.dim);
  if (auto attached = machine->attach(block, shape_.shared_bytes, output_); !attached) {
    fail(first, attached.error());
  }
  while (first < std::min(blocks_, failed_block_.load(std::memory_order_relaxed))) {
    run_blocks(*machine, block, first, std::min(first + chunk_, blocks_));
    first = next_.fetch_add(chunk_, std::memory_order_relaxed);
  }
  machines_.put_back(std::move(machine));
}

void LaunchJob::run_blocks(BlockMachine& machine, HostBlock& block, std::uint64_t first,
                           std::uint64_t last) {
  const auto [width, height, depth] = shape_.grid;
  block.index[0] = static_cast<unsigned>(first % width);
  block.index[1] = static_cast<unsigned>(first / width % height);
  block.index[2] = static_cast<unsigned>(first / width / height);
  for (std::uint64_t i = first; i < last; ++i) {
    if (i > failed_block_.load(std::memory_order_relaxed)) return;
    if (!machine.run(kernel_, block, parameters_)) fail(i, machine.error());
    if (++block.index[0] < width) continue;
    block.index[0] = 0;
    if (++block.index[1] < height) continue;
    block.index[1] = 0;
    ++block.index[2];
  }
}

void LaunchJob::fail(std::uint64_t block, const Error& error) {
  const std::lock_guard lock(mutex_);
  if (block >= failed_block_.load(std::memory_order_relaxed)) return;
  error_ = error;
  failed_block_.store(block, std::memory_order_relaxed);
}

Result<void> LaunchJob::result() {
  output_.end(kernel_.name);
  if (failed_block_.load(std::memory_order_relaxed) == ~std::uint64_t{0}) return {};
  return error_;
}

}  // namespace diecast

#endif
