// What verify says, for programs.
#pragma once

#include <diecast/checkpoint/verify/verify.h>

#include <nlohmann/json.hpp>

namespace diecast {

// {"quantized", "others", "engines": {"vllm": {"version", "loads"}}, "notes", "faults":
// [{"engines", "what", "fix", "count"}]}. loads is null where an engine's rules are not known.
nlohmann::ordered_json report_json(const VerifyReport& report);

}  // namespace diecast
