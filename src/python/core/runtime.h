// Functions of the module on runtimes, templates, devices and checkpoints.
#pragma once

#include "python.h"

namespace diecast::python {

int add_runtime(PyObject* module);
int add_kernels(PyObject* module);

}  // namespace diecast::python
