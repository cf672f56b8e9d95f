// Calls of kernels of any template, with whatever tensors Python has.
#pragma once

#include "place.h"
#include "python.h"
#include "tensor.h"

namespace diecast::python {

// A call as Python makes it, without `device` and `stream`, which are None where they are left out.
// All references are borrowed.
struct KernelCall {
  PyObject *tensors, *named;  // a tuple, and a dict by name
  PyObject *device, *stream;
};
// The same in the order of the values, those with names last. Null: an exception is set.
Ref values_of(PyObject* tensors, PyObject* named);

// Makes a call. `form` and what is kept in it are _kernel.py's: the template's name, the name and
// traits of each value, the variants that were called, by key, and what prepares another. `variant`
// becomes the one that was called: its kernel, what makes the outputs that are left out, and the
// name and traits of each of them. Returns the outputs that it made, or None.
PyObject* call_kernel(PyObject* form, const KernelCall& call, Ref& variant);

// The type of diecast.Kernel's instances below Python's: how they are called. See launcher.cpp.
int add_launcher(PyObject* module);

}  // namespace diecast::python
