// Arguments of kernels as Python gives them.
#pragma once

#include <vector>

#include "python.h"
#include "tensor.h"

namespace diecast::python {

// What is said of an argument of a call, beside its name; _kernel.py has the same numbers.
enum Trait : long { kWritten = 1, kStructure = 2, kParameter = 4, kNumber = 8 };

// What a tensor's variant is chosen by: its type, dimensions and device.
std::int64_t kind_of(const diecast_tensor& tensor);

// The extents of a tensor that fix parameters, by the dimensions that `argument` has third; -1
// where it has no such dimension.
std::vector<std::int64_t> extents_of(const diecast_tensor& tensor, PyObject* argument);

// The arguments of one launch, as they are read.
class Arguments {
 public:
  explicit Arguments(const char* op) : op_(op) {}

  // `argument`: its name, traits and, of a tensor, the dimensions that fix parameters. False: an
  // exception is set.
  bool add(PyObject* value, PyObject* argument);
  // What the variant is chosen by of the last one that was added: a number for its type, dimensions
  // and device, or a tuple of it and of extents. Null: an exception is set.
  Ref kind(PyObject* argument) const;
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
