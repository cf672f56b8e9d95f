// Bytes at the end of a page that nothing may be read behind: a read beyond the last one ends the
// test program, with or without a sanitizer.
#pragma once

#include <diecast/base/hash.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace diecast::testing {

class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t capacity) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    size_ = (capacity / page + 1) * page;
    begin_ = static_cast<std::byte*>(
        ::mmap(nullptr, size_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(begin_ + size_, page, PROT_NONE);
    mapped_ = size_ + page;
  }
  GuardedBytes(const GuardedBytes&) = delete;
  ~GuardedBytes() { ::munmap(begin_, mapped_); }

  // A copy of the bytes that ends where the memory does.
  ByteSpan place(std::string_view bytes) {
    std::byte* at = begin_ + (size_ - bytes.size());
    std::memcpy(at, bytes.data(), bytes.size());
    return {at, bytes.size()};
  }

 private:
  std::byte* begin_;
  std::size_t size_, mapped_;
};

}  // namespace diecast::testing
