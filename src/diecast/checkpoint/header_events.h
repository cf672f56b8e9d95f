// The JSON of a safetensors header: its grammar, types and limits, before any number in it is
// believed.
#pragma once

#include <diecast/checkpoint/safetensors_header.h>

#include <string>
#include <string_view>

namespace diecast {

// Fills `tensors` (in the order of the text) and `metadata`. Returns what is wrong with the text,
// or nothing. With `strict` a field of a tensor that the format does not know is wrong.
std::string read_entries(std::string_view json, bool strict, SafetensorsHeader& header);

}  // namespace diecast
