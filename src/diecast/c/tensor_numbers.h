// What of a tensor decides whether a call with it is right, apart from its address.
#pragma once

#include <diecast/c/abi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace diecast::c {

// Calls `number` with all of a tensor that checks look at apart from its address, until it returns
// false. How many numbers there are follows from the first three.
template <class Number>
[[gnu::always_inline]] inline bool each_number(const diecast_tensor& tensor, Number&& number) {
  std::uint64_t device = 0, type = 0;  // and ndim
  static_assert(offsetof(diecast_tensor, ndim) - offsetof(diecast_tensor, device_type) == 8);
  static_assert(offsetof(diecast_tensor, shape) - offsetof(diecast_tensor, ndim) == 8);
  std::memcpy(&device, &tensor.device_type, sizeof device);
  std::memcpy(&type, &tensor.ndim, sizeof type);
  const bool has_strides = tensor.strides != nullptr;
  const unsigned given = (tensor.shape != nullptr ? 2U : 0U) | (has_strides ? 1U : 0U);
  if (!number(device) || !number(type) || !number(given)) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.ndim); ++i) {
    if (!number(static_cast<std::uint64_t>(tensor.shape[i]))) return false;
    if (has_strides && !number(static_cast<std::uint64_t>(tensor.strides[i]))) return false;
  }
  return true;
}

inline char* address_of(const diecast_tensor& tensor) {
  return tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
}

}  // namespace diecast::c
