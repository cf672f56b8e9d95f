// A Python object as a tensor: by the C table of its type (torch 2.10 and later), by
// __cuda_array_interface__, as a buffer (numpy, bytes, memoryview), or by __dlpack__.
#pragma once

#include "dlpack.h"
#include "python.h"

namespace diecast::python {

inline constexpr int kMostDimensions = 8;

// A tensor of one call. What it borrowed from the object goes back with it.
class TensorArgument {
 public:
  TensorArgument() = default;
  TensorArgument(const TensorArgument&) = delete;
  ~TensorArgument();

  // `op` and `name` are for errors. `written`: the call writes to it, and read-only memory is
  // refused. False: an exception is set.
  bool read(PyObject* object, const char* op, const char* name, bool written);

  const diecast_tensor* get() const { return &tensor_; }
  PyObject* object() const { return object_; }  // the caller's
  // The stream that the object's framework works on now, where it says so: see stream.h.
  const DLExchange* exchange() const { return exchange_; }
  bool has_own_stream() const { return has_stream_; }
  void* own_stream() const { return stream_; }

 private:
  // Each: 1 it was read, 0 the object has no such interface, -1 an exception is set.
  int by_exchange(PyObject* object, const char* op, const char* name);
  int by_cuda_interface(PyObject* object, const char* op, const char* name);
  int by_buffer(PyObject* object, const char* op, const char* name);
  int by_array_interface(PyObject* object, const char* op, const char* name);
  int by_dlpack(PyObject* object, const char* op, const char* name);
  bool take(const diecast_tensor& tensor, std::uint64_t flags);
  // What both array interfaces say: 1, or -1 and an exception is set.
  int take_interface(PyObject* interface, const char* op, const char* name);
  bool set_shape(PyObject* shape, PyObject* strides, int item_bytes);
  // The stride of a dimension whose extent is known, of bytes.
  void set_stride(int dimension, std::int64_t bytes, int item_bytes);

  PyObject* object_ = nullptr;
  diecast_tensor tensor_{};
  std::int64_t shape_[kMostDimensions], strides_[kMostDimensions];  // where tensor_ points to them
  bool read_only_ = false, has_stream_ = false;
  bool whole_strides_ = true;  // else one splits an element, and DLPack's strides cannot say it
  void* stream_ = nullptr;
  const DLExchange* exchange_ = nullptr;
  Py_buffer buffer_;
  bool has_buffer_ = false;
  DLManagedVersioned* versioned_ = nullptr;
  DLManaged* managed_ = nullptr;
};

// What an object's type says of its objects. The answer is kept for each type.
struct TensorType {
  const DLExchange* exchange = nullptr;  // DLPack's C table, or null
  bool dispatches = false;               // FakeTensor, DTensor: it stands for a tensor of torch
};
TensorType type_of_tensor(PyObject* object);
// The table alone, where it gives views and streams; else null.
const DLExchange* quick_table_of(PyObject* object);

}  // namespace diecast::python
