// A tensor of drawn numbers in device memory, and as the host last saw it.
#pragma once

#include <diecast/diecast.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

inline bool is_whole(diecast::DType type) {
  return type == diecast::DType::u32 || type == diecast::DType::i32 || type == diecast::DType::i64;
}

class Matrix {
 public:
  // Floats from -4 to 4; i64 from 0 to 8000; zeros of i32 and u32.
  Matrix(const std::shared_ptr<diecast::Device>& device, diecast::DType type, std::int64_t rows,
         std::int64_t cols)
      : device_(device), type_(type), rows_(rows), cols_(cols) {
    bytes_.resize(static_cast<std::size_t>(std::max<std::int64_t>(rows * cols, 1)) * 8);
    std::int64_t seed = rows * 1000 + cols;
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      seed = (seed * 1103515245 + 12345) & INT32_MAX;
      if (type == diecast::DType::i64)
        whole<std::int64_t>()[i] = seed % 8001;
      else if (!is_whole(type))
        set(i, static_cast<float>(seed >> 10) / 262144.0f - 4.0f);
    }
    memory_ = diecast::DeviceMemory::copy_of(device, bytes_, {}).value();
    device->synchronize({}).value();
  }

  // Of the host's copy alone.
  void set(std::int64_t i, float value) {
    diecast::reference::store(bytes_.data(), type_, i, value);
  }
  void send() {
    device_->copy_to_device(memory_.data(), bytes_.data(), bytes_.size(), {}).value();
    device_->synchronize({}).value();
  }
  void fetch() {
    device_->copy_to_host(bytes_.data(), memory_.data(), bytes_.size(), {}).value();
    device_->synchronize({}).value();
  }
  double at(std::int64_t row, std::int64_t col) const {
    const std::int64_t i = row * cols_ + col;
    if (type_ == diecast::DType::u32) return whole<std::uint32_t>()[i];
    if (type_ == diecast::DType::i32) return whole<std::int32_t>()[i];
    if (type_ == diecast::DType::i64) return static_cast<double>(whole<std::int64_t>()[i]);
    return static_cast<double>(diecast::reference::load(bytes_.data(), type_, i));
  }
  // A number as the type has it.
  double rounded(double x) const {
    std::uint8_t bytes[4];
    diecast::reference::store(bytes, type_, 0, static_cast<float>(x));
    return static_cast<double>(diecast::reference::load(bytes, type_, 0));
  }
  diecast::KernelArgument argument() const {
    return diecast::KernelArgument::tensor(type_, memory_.data());
  }
  void* data() const { return memory_.data(); }
  diecast::DType type() const { return type_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

 private:
  template <class T>
  const T* whole() const {
    return reinterpret_cast<const T*>(bytes_.data());
  }
  template <class T>
  T* whole() {
    return reinterpret_cast<T*>(bytes_.data());
  }

  std::shared_ptr<diecast::Device> device_;
  diecast::DType type_;
  std::int64_t rows_, cols_;
  std::vector<std::uint8_t> bytes_;
  diecast::DeviceMemory memory_;
};

// The tensors of a launch by the names of their `arg` lines.
using Tensors = std::map<std::string, Matrix>;
