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

// Of magnitudes as their bits, which compare as they do.
template <class Word>
struct WordScan {
  Nonfinite nonfinite;
  Word largest = 0;
};

template <class Word>
Word magnitude_at(ByteSpan bytes, std::size_t index) {
  return static_cast<Word>(word_at<Word>(bytes, index) & std::numeric_limits<Word>::max());
}

constexpr std::size_t kScanned = 2048;  // words at a time, a number that the compiler knows

// `infinity`: its magnitude bits; everything above is NaN. Nearly every block has none: its largest
// magnitude says so, and a signed maximum is one instruction on every machine.
template <class Word>
void scan_block(ByteSpan block, Word infinity, WordScan<Word>& found) {
  Word largest = 0;
  for (std::size_t i = 0; i < kScanned; ++i)
    largest = std::max(largest, magnitude_at<Word>(block, i));
  if (largest < infinity) {
    found.largest = std::max(found.largest, largest);
    return;
  }
  for (std::size_t i = 0; i < kScanned; ++i) {
    const Word word = magnitude_at<Word>(block, i);
    found.nonfinite.nan += word > infinity;
    found.nonfinite.infinite += word == infinity;
    if (word <= infinity) found.largest = std::max(found.largest, word);
  }
}

template <class Word>
WordScan<Word> scan_words(ByteSpan bytes, Word infinity) {
  constexpr std::size_t kBytes = kScanned * sizeof(Word);
  WordScan<Word> found;
  for (; bytes.size() >= kBytes; bytes = bytes.subspan(kBytes))
    scan_block(bytes.first(kBytes), infinity, found);
  std::array<std::byte, kBytes> last = {};
  std::ranges::copy(bytes.first(bytes.size() / sizeof(Word) * sizeof(Word)), last.begin());
  if (!bytes.empty()) scan_block<Word>(last, infinity, found);
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

FloatScan scan_floats(ByteSpan bytes, DType type) {
  if (type == DType::f32) {
    const auto found = scan_words<std::int32_t>(bytes, 0x7F800000);
    return {found.nonfinite, std::bit_cast<float>(found.largest)};
  }
  const auto found = scan_words<std::int16_t>(bytes, type == DType::f16 ? 0x7C00 : 0x7F80);
  const auto largest = static_cast<std::uint16_t>(found.largest);
  return {found.nonfinite, type == DType::f16 ? from_f16(largest)
                                              : std::bit_cast<float>(std::uint32_t{largest} << 16)};
}

Nonfinite count_nonfinite(ByteSpan bytes, DType type) { return scan_floats(bytes, type).nonfinite; }

}  // namespace diecast
