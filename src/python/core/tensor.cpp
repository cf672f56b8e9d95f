// Reading a Python object as a tensor; see tensor.h.
#include "tensor.h"

#include <cstring>

namespace diecast::python {
namespace {

Ref item(PyObject* mapping, const char* key) {
  Ref found(PyMapping_GetItemString(mapping, key));
  if (!found) PyErr_Clear();
  return found;
}

struct Type {
  std::uint8_t code, bits;
};

// numpy's "<f4" and a buffer's "f": kind and bytes. {0, 0}: no type of ours.
Type type_of(char kind, int bytes) {
  const auto bits = static_cast<std::uint8_t>(bytes * 8);
  if (kind == 'f') return {2, bits};
  if (kind == 'u') return {1, bits};
  if (kind == 'i') return {0, bits};
  if (kind == 'b') return {6, bits};  // no type of ours, but it has a name
  return {0, 0};
}

Type type_of_format(const char* format, int bytes) {
  if (format == nullptr) return {1, 8};
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == 0 || format[1] != 0) return {0, 0};
  if (std::strchr("efd", *format) != nullptr) return type_of('f', bytes);
  if (std::strchr("BHILQN", *format) != nullptr) return type_of('u', bytes);
  if (std::strchr("bhilqn", *format) != nullptr) return type_of('i', bytes);
  return {0, 0};
}

// The types of ml_dtypes, by their names.
Type type_of_name(const char* name) {
  const struct {
    const char* name;
    Type type;
  } known[] = {{"bfloat16", {4, 16}},
               {"float8_e4m3fn", {10, 8}},
               {"float8_e5m2", {12, 8}},
               {"float8_e8m0fnu", {14, 8}}};
  for (const auto& one : known)
    if (std::strcmp(one.name, name) == 0) return one.type;
  return {0, 0};
}

bool no_such_type(const char* op, const char* name) {
  raise_about("dtype_mismatch", op, name, "has an element type that diecast does not know",
              "pass bf16, f16, f32, fp8, u8, i32 or i64");
  return false;
}

}  // namespace

TensorArgument::~TensorArgument() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
  if (versioned_ != nullptr && versioned_->deleter != nullptr) versioned_->deleter(versioned_);
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
}

bool TensorArgument::read(PyObject* object, const char* op, const char* name, bool written) {
  object_ = object;
  int got = by_exchange(object, op, name);
  if (got == 0) got = by_cuda_interface(object, op, name);
  if (got == 0) got = by_buffer(object, op, name);
  if (got == 0) got = by_array_interface(object, op, name);
  if (got == 0) got = by_dlpack(object, op, name);
  if (got == 0) {
    raise_about("dtype_mismatch", op, name, "is no tensor",
                "pass an array of numpy, CuPy, JAX or torch, or whatever has __dlpack__ or is a "
                "buffer");
  }
  if (got != 1) return false;
  if (!whole_strides_) {
    raise_about("misaligned", op, name, "has strides that are no multiples of its element's bytes",
                "pass a copy, as numpy.ascontiguousarray(x) makes it");
  } else if (written && read_only_) {
    raise_about("invalid_argument", op, name, "is read-only", "pass memory to write to");
  } else {
    return true;
  }
  return false;
}

// Of a field of a record, say, elements lie one record apart.
void TensorArgument::set_stride(int dimension, std::int64_t bytes, int item_bytes) {
  strides_[dimension] = bytes / item_bytes;
  if (bytes % item_bytes != 0 && shape_[dimension] > 1) whole_strides_ = false;
}

