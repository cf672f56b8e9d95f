// Kernels of any template: preparing one, and calling it with whatever tensors Python has.
#include <vector>

#include "allocate.h"
#include "handles.h"
#include "kernel_arguments.h"
#include "kernel_call.h"
#include "runtime.h"

namespace diecast::python {
namespace {

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

// What calls of one form have in common, as _kernel.py made it: the template's name, the name and
// traits of each value and the dimensions that fix parameters, the variants that were called, by
// key, and what prepares another.
struct Form {
  PyObject *arguments, *variants, *prepare;
  const char* op;

  static Form of(PyObject* tuple) {
    return {PyTuple_GetItem(tuple, 1), PyTuple_GetItem(tuple, 2), PyTuple_GetItem(tuple, 3),
            PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, 0), nullptr)};
  }
};

// Reads the values of a call. Calls that a variant serves have one key: the kinds of tensors and
// numbers, extents that fix parameters, parameters themselves, the type of the first tensor and the
// device.
Ref read_all(const Form& form, PyObject* values, PyObject* device, Arguments& to) {
  const Py_ssize_t count = PyTuple_Size(values);
  Ref key(PyTuple_New(count + 2));
  PyObject* type = Py_None;  // of the first tensor
  for (Py_ssize_t i = 0; key && i < count; ++i) {
    PyObject* const value = PyTuple_GetItem(values, i);
    PyObject* const argument = PyTuple_GetItem(form.arguments, i);
    const long traits = PyLong_AsLong(PyTuple_GetItem(argument, 1));
    PyObject* part = value;
    Ref kind;
    if (value != Py_None && (traits & kParameter) == 0) {
      if (!to.add(value, argument)) return {};
      if (type == Py_None && to.last_is_tensor())
        type = reinterpret_cast<PyObject*>(Py_TYPE(value));
      kind = to.kind(argument);
      part = kind.get();
      if (part == nullptr) return {};
    }
    PyTuple_SetItem(key.get(), i, Py_NewRef(part));
  }
  if (!key) return key;
  PyTuple_SetItem(key.get(), count, Py_NewRef(type));
  PyTuple_SetItem(key.get(), count + 1, Py_NewRef(device));
  return key;
}

// The variant of a key: its kernel, what makes the outputs that are left out, their names and
// traits.
Ref variant_of(const Form& form, PyObject* key, PyObject* tensors, PyObject* named,
               PyObject* device) {
  PyObject* const known = PyDict_GetItemWithError(form.variants, key);
  if (known != nullptr || PyErr_Occurred() != nullptr) return Ref(Py_XNewRef(known));
  Ref made(PyObject_CallFunctionObjArgs(form.prepare, tensors, named, device, nullptr));
  if (made && PyDict_SetItem(form.variants, key, made.get()) != 0) return {};
  return made;
}

}  // namespace

Ref values_of(PyObject* tensors, PyObject* named) {
  const Py_ssize_t first = PyTuple_Size(tensors);
  Ref all(PyTuple_New(first + PyDict_Size(named)));
  for (Py_ssize_t i = 0; all && i < first; ++i)
    PyTuple_SetItem(all.get(), i, Py_NewRef(PyTuple_GetItem(tensors, i)));
  PyObject *name = nullptr, *value = nullptr;
  Py_ssize_t at = 0, to = first;
  while (all && PyDict_Next(named, &at, &name, &value) != 0)
    PyTuple_SetItem(all.get(), to++, Py_NewRef(value));
  return all;
}

PyObject* call_kernel(PyObject* its_form, const KernelCall& call, Ref& variant) {
  const Form form = Form::of(its_form);
  Arguments given(form.op);
  const Ref values = values_of(call.tensors, call.named);
  if (!values) return nullptr;
  const Ref key = read_all(form, values.get(), call.device, given);
  if (!key) return nullptr;
  variant = variant_of(form, key.get(), call.tensors, call.named, call.device);
  if (!variant) return nullptr;
  const diecast_handle kernel = handle_of(PyTuple_GetItem(variant.get(), 0));
  PyObject* const make = PyTuple_GetItem(variant.get(), 1);
  PyObject* const names = PyTuple_GetItem(variant.get(), 2);
  if (make == nullptr || names == nullptr || PyErr_Occurred() != nullptr) return nullptr;
  const Py_ssize_t made = PyTuple_Size(names);
  Ref outputs = Ref::borrow(Py_None);  // one output, or a tuple of several
  if (made > 0) outputs = Ref(PyObject_CallFunctionObjArgs(make, values.get(), nullptr));
  if (!outputs) return nullptr;
  for (Py_ssize_t i = 0; i < made; ++i) {
    PyObject* const one = made == 1 ? outputs.get() : PyTuple_GetItem(outputs.get(), i);
    if (one == nullptr || !given.add(one, PyTuple_GetItem(names, i))) return nullptr;
  }
  return given.launch(kernel, call.device, call.stream) ? outputs.release() : nullptr;
}

namespace {

// tensor_facts(object, kernel, name) -> (type code, bits, lanes, device type, device number, shape)
PyObject* tensor_facts(PyObject*, PyObject* arguments) {
  PyObject* object = nullptr;
  const char *op = nullptr, *name = nullptr;
  if (!PyArg_ParseTuple(arguments, "Oss", &object, &op, &name)) return nullptr;
  TensorArgument tensor;
  if (!tensor.read(object, op, name, false)) return nullptr;
  const diecast_tensor& of = *tensor.get();
  const Ref shape(PyTuple_New(of.ndim));
  for (int i = 0; shape && i < of.ndim; ++i)
    PyTuple_SetItem(shape.get(), i, PyLong_FromLongLong(of.shape[i]));
  if (!shape) return nullptr;
  return Py_BuildValue("iiiiiO", of.type_code, of.type_bits, of.type_lanes, of.device_type,
                       of.device_id, shape.get());
}

// kernel_output(kernel, name, sizes, like) -> a tensor of the type and shape that the header gives
// this one, from sizes by name, of the framework and device of `like`
PyObject* kernel_output(PyObject*, PyObject* arguments) {
  PyObject *kernel = nullptr, *sizes = nullptr, *like = nullptr;
  const char* argument = nullptr;
  if (!PyArg_ParseTuple(arguments, "OsO!O", &kernel, &argument, &PyDict_Type, &sizes, &like))
    return nullptr;
  const diecast_handle handle = handle_of(kernel);
  if (PyErr_Occurred() != nullptr) return nullptr;
  std::vector<diecast_argument> given;
  PyObject *name = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(sizes, &at, &name, &value) != 0) {
    const char* const word = PyUnicode_AsUTF8AndSize(name, nullptr);
    given.push_back({word, DIECAST_SIZE, nullptr, 0, 0, nullptr});
    if (word == nullptr || !integer_of(value, given.back().integer, argument, word)) return nullptr;
  }
  diecast_output output{};
  if (diecast_kernel_output(handle, argument, given.data(), given.size(), &output) != diecast_ok)
    return raise_last();
  return allocate(like, output);
}

PyMethodDef methods[] = {{"kernel_prepare", kernel_prepare, METH_VARARGS, nullptr},
                         {"kernel_spelling", kernel_spelling, METH_O, nullptr},
                         {"kernel_output", kernel_output, METH_VARARGS, nullptr},
                         {"tensor_facts", tensor_facts, METH_VARARGS, nullptr},
                         {}};

}  // namespace

int add_kernels(PyObject* module) {
  return add_launcher(module) != 0 ? -1 : PyModule_AddFunctions(module, methods);
}

}  // namespace diecast::python
