// Fibers on Boost.Context, with the annotations that AddressSanitizer and ThreadSanitizer need to
// follow a switch of stacks.
#include <diecast/launch/host/fiber.h>

#if defined(DIECAST_HAS_HOST_DEVICE)

#include <diecast/base/sanitizers.h>
#include <diecast/base/text.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <cerrno>
#include <new>

#if defined(DIECAST_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

// The leak checker would read the thread-local storage of kernels after their libraries are closed,
// or where an old glibc would have placed it. Visible, so that the sanitizer's own library finds
// it.
extern "C" __attribute__((weak, visibility("default"))) const char* __asan_default_options() {
  return "intercept_tls_get_addr=0";
}
#endif
#if defined(DIECAST_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace diecast {
namespace {

using Context = boost::context::fiber;
static_assert(sizeof(Context) == sizeof(void*));

Context& context(std::byte* storage) { return *std::launder(reinterpret_cast<Context*>(storage)); }

std::size_t page_bytes() {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// A guard page splits its mapping, and Linux allows a process 65530 of them: from here on stacks go
// without, so that the rest of the process can still map memory.
std::atomic<int> guards_left{16384};

// The stacks belong to FiberStacks.
struct KeepStack {
  void deallocate(boost::context::stack_context&) {}
};

}  // namespace

struct FiberStacks::Mapping {
  std::byte* base = nullptr;
  unsigned count = 0;
  int guards = 0;

  ~Mapping() {
    munmap(base, count * stride());
    guards_left += guards;
  }
  static std::size_t stride() { return page_bytes() + stack_bytes(); }
};

std::size_t FiberStacks::stack_bytes() {
#if defined(DIECAST_ASAN) || defined(DIECAST_TSAN)
  return 256 << 10;
#else
  return 64 << 10;
#endif
}

Result<FiberStacks> FiberStacks::map(unsigned count) {
  const std::size_t bytes = count * Mapping::stride();
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (base == MAP_FAILED)
    return Error{ErrorCode::out_of_memory,
                 cat("no memory for the stacks of ", count, " threads of a block (",
                     human_bytes(bytes), "): ", errno_text(errno)),
                 "raise the limit of `ulimit -v`, or set DIECAST_HOST_THREADS to fewer threads"};
  auto mapping = std::make_shared<Mapping>();
  mapping->base = static_cast<std::byte*>(base);
  mapping->count = count;
  for (unsigned i = 0; i < count; ++i) {
    if (guards_left.fetch_sub(1) <= 0 ||
        mprotect(mapping->base + i * Mapping::stride(), page_bytes(), PROT_NONE) != 0) {
      guards_left += 1;
      break;
    }
    ++mapping->guards;
  }
  FiberStacks stacks;
  stacks.mapping_ = std::move(mapping);
  return stacks;
}

std::span<std::byte> FiberStacks::operator[](unsigned index) const {
  return {mapping_->base + index * Mapping::stride() + page_bytes(), stack_bytes()};
}

Fiber::~Fiber() {
#if defined(DIECAST_TSAN)
  if (!stack_.empty()) __tsan_destroy_fiber(shadow_);
#endif
}

void Fiber::start(std::span<std::byte> stack, Entry entry, void* argument, unsigned index) {
#if defined(DIECAST_ASAN)
  __asan_unpoison_memory_region(stack.data(), stack.size());  // an abandoned thread's frames
  shadow_ = nullptr;
#endif
#if defined(DIECAST_TSAN)
  if (!stack_.empty()) __tsan_destroy_fiber(shadow_);
  shadow_ = __tsan_create_fiber(0);
#endif
  stack_ = stack;
  // Equal offsets in all stacks would put their hot lines into the same few sets of a cache.
  const std::size_t size = stack.size() - index % 32 * 128;
  boost::context::stack_context bounds;
  bounds.sp = stack.data() + size;
  bounds.size = size;
  const auto run = [this, entry, argument, index](Context&& left) {
    new (came_from_->context_) Context(std::move(left));
    arrived();
    entry(argument, index);
    return Context();
  };
  new (context_) Context(std::allocator_arg, boost::context::preallocated(bounds.sp, size, bounds),
                         KeepStack{}, run);
}

void Fiber::switch_to(Fiber& next) {
  next.came_from_ = this;
#if defined(DIECAST_ASAN)
  __sanitizer_start_switch_fiber(&shadow_, next.stack_.data(), next.stack_.size());
#endif
#if defined(DIECAST_TSAN)
  if (stack_.empty()) shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(next.shadow_, 0);
#endif
  Context left = std::move(context(next.context_)).resume();
  new (came_from_->context_) Context(std::move(left));
  arrived();
}

// Control has come in from came_from_. An operating-system thread's own stack is known only now, to
// the one it was left for.
void Fiber::arrived() {
#if defined(DIECAST_ASAN)
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(shadow_, &bottom, &size);
  came_from_->stack_ = {static_cast<const std::byte*>(bottom), size};
#endif
}

}  // namespace diecast

#endif
