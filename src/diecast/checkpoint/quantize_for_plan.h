// The plan of weights that follow a folder's config. Internal to QuantizeFor.
#pragma once

#include <diecast/checkpoint/quantize_for.h>

#include <span>
#include <string_view>

namespace diecast {

// What is quantized, as the config says, in groups that share a scale; nothing else. Errors: as
// QuantizeFor::prepare()'s.
Result<Plan> plan_quantize_for(std::string_view config, std::span<const NewWeight> weights,
                               const QuantizeForOptions& options);

}  // namespace diecast
