// The number by which a runtime keeps a prepared op: the op's kind in the low byte, then every
// field of its request, each in bits of its own. A convenience call makes one each time: no branch.
#pragma once

#include <cstdint>

namespace diecast {

// Numbers the kinds of prepared ops, so that their requests stay apart in the runtime's store.
enum class OpKind : std::uint8_t {
  amax = 1,
  quantize_nvfp4,
  dequantize_nvfp4,
  arrange_scales = 16,
  transpose_codes,
  transpose_nvfp4,
  quantize_nvfp4_tiles,
  describe_group,
  amax_grouped,
  quantize_nvfp4_grouped,
  gemm_nvfp4,
  gemm_cublaslt,
  quantize_mx = 32,
  dequantize_mx,
  compute_fp4_scales,
  static_blockwise_fp4_fake_quant,
  fp4_fake_quant_block,
  quantize_mx_grouped
};

// Of a request with a value that does not fit its field, as one that its enum does not have. No op
// is kept by this word, so that such a value cannot pass for another field's.
inline constexpr std::uint64_t kNoWord = 0;

// A word of which kUsed bits are taken.
template <int kUsed>
struct RequestWord {
  std::uint64_t bits = 0;
  std::uint64_t lost = 0;  // not 0: a value had more bits than its field

  template <int kBits, class Value>
  constexpr RequestWord<kUsed + kBits> add(Value value) const {
    static_assert(kBits > 0 && kUsed + kBits <= 64);
    const auto number = static_cast<std::uint64_t>(value);
    return {bits | number << kUsed, lost | number >> kBits};
  }
  constexpr std::uint64_t word() const { return lost == 0 ? bits : kNoWord; }
};

constexpr RequestWord<8> request_word(OpKind kind) { return {static_cast<std::uint64_t>(kind)}; }

}  // namespace diecast
