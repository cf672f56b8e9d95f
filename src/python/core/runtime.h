// Functions of the module on runtimes, templates, devices, checkpoints and sharded weights.
#pragma once

#include "python.h"

namespace diecast::python {

int add_runtime(PyObject* module);
int add_kernels(PyObject* module);
int add_weights(PyObject* module);
int add_quantize_for(PyObject* module);

}  // namespace diecast::python
