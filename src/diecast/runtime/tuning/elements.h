// The elements of tensors as bits, as numbers and as text.
#pragma once

#include <diecast/base/hash.h>
#include <diecast/template/value.h>

#include <cstdint>
#include <optional>
#include <string>

namespace diecast {

// Element `index` of dense elements.
std::uint64_t element_bits(DType type, ByteSpan elements, std::size_t index);

// Bits of a float's fraction; none of what is an integer or a scale (e8m0).
std::optional<int> fraction_bits(DType type);
// What a float is. `type` has fraction_bits().
double float_value(DType type, std::uint64_t bits);
// A NaN of any kind.
bool is_nan(DType type, std::uint64_t bits);

// The shortest decimal that says which element it is: "-0.1", "7", "nan".
std::string element_text(DType type, std::uint64_t bits);

// How many values of the type lie from one to the other, neither a NaN: of floats the ulps.
std::uint64_t steps_between(DType type, std::uint64_t a, std::uint64_t b);

}  // namespace diecast
