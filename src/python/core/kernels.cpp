// Kernels of any template: preparing one, and launching it with arguments by name.
#include "handles.h"
#include "place.h"
#include "runtime.h"
#include "tensor.h"

namespace diecast::python {
namespace {

constexpr int kMostArguments = 32;

PyObject* kernel_prepare(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0, device = 0;
  const char* spelling = nullptr;
  if (!PyArg_ParseTuple(arguments, "KKs", &runtime, &device, &spelling)) return nullptr;
  diecast_handle made = 0;
  const int code =
      without_gil([&] { return diecast_kernel_prepare(runtime, device, spelling, &made); });
  return code == diecast_ok ? make_handle(made) : raise_last();
}

PyObject* kernel_spelling(PyObject*, PyObject* kernel) {
  const diecast_handle handle = handle_of(kernel);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return text_of([&](diecast_text* text) { return diecast_kernel_spelling(handle, text); });
}

// A structure's bytes, a number by its Python type, a tensor otherwise.
bool argument_of(PyObject* value, bool is_structure, const char* op, diecast_argument& to,
                 TensorArgument& tensor) {
  if (is_structure) {
    char* bytes = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(value, &bytes, &size) != 0) return false;
    to.kind = DIECAST_BYTES;
    to.bytes = bytes;
    to.integer = size;
    return true;
  }
  if (PyLong_Check(value)) {
    to.kind = DIECAST_INTEGER;
    to.integer = PyLong_AsLongLong(value);
    return PyErr_Occurred() == nullptr;
  }
  if (PyFloat_Check(value)) {
    to.kind = DIECAST_NUMBER;
    to.number = PyFloat_AsDouble(value);
    return true;
  }
  to.kind = DIECAST_TENSOR;
  if (!tensor.read(value, op, to.name)) return false;
  to.tensor = tensor.get();
  return true;
}

// kernel_launch(kernel, template, {name: value}, names of those that are written, names of
// structures, device, stream)
PyObject* kernel_launch(PyObject*, PyObject* arguments) {
  PyObject *kernel = nullptr, *values = nullptr, *written = nullptr, *structures = nullptr,
           *device = nullptr, *stream = nullptr;
  const char* op = nullptr;
  if (!PyArg_ParseTuple(arguments, "OsO!OOOO", &kernel, &op, &PyDict_Type, &values, &written,
                        &structures, &device, &stream))
    return nullptr;
  const diecast_handle handle = handle_of(kernel);
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (PyDict_Size(values) > kMostArguments)
    return raise("invalid_argument", "the kernel is given too many arguments", "give each once");
  diecast_argument given[kMostArguments]{};
  TensorArgument tensors[kMostArguments];
  const TensorArgument* read[kMostArguments];
  int count = 0, tensor_count = 0;
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(values, &at, &name, &value) != 0; ++count) {
    given[count].name = PyUnicode_AsUTF8AndSize(name, nullptr);
    const int is_structure = PySequence_Contains(structures, name);
    if (given[count].name == nullptr || is_structure < 0 ||
        !argument_of(value, is_structure == 1, op, given[count], tensors[count]))
      return nullptr;
    if (given[count].kind != DIECAST_TENSOR) continue;
    read[tensor_count++] = &tensors[count];
    const int writes = PySequence_Contains(written, name);
    if (writes < 0) return nullptr;
    if (writes == 0 || !tensors[count].is_read_only()) continue;
    return raise_about("invalid_argument", op, given[count].name, "is read-only",
                       "pass memory to write to");
  }
  Place place;
  if (!place_of(place, device, stream, read, tensor_count, op)) return nullptr;
  const auto launch = [&] {
    return diecast_kernel_launch(handle, given, static_cast<std::size_t>(count), place.stream);
  };
  const int code = place.host ? without_gil(launch) : launch();
  if (code != diecast_ok) return raise_last();
  Py_RETURN_NONE;
}

// tensor_facts(object) -> (type code, bits, lanes, device type, device number, shape)
PyObject* tensor_facts(PyObject*, PyObject* object) {
  TensorArgument tensor;
  if (!tensor.read(object, "tensor", "it")) return nullptr;
  const diecast_tensor& of = *tensor.get();
  const Ref shape(PyTuple_New(of.ndim));
  for (int i = 0; shape && i < of.ndim; ++i)
    PyTuple_SetItem(shape.get(), i, PyLong_FromLongLong(of.shape[i]));
  if (!shape) return nullptr;
  return Py_BuildValue("iiiiiO", of.type_code, of.type_bits, of.type_lanes, of.device_type,
                       of.device_id, shape.get());
}

PyMethodDef methods[] = {{"kernel_prepare", kernel_prepare, METH_VARARGS, nullptr},
                         {"kernel_spelling", kernel_spelling, METH_O, nullptr},
                         {"kernel_launch", kernel_launch, METH_VARARGS, nullptr},
                         {"tensor_facts", tensor_facts, METH_O, nullptr},
                         {}};

}  // namespace

int add_kernels(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace diecast::python
