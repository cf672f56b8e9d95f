// Whether engines load a folder, as users read it.
#pragma once

#include <diecast/checkpoint/verify/verify.h>

namespace diecast::tool {

// The faults with their fixes, and a line for each engine.
void print_verdict(const VerifyReport& report);

}  // namespace diecast::tool
