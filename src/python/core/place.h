// Where a call's work goes: the runtime, the device and the stream.
#pragma once

#include "python.h"
#include "tensor.h"

namespace diecast::python {

// The process's own runtime, made at its first use from the environment; 0: an exception is set.
diecast_handle default_runtime();
// The handle behind a diecast.Runtime (its `handle`; 0 if it is closed), or the default one for
// null and None. An exception may be set.
diecast_handle runtime_of(PyObject* object);

// The stream of a keyword: an int, or an object that has its stream's address somewhere. False: an
// exception is set.
bool stream_of(PyObject* object, void*& stream);

struct Place {
  diecast_handle device = 0;
  void* stream = nullptr;
  bool host = false;
};
// What the keywords `device` and `stream` (null: not given) and the call's tensors say. CPU tensors
// are worked on only where device = "host" says so. False: an exception is set.
bool place_of(Place& place, PyObject* device, PyObject* stream,
              const TensorArgument* const* tensors, int count, const char* op);

// The handle of the host device or of a CUDA device, opened once; 0: an exception is set.
diecast_handle host_device();
diecast_handle cuda_device(int ordinal);
// The same where it was opened before; else 0, without an exception. Needs no lock of Python's.
diecast_handle opened_cuda_device(int ordinal);

// Python: default_runtime_handle(), close_default_runtime() as the process ends,
// device_handle(device) and set_current_stream(function), which asks a tensor's framework.
PyObject* default_runtime_handle(PyObject*, PyObject*);
PyObject* close_default_runtime(PyObject*, PyObject*);
PyObject* device_handle(PyObject*, PyObject* device);
PyObject* set_current_stream(PyObject*, PyObject* function);
// set_find_nvrtc(function), which gives the path of the NVRTC of Python's packages, or None.
PyObject* set_find_nvrtc(PyObject*, PyObject* function);

}  // namespace diecast::python
