// The small number formats, the slow and obvious way: a table of a format's values, and the nearest
// of them by exact comparison. The truth the kernels' conversions are tested against; the two share
// no line.
#pragma once

#include <diecast/template/value.h>

#include <cstdint>

namespace diecast::reference {

// E2M1, low four bits of a byte: 0, 0.5, 1, 1.5, 2, 3, 4, 6; bit 3 is the sign; no infinity, no
// NaN. Encoding rounds to nearest even and saturates to 6. NaN of either sign becomes code 7; -0
// and negative values that round to zero become code 8.
float decode_e2m1(std::uint8_t code);
std::uint8_t encode_e2m1(float x);

// E4M3: bias 7, subnormals of 2^-9, largest 448, no infinity, NaN 0x7F and 0xFF. Encoding rounds to
// nearest even and saturates to 448. NaN of either sign becomes 0x7F.
float decode_e4m3(std::uint8_t byte);
std::uint8_t encode_e4m3(float x);

// E5M2: bias 15, subnormals of 2^-16, largest 57344; the upper half of an f16, so 0x7C and 0xFC are
// infinities and what is above them NaN. Encoding rounds to nearest even and saturates to 57344,
// infinity too. NaN of either sign becomes 0x7F.
float decode_e5m2(std::uint8_t byte);
std::uint8_t encode_e5m2(float x);

// E8M0: 2^(byte - 127); 255 is NaN. Encoding ignores the sign and rounds up to the next power of
// two, at most 2^127, at least 2^-127; NaN becomes 255.
float decode_e8m0(std::uint8_t byte);
std::uint8_t encode_e8m0(float x);

// The 16-bit formats: IEEE rounding to nearest even, overflow to infinity. NaN of either sign
// becomes 0x7FFF; decoding gives a NaN for every NaN.
float decode_bf16(std::uint16_t bits);
std::uint16_t encode_bf16(float x);
float decode_f16(std::uint16_t bits);
std::uint16_t encode_f16(float x);

// Element `index` of an array of f32, bf16, f16 or e4m3 in host memory, as the float it exactly is;
// and the nearest element to a float, NaN as CUDA computes it (0x7FFFFFFF, 0x7FFF). Other types:
// NaN, and nothing is stored.
float load(const void* array, DType type, std::int64_t index);
void store(void* array, DType type, std::int64_t index, float value);

}  // namespace diecast::reference
