// The element types a safetensors file can name. The enumerators stand in the order by which the
// reference writer sorts tensors: never let a later one be less aligned than an earlier one.
#pragma once

#include <diecast/template/value.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace diecast {

enum class StoredDType : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64
};

std::string_view stored_dtype_name(StoredDType type);  // "F8_E4M3"
std::optional<StoredDType> parse_stored_dtype(std::string_view name);
int stored_dtype_bits(StoredDType type);

// F32, F16 and BF16 as what kernels take; none for every other type.
std::optional<DType> float_dtype(StoredDType type);
StoredDType stored_dtype(DType float_type);  // the inverse: f32, f16 or bf16 only

}  // namespace diecast
