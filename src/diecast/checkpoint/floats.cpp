// Every loop reads through memcpy: tensors in a file start at any byte.
#include <diecast/checkpoint/floats.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace diecast {
namespace {

template <class Word>
Word word_at(ByteSpan bytes, std::size_t index) {
  Word word;
  std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
  return word;
}

// `infinity`: the magnitude bits of infinity; everything above is NaN. Nearly every block has none:
// its largest magnitude says so, and a signed maximum is one instruction on every machine.
template <class Word>
Nonfinite count_words(ByteSpan bytes, Word infinity) {
  constexpr std::size_t kBlock = 2048;
  std::array<Word, kBlock> block;
  Nonfinite found;
  for (std::size_t first = 0; first < bytes.size(); first += sizeof block) {
    const std::size_t size = std::min(sizeof block, bytes.size() - first);
    std::memcpy(block.data(), bytes.data() + first, size);
    std::fill(block.begin() + static_cast<std::ptrdiff_t>(size / sizeof(Word)), block.end(),
              Word{0});
    Word largest = 0;
    for (Word& word : block) {
      word = static_cast<Word>(word & std::numeric_limits<Word>::max());
      largest = std::max(largest, word);
    }
    if (largest < infinity) continue;
    for (const Word word : block) {
      found.nan += word > infinity;
      found.infinite += word == infinity;
    }
  }
  return found;
}

float from_f16(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7FFFu;
  if (magnitude >= 0x7C00)
    return std::bit_cast<float>(sign | 0x7F800000u | (magnitude & 0x3FF) << 13);
  // Exponents move from bias 15 to bias 127; the product also normalizes subnormals.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

}  // namespace

void widen(ByteSpan bytes, DType type, std::vector<float>& out) {
  out.resize(bytes.size() / static_cast<std::size_t>(dtype_bits(type) / 8));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (type == DType::f32) {
      out[i] = word_at<float>(bytes, i);
    } else if (type == DType::f16) {
      out[i] = from_f16(word_at<std::uint16_t>(bytes, i));
    } else {
      out[i] = std::bit_cast<float>(std::uint32_t{word_at<std::uint16_t>(bytes, i)} << 16);
    }
  }
}

Nonfinite count_nonfinite(ByteSpan bytes, DType type) {
  if (type == DType::f32) return count_words<std::int32_t>(bytes, 0x7F800000);
  return count_words<std::int16_t>(bytes, type == DType::f16 ? 0x7C00 : 0x7F80);
}

}  // namespace diecast
