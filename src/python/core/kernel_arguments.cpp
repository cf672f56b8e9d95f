// Reading arguments of kernels; see kernel_arguments.h.
#include "kernel_arguments.h"

#include "place.h"

namespace diecast::python {

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
  if (PyLong_Check(value) || PyFloat_Check(value)) {
    raise_about(
        "dtype_mismatch", op_, to.name, "is no tensor",
        "pass values by name, or in the order of the header's arguments, outputs among them");
    return false;
  }
  if (!tensor.read(value, op_, to.name, written)) return false;
  to.kind = DIECAST_TENSOR;
  to.tensor = tensor.get();
  read_[tensor_count_++] = &tensor;
  return true;
}

bool Arguments::add(PyObject* value, PyObject* argument) {
  if (count_ == kMost) {
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

Ref Arguments::kind(PyObject* argument) const {
  const diecast_argument& last = given_[count_ - 1];
  if (!last_is_tensor()) return Ref(PyLong_FromLong(last.kind));
  Ref kind(PyLong_FromLongLong(kind_of(*last.tensor)));
  const std::vector<std::int64_t> extents = extents_of(*last.tensor, argument);
  if (!kind || extents.empty()) return kind;
  Ref all(PyTuple_New(static_cast<Py_ssize_t>(extents.size()) + 1));
  if (!all) return all;
  PyTuple_SetItem(all.get(), 0, kind.release());
  for (std::size_t i = 0; i < extents.size(); ++i)
    PyTuple_SetItem(all.get(), static_cast<Py_ssize_t>(i) + 1, PyLong_FromLongLong(extents[i]));
  return all;
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

std::int64_t kind_of(const diecast_tensor& tensor) {
  return tensor.type_code | tensor.type_bits << 8 | std::int64_t{tensor.ndim} << 16 |
         std::int64_t{tensor.device_type} << 24 | std::int64_t{tensor.device_id} << 32;
}

std::vector<std::int64_t> extents_of(const diecast_tensor& tensor, PyObject* argument) {
  PyObject* const dimensions = PyTuple_GetItem(argument, 2);
  std::vector<std::int64_t> out(static_cast<std::size_t>(PyTuple_Size(dimensions)));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const long at = PyLong_AsLong(PyTuple_GetItem(dimensions, static_cast<Py_ssize_t>(i)));
    out[i] = at < tensor.ndim ? tensor.shape[at] : -1;
  }
  return out;
}

}  // namespace diecast::python
