// Handles as Python objects: `number` is the handle, which ends with the object or by close().
#pragma once

#include "python.h"

namespace diecast::python {

PyObject* make_handle(diecast_handle handle);  // takes it over
// 0 for a closed one; without an exception then: the library says what is wrong with 0.
diecast_handle handle_of(PyObject* object);

}  // namespace diecast::python