// Shapes of the two interfaces that Python dictionaries describe; strides are bytes there.
bool TensorArgument::set_shape(PyObject* shape, PyObject* strides, int item_bytes) {
  const Py_ssize_t rank = PyTuple_Check(shape) ? PyTuple_Size(shape) : -1;
  if (rank < 0 || rank > kMostDimensions) return false;
  tensor_.ndim = static_cast<std::int32_t>(rank);
  tensor_.shape = shape_;
  const bool apart = strides != nullptr && PyTuple_Check(strides) && PyTuple_Size(strides) == rank;
  for (Py_ssize_t i = 0; i < rank; ++i) {
    shape_[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    if (apart)
      set_stride(static_cast<int>(i), PyLong_AsLongLong(PyTuple_GetItem(strides, i)), item_bytes);
  }
  if (apart) tensor_.strides = strides_;
  return PyErr_Occurred() == nullptr;
}

// {"shape", "typestr", "data", "strides"} of either interface.
static bool read_data(PyObject* interface, diecast_tensor& tensor, bool& read_only) {
  const Ref data = item(interface, "data");
  if (!data || !PyTuple_Check(data.get()) || PyTuple_Size(data.get()) != 2) return false;
  tensor.data = PyLong_AsVoidPtr(PyTuple_GetItem(data.get(), 0));
  read_only = PyObject_IsTrue(PyTuple_GetItem(data.get(), 1)) == 1;
  return PyErr_Occurred() == nullptr;
}

static int wrong_interface(const char* op, const char* name) {
  PyErr_Clear();  // of numbers that are none, or are too large
  raise_about("invalid_argument", op, name, "describes its memory wrongly",
              "pass an array of at most 8 dimensions");
  return -1;
}

// Of the type string "<f4", or by the name of the dtype where that is "<V2".
static Type type_in(PyObject* interface, PyObject* object, int& bytes) {
  const Ref text = item(interface, "typestr");
  const char* const word = text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
  if (word == nullptr || std::strlen(word) < 3 || word[0] == '>') return {0, 0};
  bytes = word[2] - '0';
  if (word[1] != 'V') return type_of(word[1], bytes);
  const Ref dtype = attribute(object, "dtype");
  const Ref name = dtype ? attribute(dtype.get(), "name") : Ref();
  const char* const known = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  return known == nullptr ? Type{0, 0} : type_of_name(known);
}

int TensorArgument::take_interface(PyObject* interface, const char* op, const char* name) {
  int bytes = 1;
  const Type type = type_in(interface, object_, bytes);
  if (type.bits == 0) return no_such_type(op, name), -1;
  const Ref shape = item(interface, "shape"), strides = item(interface, "strides");
  if (!shape || !set_shape(shape.get(), strides.get(), bytes) ||
      !read_data(interface, tensor_, read_only_))
    return wrong_interface(op, name);
  tensor_.type_code = type.code;
  tensor_.type_bits = type.bits;
  tensor_.type_lanes = 1;
  return 1;
}

int TensorArgument::by_cuda_interface(PyObject* object, const char* op, const char* name) {
  const Ref interface = attribute(object, "__cuda_array_interface__");
  if (!interface || !PyDict_Check(interface.get())) return 0;
  if (take_interface(interface.get(), op, name) < 0) return -1;
  tensor_.device_type = 2;
  const Ref device = attribute(object, "device");  // CuPy's: .id
  const Ref id = device ? attribute(device.get(), "id") : Ref();
  if (id && PyLong_Check(id.get()))
    tensor_.device_id = static_cast<std::int32_t>(PyLong_AsLong(id.get()));
  const Ref stream = item(interface.get(), "stream");
  if (stream && PyLong_Check(stream.get())) {
    stream_ = PyLong_AsVoidPtr(stream.get());
    has_stream_ = true;
  }
  return PyErr_Occurred() == nullptr ? 1 : -1;
}

int TensorArgument::by_buffer(PyObject* object, const char* op, const char* name) {
  if (PyObject_CheckBuffer(object) == 0) return 0;
  if (PyObject_GetBuffer(object, &buffer_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();  // of a type that buffers cannot say
    return 0;
  }
  has_buffer_ = true;
  const int bytes = static_cast<int>(buffer_.itemsize);
  const Type type = type_of_format(buffer_.format, bytes);
  if (type.bits == 0) return no_such_type(op, name), -1;
  if (buffer_.ndim > kMostDimensions) return wrong_interface(op, name);
  tensor_.data = buffer_.buf;
  tensor_.device_type = 1;
  tensor_.ndim = buffer_.ndim;
  tensor_.type_code = type.code;
  tensor_.type_bits = type.bits;
  tensor_.type_lanes = 1;
  tensor_.shape = shape_;
  tensor_.strides = buffer_.strides == nullptr ? nullptr : strides_;
  for (int i = 0; i < buffer_.ndim; ++i) {
    shape_[i] = buffer_.shape[i];
    if (buffer_.strides != nullptr) set_stride(i, buffer_.strides[i], bytes);
  }
  read_only_ = buffer_.readonly != 0;
  return 1;
}

static bool is_numpy_scalar(PyObject* object) {
  const Ref numpy(PyImport_ImportModule("numpy"));
  const Ref scalar = numpy ? attribute(numpy.get(), "generic") : Ref();
  const bool is = scalar && PyObject_IsInstance(object, scalar.get()) == 1;
  PyErr_Clear();
  return is;
}

// numpy's own, for the types of ml_dtypes.
int TensorArgument::by_array_interface(PyObject* object, const char* op, const char* name) {
  const Ref interface = attribute(object, "__array_interface__");
  if (!interface || !PyDict_Check(interface.get())) return 0;
  if (take_interface(interface.get(), op, name) < 0) return -1;
  if (tensor_.ndim == 0 && is_numpy_scalar(object)) {  // what it describes is a copy, gone by now
    raise_about("dtype_mismatch", op, name, "is a number of numpy", "pass numpy.asarray(x)");
    return -1;
  }
  tensor_.device_type = 1;
  return 1;
}

}  // namespace diecast::python
