// From Python's arguments to the structures of the C interface; see ops.h.
#include <bit>
#include <cstdio>
#include <new>
#include <string>

#include "allocate.h"
#include "ops.h"

namespace diecast::python {
namespace {

// Which of interned names is `name`, or has its text; -1: none. Almost always it is one of them.
int find_name(PyObject* name, PyObject* const* known, std::size_t count, bool by_text) {
  for (std::size_t i = 0; i < count; ++i)
    if (by_text ? PyUnicode_Compare(known[i], name) == 0 : known[i] == name)
      return static_cast<int>(i);
  return -1;
}

// What an option of its kind may be given.
std::string taken(const diecast_op_option& option) {
  if (option.kind == DIECAST_FLAG) return "True or False";
  if (option.kind != DIECAST_WORD) return "an int";
  std::string words = "one of the texts ";
  for (const char* at = option.words; *at != 0; ++at) {
    if (*at == ' ') words += ',';
    words += *at;
  }
  return words;
}

bool wrong_option(const char* op, const diecast_op_option& option, const char* what) {
  raise_about("dtype_mismatch", op, option.name, what, ("pass " + taken(option)).c_str());
  return false;
}

Ref shape_of(const diecast_output& output) {
  Ref shape(PyTuple_New(output.ndim));
  for (int d = 0; d < output.ndim; ++d)
    PyTuple_SetItem(shape.get(), d, PyLong_FromLongLong(output.shape[d]));
  return shape;
}

}  // namespace

void Options::set_defaults(const diecast_op_info& info) {
  size = sizeof(std::size_t) * (1 + info.option_count);
  for (std::size_t i = 0; i < info.option_count; ++i) {
    const diecast_op_option& option = info.options[i];
    fields[i].integer = option.kind == DIECAST_WORD ? 0 : option.integer;
    if (option.kind == DIECAST_REAL) fields[i].real = option.real;
  }
}

// Some ops have a tensor `out`.
Keyword Op::keyword(PyObject* name) const {
  static PyObject* const others[] = {
      PyUnicode_InternFromString("out"), PyUnicode_InternFromString("stream"),
      PyUnicode_InternFromString("device"), PyUnicode_InternFromString("runtime")};
  for (const bool by_text : {false, true}) {
    int i = find_name(name, tensor_names, info->tensor_count, by_text);
    if (i >= 0) return static_cast<Keyword>(i);
    i = find_name(name, others, std::size(others), by_text);
    if (i >= 0) return static_cast<Keyword>(kOut + i);
    i = find_name(name, option_names, info->option_count, by_text);
    if (i >= 0) return static_cast<Keyword>(kFirstOption + i);
  }
  return -1;
}

bool Call::parse(PyObject* const* arguments, Py_ssize_t count, PyObject* names,
                 const Options* fixed) {
  if (fixed == nullptr) own_options_ = op_.defaults;
  options_ = fixed != nullptr ? fixed : &own_options_;
  structure_.size = sizeof(std::size_t) * (1 + op_.info->tensor_count);
  if (count > op_.inputs) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d positional arguments, %zd were given", name(),
                 op_.inputs, count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) give(static_cast<int>(i), arguments[i]);
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    const Keyword keyword = op_.keyword(PyTuple_GetItem(names, i));
    if (take_keyword(keyword, arguments[count + i], fixed != nullptr)) continue;
    if (PyErr_Occurred() == nullptr)
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", this->name(),
                   PyTuple_GetItem(names, i));
    return false;
  }
  return true;
}

void Call::work_on_host() {
  static PyObject* const host = PyUnicode_InternFromString("host");
  if (device_ == nullptr) device_ = host;
}

// False: there is nothing of this name, or an exception is set.
bool Call::take_keyword(Keyword keyword, PyObject* value, bool fixed) {
  if (keyword < 0 || (fixed && keyword >= kFirstOption && keyword < kFirstOther)) return false;
  if (keyword < kFirstOption) {
    if (objects_[keyword] != nullptr) {
      PyErr_Format(PyExc_TypeError, "%s() got several values for %R", name(),
                   op_.tensor_names[keyword]);
      return false;
    }
    give(keyword, value);
    return true;
  }
  if (keyword < kFirstOther) return take_option(keyword - kFirstOption, value);
  PyObject** const to[] = {&out_, &stream_, &device_, &runtime_};
  *to[keyword - kFirstOther] = value == Py_None ? nullptr : value;
  return true;
}

