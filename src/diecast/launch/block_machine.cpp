// Runs the threads of a block in turn, each until it waits or ends. When nobody can run and
// somebody has not ended, the threads' waits say what was skipped.
#include <diecast/launch/block_machine.h>

#if defined(DIECAST_HAS_HOST_DEVICE)

#include <diecast/base/no_throw.h>
#include <diecast/base/text.h>
#include <diecast/launch/host/fiber.h>
#include <diecast/launch/host/launch_output.h>
#include <diecast/launch/host/thread_group.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <utility>
#include <vector>

namespace diecast {
namespace {

constexpr unsigned kWarp = ThreadGroup::kWarp;
constexpr std::size_t kSharedAlignment = 1024;

struct FreeShared {
  void operator()(std::byte* memory) const { std::free(memory); }
};

}  // namespace

struct BlockMachine::State {
  std::vector<FiberStacks> stacks;  // of a warp each
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::unique_ptr<std::byte, FreeShared> shared;
  std::uint32_t shared_bytes = 0;

  // What runs now. `exchange` is 0 outside of run_threads: then a kernel may not wait.
  const HostKernel* kernel = nullptr;
  unsigned exchange = 0;
  void (*function)(void*, unsigned) = nullptr;
  void* closure = nullptr;
  ThreadGroup group;
  unsigned first = 0;    // the group's first thread in the block
  unsigned current = 0;  // the running thread in the group
  Fiber outside;         // where run_group waits for the group
  std::jmp_buf entered;  // where a block was begun, for threads that are plain loops
  LaunchOutput* output = nullptr;

  bool failed = false;
  Error error;

  Result<void> reserve(unsigned count);
  void start(unsigned index);
  void run_group(const HostBlock& block, unsigned count);
  void leave(Fiber& running);
  void fail(Error reason);
  Error divergent(const HostBlock& block) const;
  Error undeclared(const HostWait& wait) const;
  Error assertion(const HostBlock& block, const HostFault& fault) const;
  bool enter(HostBlock& block, void** parameters);

  static void thread_main(void* state, unsigned index);
  static void run_threads(HostBlock* block, unsigned exchange, void (*function)(void*, unsigned),
                          void* closure);
  static void wait(HostBlock* block, HostWait* wait);
  static void fail_thread(HostBlock* block, const HostFault* fault);
  static int print(HostBlock* block, const char* format, std::va_list arguments);
};

// A fiber is thread `index` of one block after another.
void BlockMachine::State::thread_main(void* state, unsigned index) {
  auto& self = *static_cast<State*>(state);
  for (;;) {
    self.function(self.closure, self.first + index);
    self.group.end(index);
    self.leave(*self.fibers[index]);
  }
}

void BlockMachine::State::start(unsigned index) {
  fibers[index]->start(stacks[index / kWarp][index % kWarp], thread_main, this, index);
}

Result<void> BlockMachine::State::reserve(unsigned count) {
  while (fibers.size() < count) {
    DIECAST_TRY(auto mapped, FiberStacks::map(kWarp));
    stacks.push_back(std::move(mapped));
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      fibers.push_back(std::make_unique<Fiber>());
      start(static_cast<unsigned>(fibers.size() - 1));
    }
  }
  return {};
}

// A kernel calls this, and wait: nothing may be thrown through it.
void BlockMachine::State::run_threads(HostBlock* block, unsigned exchange,
                                      void (*function)(void*, unsigned), void* closure) {
  State& self = *static_cast<State*>(block->machine);
  const unsigned total = block->dim[0] * block->dim[1] * block->dim[2];
  const unsigned size = exchange == HostBlock::warp ? std::min(kWarp, total) : total;
  if (auto reserved = no_throw([&] { return self.reserve(size); }); !reserved)
    return self.fail(std::move(reserved).error());
  self.exchange = exchange;
  self.function = function;
  self.closure = closure;
  for (self.first = 0; self.first < total && !self.failed; self.first += size) {
    self.run_group(*block, std::min(size, total - self.first));
  }
  self.exchange = 0;
}

void BlockMachine::State::run_group(const HostBlock& block, unsigned count) {
  group.begin(count, exchange == HostBlock::block);
  leave(outside);
  if (group.all_ended()) return;
  if (!failed) fail(no_throw([&] { return divergent(block); }));
  for (unsigned i = 0; i < count; ++i) start(i);
}

// Straight to the next thread that may run: one switch a wait. If there is none, all have ended or
// nobody ever will.
void BlockMachine::State::leave(Fiber& running) {
  current = group.take();
  running.switch_to(current == ThreadGroup::kNone ? outside : *fibers[current]);
}

