// Prepared ops of the module.
#pragma once

#include "python.h"

namespace diecast::python {

PyObject* prepare(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names);

}  // namespace diecast::python
