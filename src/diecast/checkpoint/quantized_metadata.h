// What the metadata of a quantized file say of its weights. Internal to plan_dequantize().
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/plan.h>

#include <map>
#include <optional>
#include <string>

namespace diecast {

// Names of quantized weights with the type they had; no type where the file does not say.
using Types = std::map<std::string, std::optional<DType>>;

bool is_ours(const Metadata& metadata);

// Of ours: that weights are MX, which have no profile and are read as those of other tools are.
bool says_mx(const Metadata& metadata);

// Of ours. Errors: not_supported (another format or profile), file_corrupt (no names with types).
Result<Types> types_of_metadata(const Metadata& metadata);

// A file that is not what it says; `ours`: our metadata do.
Error corrupt(std::string what, bool ours = true);

}  // namespace diecast
