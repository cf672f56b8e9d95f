// The reference of pack_linear and unpack_linear.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/packed_linear.h>

#include <algorithm>
#include <cmath>

namespace diecast::reference {
namespace {

constexpr std::int64_t kSide = 64;              // rows and columns of a tile
constexpr int kOfNvfp4 = 0x38, kOfMxfp4 = 127;  // the scale bytes of 1

int one_of(Format format) { return format == Format::nvfp4 ? kOfNvfp4 : kOfMxfp4; }

// Bits of half-words: where the sign and the magnitude's bits of the first three pairs lie.
struct Place {
  int sign, magnitude;  // the highest of three neighbours
};

// Where pair 0 to 2 keeps the codes of its low and its high half-word in the word of 32 bits.
constexpr Place kPlaces[3][2] = {{{21, 14}, {5, 30}}, {{17, 10}, {1, 26}}, {{11, 4}, {27, 20}}};

void put(std::uint32_t& word, int bit, unsigned value) { word |= (value & 1u) << bit; }
unsigned at(std::uint32_t word, int bit) { return bit < 0 ? 0 : word >> bit & 1u; }

// The word of eight codes, codes[pair][half]. The last pair lies in what the others leave: bits b
// of word ^ word << 8 at its places 15, 8 to 6 of each half-word.
std::uint32_t word_of(const unsigned (&codes)[4][2]) {
  std::uint32_t word = 0;
  for (int pair = 0; pair < 3; ++pair)
    for (int half = 0; half < 2; ++half) {
      const Place place = kPlaces[pair][half];
      put(word, place.sign, codes[pair][half] >> 3);
      for (int i = 0; i < 3; ++i) put(word, place.magnitude - i, codes[pair][half] >> (2 - i));
    }
  for (int half = 0; half < 2; ++half) {
    const unsigned code = codes[3][half];
    for (const auto& [bit, value] :
         {std::pair(6, code), {7, code >> 1}, {8, code >> 2}, {15, code >> 3}}) {
      const int place = 16 * half + bit;
      // Bit 8 has another pair's code; what is 8 further down is free.
      if (bit == 8)
        put(word, place - 8, value ^ at(word, place));
      else
        put(word, place, value ^ at(word, place - 8));
    }
  }
  return word;
}

// The scale byte that a packed weight has for a positive scale.
std::uint8_t packed_scale(Format format, unsigned scale) {
  if (format == Format::mxfp4)
    return static_cast<std::uint8_t>(scale == 255 ? 255 : std::min(scale + 119, 254u));
  if (scale == 0x7F) return 255;
  // scale * 2^7 = (1 + m / 8) * 2^(e - 15), with e above m in the byte.
  int exponent = 0;
  const double fraction =
      std::frexp(decode_e4m3(static_cast<std::uint8_t>(scale)) * 128.0, &exponent);
  return static_cast<std::uint8_t>((exponent - 1 + 15) * 8 + static_cast<int>(fraction * 16) - 8);
}

// The weight's row that is packed as `row`.
std::int64_t source_of(std::int64_t row, std::int64_t rows, Gated gated) {
  const std::int64_t pair = row / 16 * 8 + row % 8;
  const bool up = row % 16 >= 8;
  if (gated == Gated::halves) return pair + (up ? rows / 2 : 0);
  return gated == Gated::alternate ? 2 * pair + (up ? 1 : 0) : row;
}

void count(PackedWeight& packed, std::size_t which, std::int64_t row) {
  ++packed.status[which];
  packed.status[which + 2] = std::min(packed.status[which + 2], static_cast<std::uint32_t>(row));
}

void count_scale(PackedWeight& packed, Format format, unsigned scale, std::int64_t row) {
  const bool mx = format == Format::mxfp4;
  if (mx ? scale < 2 || scale > 135 : scale == 0x7F) count(packed, 0, row);
  if (mx ? scale < 111 || scale > 135 : scale == 0x7F) count(packed, 1, row);
}

}  // namespace

unsigned CheckpointWeight::code(std::int64_t row, std::int64_t col) const {
  return codes[static_cast<std::size_t>((row * cols + col) / 2)] >> (col % 2 * 4) & 15u;
}

float CheckpointWeight::value(std::int64_t row, std::int64_t col) const {
  const std::uint8_t scale =
      scales[static_cast<std::size_t>(row * blocks() + col / block_of(format))];
  const float by = format == Format::nvfp4 ? decode_e4m3(scale) : decode_e8m0(scale);
  return decode_e2m1(static_cast<std::uint8_t>(code(row, col))) * by;
}

CheckpointWeight unpacked(const CheckpointWeight& weight) {
  CheckpointWeight out = weight;
  const std::int64_t bytes = block_of(weight.format) / 2;  // of a block's codes
  for (std::size_t i = 0; i < out.scales.size(); ++i) {
    std::uint8_t& scale = out.scales[i];
    const auto first = out.codes.begin() + static_cast<std::int64_t>(i) * bytes;
    const bool zero = std::all_of(first, first + bytes, [](unsigned b) { return (b & 0x77) == 0; });
    if (weight.format == Format::mxfp4) {
      if (zero && scale != 255 && (scale < 111 || scale > 135)) scale = kOfMxfp4;
      continue;
    }
    const bool none = (scale & 0x7F) == 0;
    std::for_each(first, first + bytes, [&](std::uint8_t& byte) {
      byte = none ? 0 : scale & 0x80 ? byte ^ 0x88 : byte;
    });
    scale = none ? kOfNvfp4 : scale & 0x7F;
  }
  return out;
}

PackedWeight pack_linear(const CheckpointWeight& given, Gated gated) {
  const CheckpointWeight weight = unpacked(given);
  const std::int64_t block = block_of(weight.format), blocks = kSide / block;
  const std::int64_t tile_bytes = kSide * kSide / 2 + kSide * blocks;
  const std::int64_t bands = ceil_div(weight.rows, kSide), tiles = ceil_div(weight.cols, kSide);
  PackedWeight out;
  out.bytes.resize(static_cast<std::size_t>(bands * tiles * tile_bytes));
  const auto inside = [&](std::int64_t row, std::int64_t col) {
    return row < weight.rows && col < weight.cols;
  };
  const auto code = [&](std::int64_t row, std::int64_t col) {
    return inside(row, col) ? weight.code(source_of(row, weight.rows, gated), col) : 0;
  };
  for (std::int64_t tile = 0; tile < bands * tiles; ++tile) {
    const std::int64_t first_row = tile / tiles * kSide, first_col = tile % tiles * kSide;
    std::uint8_t* to = out.bytes.data() + tile * tile_bytes;
    for (int i = 0; i < 512; ++i) {  // words: of 128 threads, 4 steps
      const std::int64_t row = first_row + i / 128 * 16 + i / 16 % 8;
      const std::int64_t col = first_col + i % 4 * 16 + i / 4 % 4 * 2;
      unsigned codes[4][2];
      for (int pair = 0; pair < 4; ++pair)
        for (int half = 0; half < 2; ++half)
          codes[pair][half] = code(row + pair % 2 * 8, col + pair / 2 * 8 + half);
      const std::uint32_t word = word_of(codes);
      for (int byte = 0; byte < 4; ++byte) *to++ = static_cast<std::uint8_t>(word >> (8 * byte));
    }
    for (int i = 0; i < kSide * blocks; ++i) {  // bytes: of 32 pairs of rows
      const std::int64_t word = i / 4, of_pair = blocks / 2, pair = word / of_pair;
      const std::int64_t row = first_row + pair / 8 * 16 + pair % 8 + i / 2 % 2 * 8;
      const std::int64_t at_block = word % of_pair * 2 + i % 2;
      unsigned scale = static_cast<unsigned>(one_of(weight.format));
      if (inside(row, first_col + at_block * block)) {
        const std::int64_t source = source_of(row, weight.rows, gated);
        scale = weight.scales[static_cast<std::size_t>(source * weight.blocks() +
                                                       first_col / block + at_block)];
        count_scale(out, weight.format, scale, source);
      }
      *to++ = packed_scale(weight.format, scale);
    }
  }
  return out;
}

}  // namespace diecast::reference
