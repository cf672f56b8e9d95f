// Memory of one job that is written before it is read, and used again for the next piece.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

namespace diecast {

class Buffer {
 public:
  // So many bytes, whatever is in them, from a multiple of 16 bytes on. A buffer that grows loses
  // what it held. Throws std::bad_alloc, and is empty then.
  std::span<std::byte> sized(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset();  // before more is taken
      size_ = 0;
      memory_.reset(take(bytes));
      size_ = bytes;
    }
    return {memory_.get(), bytes};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  static std::byte* take(std::size_t bytes);

  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace diecast
