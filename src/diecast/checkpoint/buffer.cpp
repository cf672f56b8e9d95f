// The system gives memory page by page as it is first written, and each page costs a fault. A large
// buffer asks for pages of 2 MB, which are one fault in place of 512. Where the system has none,
// nothing is lost.
#include <diecast/checkpoint/buffer.h>
#include <sys/mman.h>

#include <new>

namespace diecast {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

}  // namespace

std::byte* Buffer::take(std::size_t bytes) {
  const bool large = bytes >= kHugePage;
  void* memory = nullptr;
  if (::posix_memalign(&memory, large ? kHugePage : 16, bytes) != 0) throw std::bad_alloc();
  if (large) (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

}  // namespace diecast
