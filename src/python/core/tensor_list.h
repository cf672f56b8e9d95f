// The tensors of a call that has any number of them, while it lasts.
#pragma once

#include <deque>
#include <vector>

#include "place.h"
#include "tensor.h"

namespace diecast::python {

class TensorList {
 public:
  explicit TensorList(const char* op) : op_(op) {}

  // As TensorArgument::read(). None: null.
  bool read(const diecast_tensor*& to, PyObject* object, const char* name, bool written) {
    to = nullptr;
    if (object == Py_None) return true;
    TensorArgument& tensor = tensors_.emplace_back();
    if (!tensor.read(object, op_, name, written)) return false;
    given_.push_back(&tensor);
    to = tensor.get();
    return true;
  }
  bool place(Place& to, PyObject* device, PyObject* stream) const {
    return place_of(to, device, stream, given_.data(), static_cast<int>(given_.size()), op_);
  }

 private:
  const char* op_;
  std::deque<TensorArgument> tensors_;
  std::vector<const TensorArgument*> given_;
};

}  // namespace diecast::python