void BlockMachine::State::wait(HostBlock* block, HostWait* wait) {
  State& self = *static_cast<State*>(block->machine);
  if (self.exchange == 0) return self.fail(no_throw([&] { return self.undeclared(*wait); }));
  const unsigned index = self.current;
  if (!self.group.arrive(index, wait)) self.leave(*self.fibers[index]);
}

// The kernel's stack is left as it is: nothing on it is destroyed. A fiber never runs on from here;
// run_group starts it anew.
void BlockMachine::State::fail_thread(HostBlock* block, const HostFault* fault) {
  State& self = *static_cast<State*>(block->machine);
  self.fail(no_throw([&] { return self.assertion(*block, *fault); }));
  if (self.exchange == 0) std::longjmp(self.entered, 1);
  self.fibers[self.current]->switch_to(self.outside);
}

int BlockMachine::State::print(HostBlock* block, const char* format, std::va_list arguments) {
  return static_cast<State*>(block->machine)->output->print(format, arguments);
}

// The first failure is the one that is told.
void BlockMachine::State::fail(Error reason) {
  if (!failed) error = std::move(reason);
  failed = true;
}

Error BlockMachine::State::divergent(const HostBlock& block) const {
  const HostWait& wait = *group.first_wait();
  const bool warp = exchange == HostBlock::warp;
  return {ErrorCode::divergent_barrier,
          cat("kernel ", kernel->name, ", block (", block.index[0], ", ", block.index[1], ", ",
              block.index[2], ")", warp ? cat(", warp ", first / kWarp) : "", ": of ",
              group.count(), " threads ", group.where()),
          warp && wait.kind == HostWait::barrier
              ? cat("say `exchange block` in the header of ", kernel->name,
                    ".cu; with `exchange warp` a block has no barrier")
              : cat("let all threads that must meet reach ", wait.file, ":", wait.line,
                    ": no return or condition before it may differ between them")};
}

Error BlockMachine::State::undeclared(const HostWait& wait) const {
  return {
      ErrorCode::divergent_barrier,
      cat("kernel ", kernel->name, " says `exchange none`, but a thread waits at ", place_of(wait)),
      cat("say `exchange ", wait.kind == HostWait::barrier ? "block" : "warp",
          "` in the header of ", kernel->name, ".cu")};
}

Error BlockMachine::State::assertion(const HostBlock& block, const HostFault& fault) const {
  const auto three = [](const unsigned(&at)[3]) {
    return cat("(", at[0], ", ", at[1], ", ", at[2], ")");
  };
  return {ErrorCode::assertion_failed,
          cat("kernel ", kernel->name, ", block ", three(block.index), ", thread ",
              three(fault.thread), ": ", fault.file, ":", fault.line, ": ", fault.what),
          "look at what this thread has there, by printf or in a debugger; other blocks may have "
          "run, so what the launch writes is not to be used"};
}

// False: a thread that is a plain loop has ended the block.
bool BlockMachine::State::enter(HostBlock& block, void** parameters) {
  if (setjmp(entered) != 0) return false;
  kernel->entry(&block, parameters);
  return true;
}

BlockMachine::BlockMachine() : state_(std::make_unique<State>()) {}
BlockMachine::~BlockMachine() = default;

Result<void> BlockMachine::attach(HostBlock& block, std::uint32_t shared_bytes,
                                  LaunchOutput& output) {
  State& state = *state_;
  // Of exactly this size, so that a sanitizer sees an access beyond it.
  if (!state.shared || state.shared_bytes != shared_bytes) {
    void* memory = nullptr;
    const std::size_t bytes = std::max<std::size_t>(shared_bytes, 1);
    if (posix_memalign(&memory, kSharedAlignment, bytes) != 0)
      return Error{ErrorCode::out_of_memory,
                   cat("no memory for ", human_bytes(bytes), " of dynamic shared memory"),
                   "free memory, or set DIECAST_HOST_THREADS to fewer threads"};
    state.shared.reset(static_cast<std::byte*>(memory));
    state.shared_bytes = shared_bytes;
  }
  block.shared_bytes = shared_bytes;
  block.shared = state.shared.get();
  block.machine = &state;
  block.run_threads = State::run_threads;
  block.wait = State::wait;
  block.fail = State::fail_thread;
  block.print = State::print;
  state.output = &output;
  return {};
}

bool BlockMachine::run(const HostKernel& kernel, HostBlock& block, void** parameters) {
  State& state = *state_;
  state.kernel = &kernel;
  state.failed = false;
  return state.enter(block, parameters) && !state.failed;
}

const Error& BlockMachine::error() const { return state_->error; }

}  // namespace diecast

#endif
