// From Python's arguments to the structures of the C interface; see ops.h.
#include <cstdio>
#include <new>

#include "ops.h"

namespace diecast::python {
namespace {

bool same(PyObject* name, PyObject* known) {
  return name == known || PyUnicode_Compare(name, known) == 0;
}

bool wrong_option(const char* op, const diecast_op_option& option, const char* what) {
  raise_about("dtype_mismatch", op, option.name, what, option.what);
  return false;
}

PyObject* allocate_function = nullptr;  // _frameworks.allocate

Ref shape_of(const diecast_output& output) {
  Ref shape(PyTuple_New(output.ndim));
  for (int d = 0; d < output.ndim; ++d)
    PyTuple_SetItem(shape.get(), d, PyLong_FromLongLong(output.shape[d]));
  return shape;
}

}  // namespace

PyObject* set_allocate(PyObject*, PyObject* function) {
  Ref old(allocate_function);
  allocate_function = Py_NewRef(function);
  Py_RETURN_NONE;
}

void Options::set_defaults(const diecast_op_info& info) {
  size = sizeof(std::size_t) * (1 + info.option_count);
  for (std::size_t i = 0; i < info.option_count; ++i) {
    const diecast_op_option& option = info.options[i];
    fields[i].integer = option.kind == DIECAST_WORD ? 0 : option.integer;
    if (option.kind == DIECAST_REAL) fields[i].real = option.real;
  }
}

bool Call::parse(PyObject* const* arguments, Py_ssize_t count, PyObject* names,
                 const Options* fixed) {
  if (fixed != nullptr) {
    options_ = *fixed;
  } else {
    options_.set_defaults(*op_.info);
  }
  structure_.size = sizeof(std::size_t) * (1 + op_.info->tensor_count);
  if (count > op_.inputs) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d positional arguments, %zd were given", name(),
                 op_.inputs, count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i)
    objects_[i] = arguments[i] == Py_None ? nullptr : arguments[i];
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < keywords; ++i)
    if (!take_keyword(PyTuple_GetItem(names, i), arguments[count + i], fixed != nullptr))
      return false;
  return true;
}

bool Call::take_keyword(PyObject* name, PyObject* value, bool fixed) {
  for (std::size_t i = 0; i < op_.info->tensor_count; ++i) {
    if (!same(name, op_.tensor_names[i])) continue;
    if (objects_[i] != nullptr) {
      PyErr_Format(PyExc_TypeError, "%s() got several values for %R", this->name(), name);
      return false;
    }
    objects_[i] = value == Py_None ? nullptr : value;
    return true;
  }
  for (std::size_t i = 0; !fixed && i < op_.info->option_count; ++i)
    if (same(name, op_.option_names[i])) return take_option(static_cast<int>(i), value);
  const struct {
    const char* word;
    PyObject** to;
  } others[] = {{"out", &out_}, {"stream", &stream_}, {"device", &device_}, {"runtime", &runtime_}};
  for (const auto& other : others) {
    if (PyUnicode_CompareWithASCIIString(name, other.word) != 0) continue;
    *other.to = value == Py_None ? nullptr : value;
    return true;
  }
  PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", this->name(), name);
  return false;
}

bool Call::take_option(int index, PyObject* value) {
  const diecast_op_option& option = op_.info->options[index];
  Options::Field& field = options_.fields[index];
  switch (option.kind) {
    case DIECAST_WORD:
      if (!PyUnicode_Check(value)) return wrong_option(name(), option, "is no text");
      field.word = PyUnicode_AsUTF8AndSize(value, nullptr);
      return field.word != nullptr;
    case DIECAST_FLAG:
      if (!PyBool_Check(value)) return wrong_option(name(), option, "is neither True nor False");
      field.integer = value == Py_True;
      return true;
    case DIECAST_COUNT:
      if (!PyLong_Check(value)) return wrong_option(name(), option, "is no int");
      field.integer = PyLong_AsLongLong(value);
      return PyErr_Occurred() == nullptr;
    default:
      field.real = PyFloat_AsDouble(value);
      return PyErr_Occurred() == nullptr;
  }
}

bool Call::read_tensor(int index) {
  const diecast_op_tensor& tensor = op_.info->tensors[index];
  TensorArgument& read = *new (&read_[read_count_++].tensor) TensorArgument;
  if (!read.read(objects_[index], name(), tensor.name)) return false;
  if (read.is_read_only() && tensor.role >= DIECAST_OUTPUT) {
    raise_about("invalid_argument", name(), tensor.name, "is read-only", "pass memory to write to");
    return false;
  }
  structure_.fields[index] = read.get();
  given_[given_count_++] = &read;
  return true;
}

