// What DIECAST_KERNEL stands for: the kernel's entry, which takes raw parameters, and the head of
// the body, which sees them by name. Not a public header.
#pragma once

#include <diecast/base/error.h>
#include <diecast/template/build_kind.h>
#include <diecast/template/specialization.h>

#include <string>

namespace diecast {

// A name of the header's expressions as the source spells it: `host` is DIECAST_HOST, an element
// type its number.
std::string cpp_name(const Template& tmpl, std::string_view name);

// One line, without the `#define DIECAST_KERNEL`. In a debug build the body's tensors are checked
// pointers (diecast/device/base/checked.h).
Result<std::string> kernel_head(const Specialization& specialization, BuildKind build);

}  // namespace diecast
