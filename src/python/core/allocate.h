// Tensors that calls make themselves, by the framework of a tensor that they were given.
#pragma once

#include "python.h"

namespace diecast::python {

// An uninitialised tensor of an output's type and shape, of the framework and device of `like`.
// Null: an exception is set.
PyObject* allocate(PyObject* like, const diecast_output& output);
// Python: set_allocator(function) gives diecast._frameworks.allocator.
PyObject* set_allocator(PyObject*, PyObject* function);

}  // namespace diecast::python
