// A block's threads as fibers on one operating-system thread: they yield only at a barrier or a
// warp exchange, so a block needs no locks, and a barrier that some threads skip is an error
// instead of a hang. The interface between this machine and a compiled host kernel is the plain C
// structs below, the same as in templates/device/base/host_abi.h.
#pragma once

#include <diecast/base/error.h>

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace diecast {

// One wait of one thread; it lives on the waiting thread's stack until the wait is over.
struct HostWait {
  // barrier: all threads of the block. The others: the lanes of `mask`; shuffle brings back lane
  // `source`'s value, ballot the lanes whose value is not 0.
  enum Kind : unsigned { barrier, warp_barrier, shuffle, ballot };
  unsigned kind;
  unsigned mask;
  unsigned source;
  unsigned line;
  const char* file;
  unsigned long long value;  // in: this thread's; out: what it gets
};

// Why a thread goes no further: what it says, and where.
struct HostFault {
  const char* what;  // "assert(x > 0)"
  const char* file;
  unsigned line;
  unsigned thread[3];  // its index in the block
};

// One block on its way through a kernel, on one operating-system thread.
struct HostBlock {
  // Which threads may wait for one another: the header's `exchange` line.
  enum Exchange : unsigned { warp = 1, block = 2 };
  unsigned grid[3], dim[3], index[3];
  unsigned shared_bytes;
  void* shared;   // dynamic shared memory, aligned to 1024 bytes
  void* machine;  // the owner of the two functions below
  // Calls function(closure, i) for every thread i of the block (x fastest), each on its own stack.
  void (*run_threads)(HostBlock*, unsigned exchange, void (*function)(void*, unsigned),
                      void* closure);
  void (*wait)(HostBlock*, HostWait*);
  // Ends the block, and with it the launch, which fails with these words. Never returns.
  void (*fail)(HostBlock*, const HostFault*);
  int (*print)(HostBlock*, const char* format, std::va_list arguments);  // as vprintf
};

class LaunchOutput;  // host/launch_output.h

struct HostKernel {
  // `parameters`: a pointer to each kernel parameter.
  void (*entry)(HostBlock* block, void** parameters) = nullptr;
  std::string name;
};

// Keeps its stacks for the next block and the next launch. Not for two threads at a time; it may
// move to another thread between blocks.
class BlockMachine {
 public:
  BlockMachine();
  ~BlockMachine();

  // Fills what a block needs of the machine. What kernels print goes to `output`, which must
  // outlive the last run(). Errors: out_of_memory.
  Result<void> attach(HostBlock& block, std::uint32_t shared_bytes, LaunchOutput& output);

  // Runs block.index; every other field stays as attach left it. False: error() says why
  // (divergent_barrier, assertion_failed, out_of_memory). Threads that never came back are
  // forgotten as they are: their stacks are used again and nothing on them is destroyed.
  bool run(const HostKernel& kernel, HostBlock& block, void** parameters);
  const Error& error() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace diecast
