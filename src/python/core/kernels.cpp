// Kernels of any template: preparing one, and calling it with whatever tensors Python has.
#include <vector>

#include "allocate.h"
#include "handles.h"
#include "kernel_call.h"
#include "runtime.h"

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

// The arguments of one launch, as they are read.
class Arguments {
 public:
  explicit Arguments(const char* op) : op_(op) {}

  // `argument`: its name and traits. False: an exception is set.
  bool add(PyObject* value, PyObject* argument);
  // A number for the kind of the last one that was added: its type, dimensions and device.
  std::int64_t kind() const;
  bool last_is_tensor() const { return given_[count_ - 1].kind == DIECAST_TENSOR; }
  bool launch(diecast_handle kernel, PyObject* device, PyObject* stream);

 private:
  bool add_structure(PyObject* value, diecast_argument& to);
  bool add_number(PyObject* value, diecast_argument& to);
  bool add_tensor(PyObject* value, bool written, diecast_argument& to);

  const char* op_;
  diecast_argument given_[kMostArguments]{};
  TensorArgument tensors_[kMostArguments];
  const TensorArgument* read_[kMostArguments];
  Ref structures_[kMostArguments];  // their bytes
  int count_ = 0, tensor_count_ = 0;
};

bool Arguments::add_structure(PyObject* value, diecast_argument& to) {
  const Ref view(PyMemoryView_FromObject(value));
  if (!view) return false;
  structures_[count_] = Ref(PyBytes_FromObject(view.get()));
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (!structures_[count_] ||
      PyBytes_AsStringAndSize(structures_[count_].get(), &bytes, &size) != 0)
    return false;
  to.kind = DIECAST_BYTES;
  to.bytes = bytes;
  to.integer = size;
  return true;
}

// A number goes by its Python type, or as what converts to one. A tensor does not, even one of no
// dimensions: it may lie on a GPU, and reading it would wait.
bool Arguments::add_number(PyObject* value, diecast_argument& to) {
  const bool tensor = PyObject_HasAttrString(value, "__dlpack__") != 0;
  if (!tensor && PyIndex_Check(value) != 0) {
    to.kind = DIECAST_INTEGER;
    const Ref whole(PyNumber_Index(value));
    return whole && integer_of(whole.get(), to.integer, op_, to.name);
  }
  to.kind = DIECAST_NUMBER;
  to.number = tensor ? -1 : PyFloat_AsDouble(value);
  if (!tensor && PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  raise_about("dtype_mismatch", op_, to.name, "is no number",
              tensor ? "pass its .item()" : "pass an int or a float");
  return false;
}

bool Arguments::add_tensor(PyObject* value, bool written, diecast_argument& to) {
  TensorArgument& tensor = tensors_[count_];
  if (!tensor.read(value, op_, to.name)) return false;
  if (written && tensor.is_read_only()) {
    raise_about("invalid_argument", op_, to.name, "is read-only", "pass memory to write to");
    return false;
  }
  to.kind = DIECAST_TENSOR;
  to.tensor = tensor.get();
  read_[tensor_count_++] = &tensor;
  return true;
}

bool Arguments::add(PyObject* value, PyObject* argument) {
  if (count_ == kMostArguments) {
    raise("invalid_argument", "the kernel is given too many arguments", "give each once");
    return false;
  }
  diecast_argument& to = given_[count_];
  to.name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(argument, 0), nullptr);
  const long traits = PyLong_AsLong(PyTuple_GetItem(argument, 1));
  bool read = true;
  if ((traits & kStructure) != 0) {
    read = add_structure(value, to);
  } else if ((traits & kNumber) != 0) {
    read = add_number(value, to);
  } else {
    read = add_tensor(value, (traits & kWritten) != 0, to);
  }
  ++count_;
  return read;
}

std::int64_t Arguments::kind() const {
  const diecast_argument& last = given_[count_ - 1];
  return last.kind == DIECAST_TENSOR ? kind_of(*last.tensor) : last.kind;
}

bool Arguments::launch(diecast_handle kernel, PyObject* device, PyObject* stream) {
  Place place;
  if (!place_of(place, device, stream, read_, tensor_count_, op_)) return false;
  const auto launch = [&] {
    return diecast_kernel_launch(kernel, given_, static_cast<std::size_t>(count_), place.stream);
  };
  const int code = place.host ? without_gil(launch) : launch();
  return code == diecast_ok || raise_last() != nullptr;
}

// What calls of one form have in common, as _kernel.py made it: the template's name, the name and
// traits of each value, the variants that were called, by key, and what prepares another.
struct Form {
  PyObject *arguments, *variants, *prepare;
  const char* op;

  static Form of(PyObject* tuple) {
    return {PyTuple_GetItem(tuple, 1), PyTuple_GetItem(tuple, 2), PyTuple_GetItem(tuple, 3),
            PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, 0), nullptr)};
  }
};

// Reads the values of a call. Calls that a variant serves have one key: the kinds of tensors and
// numbers, parameters themselves, the type of the first tensor and the device.
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
      kind = Ref(PyLong_FromLongLong(to.kind()));
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

std::int64_t kind_of(const diecast_tensor& tensor) {
  return tensor.type_code | tensor.type_bits << 8 | std::int64_t{tensor.ndim} << 16 |
         std::int64_t{tensor.device_type} << 24 | std::int64_t{tensor.device_id} << 32;
}

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
  if (!tensor.read(object, op, name)) return nullptr;
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
