// The kinds of a kernel's arguments as types of their own, so that a structure of them can be
// filled by name and a pointer cannot stand where a size belongs. The build makes such a structure
// of each template's `arg` lines (ops/arguments.cmake).
#pragma once

#include <diecast/launch/kernel.h>
#include <diecast/template/value.h>

#include <cstdint>
#include <type_traits>

namespace diecast::args {

// A tensor whose element type the header fixes. Without an address it is absent: a kernel takes
// that where the tensor has no elements. `row_stride` counts elements, 0 = dense.
template <DType kType>
struct TensorOf {
  const void* data = nullptr;
  std::int64_t row_stride = 0;

  TensorOf() = default;
  TensorOf(const void* at, std::int64_t stride = 0) : data(at), row_stride(stride) {}
  operator KernelArgument() const { return KernelArgument::tensor(kType, data, row_stride); }
};

// A tensor whose element type is a parameter of the template.
struct AnyTensor {
  KernelArgument value;

  AnyTensor(const KernelArgument& tensor) : value(tensor) {}
  AnyTensor(DType type, const void* at, std::int64_t stride = 0)
      : value(KernelArgument::tensor(type, at, stride)) {}
  operator KernelArgument() const { return value; }
};

// A size: a number of the host's, or KernelArgument::device_size.
struct Size {
  KernelArgument value;

  Size(std::int64_t number) : value(KernelArgument::size(number)) {}
  Size(const KernelArgument& size) : value(size) {}
  operator KernelArgument() const { return value; }
};

// A scalar. One of i64 may be an address that a kernel reads for itself.
template <DType kType>
struct Scalar {
  static constexpr auto kZero = [] {
    if constexpr (kType == DType::f32) return 0.0f;
    if constexpr (kType == DType::f64) return 0.0;
    if constexpr (kType == DType::i64) return std::int64_t{0};
    if constexpr (kType == DType::u64) return std::uint64_t{0};
    if constexpr (kType == DType::i32) return std::int32_t{0};
    if constexpr (kType == DType::u32) return std::uint32_t{0};
    if constexpr (kType == DType::u16) return std::uint16_t{0};
    if constexpr (kType == DType::i8) return std::int8_t{0};
    if constexpr (kType == DType::u8) return std::uint8_t{0};
  }();
  using Number = std::remove_const_t<decltype(kZero)>;
  Number number;

  Scalar(Number value) : number(value) {}
  Scalar(const void* address) requires(kType == DType::i64)
      : number(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(address))) {}
  operator KernelArgument() const { return KernelArgument::scalar(number); }
};

// A structure by value. It is copied at the launch and must live until then.
struct Structure {
  const void* data;
  std::size_t bytes;

  template <class T>
  Structure(const T& value) : data(&value), bytes(sizeof value) {}
  operator KernelArgument() const { return KernelArgument::bytes(data, bytes); }
};

}  // namespace diecast::args