bool Call::expected_outputs(diecast_output* outputs, std::size_t* count) {
  if (diecast_op_outputs(op_.info->number, &structure_, &options_, outputs, kMostTensors, count) ==
      diecast_ok)
    return true;
  raise_last();
  return false;
}

// `out=`: the one output, or one for each that the call has, in the table's order.
bool Call::take_outputs(PyObject* outputs, const diecast_output* expected, std::size_t count) {
  std::size_t given = 0;
  const bool many = PyTuple_Check(outputs) || PyList_Check(outputs);
  const Py_ssize_t size = many ? PySequence_Size(outputs) : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const int index = static_cast<int>(expected[i].index);
    if (op_.info->tensors[index].role != DIECAST_OUTPUT) continue;
    if (objects_[index] == nullptr && static_cast<Py_ssize_t>(given) < size) {
      made_[index] = many ? Ref(PySequence_GetItem(outputs, static_cast<Py_ssize_t>(given)))
                          : Ref::borrow(outputs);
      if (!made_[index]) return false;
      objects_[index] = made_[index].get();
      if (!read_tensor(index)) return false;
    }
    ++given;
  }
  if (static_cast<Py_ssize_t>(given) == size) return true;
  char what[96];
  std::snprintf(what, sizeof what, "has %zd tensors, and the call has %zu outputs", size, given);
  raise_about("shape_mismatch", name(), "out", what, "pass one tensor for each output, in order");
  return false;
}

bool Call::allocate(const diecast_output* outputs, std::size_t count) {
  PyObject* const like = objects_[0];
  for (std::size_t i = 0; i < count; ++i) {
    const diecast_output& output = outputs[i];
    const int index = static_cast<int>(output.index);
    if (objects_[index] != nullptr) continue;
    const Ref shape = shape_of(output);
    made_[index] =
        Ref(PyObject_CallFunction(allocate_function, "OsO", like, output.dtype, shape.get()));
    if (!made_[index]) return false;
    objects_[index] = made_[index].get();
    if (!read_tensor(index)) return false;
  }
  return true;
}

bool Call::read_given(bool& names_outputs) {
  for (std::size_t i = 0; i < op_.info->tensor_count; ++i) {
    if (objects_[i] == nullptr) continue;
    if (!read_tensor(static_cast<int>(i))) return false;
    names_outputs |= op_.info->tensors[i].role == DIECAST_OUTPUT;
  }
  return true;
}

bool Call::ready(bool allocates) {
  bool named = false;  // outputs are given by their own names: then all of them are
  if (!read_given(named)) return false;
  if (out_ == nullptr && named && !op_.has_scratch) return finish_place();
  diecast_output expected[kMostTensors];
  std::size_t count = 0;
  if (!expected_outputs(expected, &count)) return false;
  if (out_ != nullptr && !take_outputs(out_, expected, count)) return false;
  if (allocates && !allocate(expected, count)) return false;
  return finish_place();
}

PyObject* Call::output_shapes() {
  bool named = false;
  if (!read_given(named)) return nullptr;
  diecast_output expected[kMostTensors];
  std::size_t count = 0;
  if (!expected_outputs(expected, &count)) return nullptr;
  Ref all(PyDict_New());
  for (std::size_t i = 0; all && i < count; ++i) {
    const diecast_op_tensor& tensor = op_.info->tensors[expected[i].index];
    if (tensor.role != DIECAST_OUTPUT) continue;
    const Ref shape = shape_of(expected[i]);
    const Ref pair(Py_BuildValue("(sO)", expected[i].dtype, shape.get()));
    if (!pair || PyDict_SetItemString(all.get(), tensor.name, pair.get()) != 0) return nullptr;
  }
  return all.release();
}

PyObject* Call::result() {
  PyObject* outputs[kMostTensors];
  Py_ssize_t count = 0;
  for (std::size_t i = 0; i < op_.info->tensor_count; ++i)
    if (op_.info->tensors[i].role == DIECAST_OUTPUT && objects_[i] != nullptr)
      outputs[count++] = objects_[i];
  if (count == 1) return Py_NewRef(outputs[0]);
  PyObject* const all = PyTuple_New(count);
  for (Py_ssize_t i = 0; all != nullptr && i < count; ++i)
    PyTuple_SetItem(all, i, Py_NewRef(outputs[i]));
  return all;
}

}  // namespace diecast::python
