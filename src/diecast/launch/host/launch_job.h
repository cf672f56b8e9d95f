// One launch on the host: its blocks, shared out among the threads that take part, and the machines
// those threads run them on.
#pragma once

#include <diecast/base/fork.h>
#include <diecast/launch/block_machine.h>
#include <diecast/launch/device.h>
#include <diecast/launch/host/launch_output.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace diecast {

// Machines that no launch uses now, the one used last on top.
class MachinePool {
 public:
  std::unique_ptr<BlockMachine> take();
  void put_back(std::unique_ptr<BlockMachine> machine);

 private:
  ForkSafe<std::mutex> mutex_;
  std::vector<std::unique_ptr<BlockMachine>> idle_;
};

class LaunchJob {
 public:
  // `threads`: how many may call work() at a time; decides how many blocks are taken at once. All
  // references must outlive the job.
  LaunchJob(const HostKernel& kernel, const LaunchShape& shape, void** parameters,
            MachinePool& machines, int threads);

  std::uint64_t blocks() const { return blocks_; }
  // Runs blocks that nobody has taken yet until there are none, or until a block before them
  // failed.
  void work();
  // Once every work() has returned: the failure of the lowest block that failed, always the same
  // one however the blocks were shared out. What kernels printed is there by then.
  Result<void> result();

 private:
  void work_from(std::uint64_t first);
  void run_blocks(BlockMachine& machine, HostBlock& block, std::uint64_t first, std::uint64_t last);
  void fail(std::uint64_t block, const Error& error);

  const HostKernel& kernel_;
  const LaunchShape& shape_;
  void** parameters_;
  MachinePool& machines_;
  std::uint64_t blocks_, chunk_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> failed_block_{~std::uint64_t{0}};
  LaunchOutput output_;
  std::mutex mutex_;
  Error error_;
};

}  // namespace diecast