bool Call::take_option(int index, PyObject* value) {
  const diecast_op_option& option = op_.info->options[index];
  Options::Field& field = own_options_.fields[index];
  switch (option.kind) {
    case DIECAST_WORD:
      if (!PyUnicode_Check(value)) return wrong_option(name(), option, "is no text");
      field.word = op_.word(static_cast<std::size_t>(index), value);
      if (field.word != nullptr) return true;
      PyErr_Clear();
      return wrong_option(name(), option, "is no text that UTF-8 has");
    case DIECAST_FLAG:
      if (!PyBool_Check(value)) return wrong_option(name(), option, "is neither True nor False");
      field.integer = value == Py_True;
      return true;
    case DIECAST_COUNT:
      if (!PyLong_Check(value)) return wrong_option(name(), option, "is no int");
      return integer_of(value, field.integer, name(), option.name);
    default:
      return number_of(value, field.real, name(), option.name);
  }
}

bool Call::read_tensor(int index) {
  const diecast_op_tensor& tensor = op_.info->tensors[index];
  TensorArgument& read = *new (&read_[read_count_++].tensor) TensorArgument;
  if (!read.read(objects_[index], name(), tensor.name, tensor.role >= DIECAST_OUTPUT)) return false;
  structure_.all[index] = read.get();
  given_[given_count_++] = &read;
  return true;
}

bool Call::own(std::size_t index, PyObject* reference) {
  if (reference == nullptr) return false;
  made_[made_count_++] = reference;
  objects_[index] = reference;
  return true;
}

bool Call::expected_outputs(diecast_output* outputs, std::size_t* count) {
  if (diecast_op_outputs(op_.info->number, &structure_, options_, outputs, kMostTensors, count) ==
      diecast_ok)
    return true;
  raise_last();
  return false;
}

// `out=`: the one output, or one for each that the call has, in the table's order.
bool Call::take_outputs(const diecast_output* expected, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (op_.info->tensors[expected[i].index].role == DIECAST_OUTPUT)
      present_.push_back(static_cast<std::uint8_t>(expected[i].index));
  const bool tuple = PyTuple_Check(out_) != 0, many = tuple || PyList_Check(out_) != 0;
  const Py_ssize_t size = tuple ? PyTuple_Size(out_) : many ? PyList_Size(out_) : 1;
  returns_out_ = tuple && !names_outputs_;
  if (static_cast<Py_ssize_t>(present_.size()) == size) {
    for (Py_ssize_t i = 0; i < size; ++i) {
      const std::size_t index = present_[static_cast<std::size_t>(i)];
      if (objects_[index] != nullptr) continue;  // it is named too
      objects_[index] = tuple ? PyTuple_GetItem(out_, i) : out_;
      if (many && !tuple && !own(index, Py_XNewRef(PyList_GetItem(out_, i)))) return false;
      if (!read_tensor(static_cast<int>(index))) return false;
    }
    return true;
  }
  char what[96];
  std::snprintf(what, sizeof what, "has %zd tensors, and the call has %zu outputs", size,
                present_.size());
  raise_about("shape_mismatch", name(), "out", what, "pass one tensor for each output, in order");
  return false;
}

bool Call::make(const diecast_output* outputs, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t index = outputs[i].index;
    if (objects_[index] != nullptr) continue;
    if (!own(index, allocate(objects_[0], outputs[i]))) return false;
    made_bits_ |= std::uint32_t{1} << index;
    if (!read_tensor(static_cast<int>(index))) return false;
  }
  return true;
}

void Call::give(int index, PyObject* object) {
  if (object == Py_None) return;
  objects_[index] = object;
  given_bits_ |= std::uint32_t{1} << index;
}

bool Call::read_given() {
  for (std::uint32_t rest = given_bits_; rest != 0; rest &= rest - 1)
    if (!read_tensor(std::countr_zero(rest))) return false;
  names_outputs_ = (given_bits_ & op_.output_bits) != 0;
  return true;
}

bool Call::ready(bool allocates) {
  if (!read_given()) return false;
  if (!op_.has_scratch && out_ == nullptr && names_outputs_)
    return finish_place();  // then all of them are named
  diecast_output expected[kMostTensors];
  std::size_t count = 0;
  if (!expected_outputs(expected, &count)) return false;
  if (out_ != nullptr && !take_outputs(expected, count)) return false;
  if (allocates && !make(expected, count)) return false;
  return finish_place();
}

PyObject* Call::shapes_of(int role) {
  if (!read_given()) return nullptr;
  diecast_output expected[kMostTensors];
  std::size_t count = 0;
  if (!expected_outputs(expected, &count)) return nullptr;
  Ref all(PyDict_New());
  for (std::size_t i = 0; all && i < count; ++i) {
    const diecast_op_tensor& tensor = op_.info->tensors[expected[i].index];
    if (tensor.role != role) continue;
    const Ref shape = shape_of(expected[i]);
    const Ref pair(Py_BuildValue("(sO)", expected[i].dtype, shape.get()));
    if (!pair || PyDict_SetItemString(all.get(), tensor.name, pair.get()) != 0) return nullptr;
  }
  return all.release();
}

PyObject* Call::result() {
  if (returns_out_ && PyTuple_Size(out_) != 1) return Py_NewRef(out_);
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
