// What a compiled host kernel and the machine that runs its thread blocks say to each other: plain C, no
// function of either side is linked to the other. The library keeps the same structs in
// launch/block_machine.h; a test holds the two equal.
#pragma once

#if !defined(__CUDACC__)

namespace diecast {

// One wait of one thread; it lives on the waiting thread's stack until the wait is over.
struct HostWait {
  // barrier: all threads of the thread block. The others: the lanes of `mask`; shuffle brings back lane
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
  unsigned thread[3];  // its index in the thread block
};

// One thread block on its way through a kernel, on one operating-system thread.
struct HostBlock {
  // Which threads may wait for one another: the header's `exchange` line.
  enum Exchange : unsigned { warp = 1, block = 2 };
  unsigned grid[3], dim[3], index[3];
  unsigned shared_bytes;
  void* shared;   // dynamic shared memory, aligned to 1024 bytes
  void* machine;  // the owner of the two functions below
  // Calls function(closure, i) for every thread i of it (x fastest), each on its own stack.
  void (*run_threads)(HostBlock*, unsigned exchange, void (*function)(void*, unsigned), void* closure);
  void (*wait)(HostBlock*, HostWait*);
  // Ends the thread block, and with it the launch, which fails with these words. Never returns.
  void (*fail)(HostBlock*, const HostFault*);
  int (*print)(HostBlock*, const char* format, __builtin_va_list arguments);  // as vprintf
};

}  // namespace diecast

#endif
