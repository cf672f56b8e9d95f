// Functions of the module on runtimes, templates, devices, checkpoints and sharded weights.
#pragma once

#include "python.h"

namespace diecast::python {

// Runs what gives a code without the lock. Null: an exception is set.
template <class Function>
PyObject* none_of(Function&& function) {
  if (without_gil(function) != diecast_ok) return raise_last();
  Py_RETURN_NONE;
}

int add_runtime(PyObject* module);
int add_folders(PyObject* module);
int add_kernels(PyObject* module);
int add_weights(PyObject* module);
int add_quantize_for(PyObject* module);

}  // namespace diecast::python
