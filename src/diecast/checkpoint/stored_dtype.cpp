// One row a type: its spelling in a header and its width.
#include <diecast/checkpoint/stored_dtype.h>

#include <array>

namespace diecast {
namespace {

struct Row {
  std::string_view name;
  int bits;
};

constexpr std::array<Row, 22> kRows = {{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
}};
static_assert(kRows.size() == static_cast<std::size_t>(StoredDType::u64) + 1);

const Row& row(StoredDType type) { return kRows[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view stored_dtype_name(StoredDType type) { return row(type).name; }

std::optional<StoredDType> parse_stored_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<StoredDType>(i);
  }
  return std::nullopt;
}

int stored_dtype_bits(StoredDType type) { return row(type).bits; }

std::optional<DType> float_dtype(StoredDType type) {
  switch (type) {
    case StoredDType::f32:
      return DType::f32;
    case StoredDType::f16:
      return DType::f16;
    case StoredDType::bf16:
      return DType::bf16;
    default:
      return std::nullopt;
  }
}

StoredDType stored_dtype(DType float_type) {
  if (float_type == DType::bf16) return StoredDType::bf16;
  return float_type == DType::f16 ? StoredDType::f16 : StoredDType::f32;
}

}  // namespace diecast
