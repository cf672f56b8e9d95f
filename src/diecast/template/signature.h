// What DIECAST_KERNEL stands for: the kernel's entry, which takes raw parameters, and the head of
// the body, which sees them by name. Not a public header.
#pragma once

#include <diecast/base/error.h>
#include <diecast/template/specialization.h>

#include <string>

namespace diecast {

// One line, without the `#define DIECAST_KERNEL`.
Result<std::string> kernel_head(const Specialization& specialization);

}  // namespace diecast
