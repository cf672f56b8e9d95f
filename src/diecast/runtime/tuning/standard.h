// The configuration that a template has without tunes: the one that others are held against.
#pragma once

#include <diecast/template/specialization.h>

#include <memory>

namespace diecast {

// Options and shapes of `bindings`, tunes of `held`, others at their defaults; where those break a
// requirement (too few threads for this row, say), the first of the header's space that breaks
// none. Errors: those of Specialization::make().
Result<Specialization> standard_configuration(std::shared_ptr<const Template> tmpl,
                                              const Bindings& bindings, const Bindings& held,
                                              const Target& target);

}  // namespace diecast
