// Arguments of kernels as Python gives them.
#pragma once

#include "python.h"
#include "tensor.h"

namespace diecast::python {

// What is said of an argument of a call, beside its name; _kernel.py has the same numbers.
enum Trait : long { kWritten = 1, kStructure = 2, kParameter = 4, kNumber = 8 };

// What a tensor's variant is chosen by: its type, dimensions and device.
std::int64_t kind_of(const diecast_tensor& tensor);

// The arguments of one launch, as they are read.
class Arguments {
 public:
  explicit Arguments(const char* op) : op_(op) {}

  // `argument`: its name and traits. False: an exception is set.
  bool add(PyObject* value, PyObject* argument);
  // A number for the kind of the last one that was added: its type, dimensions and device.
  std::int64_t kind() const;
  bool last_is_tensor() const { return given_[count_ - 1].kind == DIECAST_TENSOR; }
  const diecast_argument* data() const { return given_; }
  std::size_t size() const { return static_cast<std::size_t>(count_); }
  bool launch(diecast_handle kernel, PyObject* device, PyObject* stream);

 private:
  static constexpr int kMost = 32;
  bool add_structure(PyObject* value, diecast_argument& to);
  bool add_number(PyObject* value, diecast_argument& to);
  bool add_tensor(PyObject* value, bool written, diecast_argument& to);

  const char* op_;
  diecast_argument given_[kMost]{};
  TensorArgument tensors_[kMost];
  const TensorArgument* read_[kMost];
  Ref structures_[kMost];  // their bytes
  int count_ = 0, tensor_count_ = 0;
};

}  // namespace diecast::python
