// Calls that repeat. A place in Python's code calls a function with the same names of keywords, the
// same words and the same tensors left out. What its arguments stand for is found once and kept as
// a plan. A call by a plan compares its arguments with it and reads its tensors, whose shapes,
// types and addresses the library compares or checks. Whatever is unusual is done by Call, which
// can say what is wrong.
#pragma once

#include <memory>
#include <vector>

#include "options.h"
#include "place.h"
#include "python.h"
#include "tensor.h"

namespace diecast::python {

struct Op;
class Call;

// What the arguments of one kind of call stand for. Its tensors are of a GPU. Outputs and scratch
// are given, or made for each call in the shapes that the library says.
class Plan {
 public:
  // Of a call that was made; null: it has to be made by Call each time.
  static std::unique_ptr<Plan> of(const Op& op, const Call& call, PyObject* const* arguments,
                                  Py_ssize_t count, PyObject* names);
  // Whether a call is of this kind.
  bool holds(PyObject* const* arguments, Py_ssize_t count, PyObject* names) const;

 private:
  friend class PlannedCall;
  friend class Plans;
  static constexpr int kMost = 8;  // tensors
  static constexpr std::uint8_t kMade = 0xFF;
  struct Slot {
    std::uint8_t field = 0;  // of the op's structure
    std::uint8_t from = 0;   // an argument, an item of `out=` or kMade
  };
  struct Same {
    Py_ssize_t at;
    Ref value;
  };
  // False: a plan cannot have it.
  bool add(Keyword keyword, Py_ssize_t at, PyObject* value);
  bool add_tensor(std::uint8_t field, Py_ssize_t from, PyObject* tensor);
  bool add_out(PyObject* out, const std::vector<std::uint8_t>& present);
  bool add_made(const Call& call);
  bool has_same(PyObject* names) const;

  Ref names_;
  Py_ssize_t positional_ = 0;
  std::vector<Same> same_;  // arguments that are these very objects: None, words, numbers
  Py_ssize_t out_at_ = -1, stream_at_ = -1;  // -1: it is left out
  Py_ssize_t out_size_ = 0;                  // of the tuple or list
  // Inputs and scratch, then outputs, each in the order of the op's fields; but made scratch is
  // last before outputs, since its shape follows from inputs.
  Slot slots_[kMost];
  int count_ = 0, first_output_ = 0, first_of_out_ = 0;
  const diecast_op_info* op_ = nullptr;
  Options options_;        // whose words are the op's own
  mutable int calls_ = 0;  // that are being made
};

// The last kinds of calls of a function. Python's lock guards them.
class Plans {
 public:
  const Plan* find(PyObject* const* arguments, Py_ssize_t count, PyObject* names) const {
    for (const auto& plan : all_)
      if (plan && plan->holds(arguments, count, names)) return plan.get();
    return nullptr;
  }
  // Of a call that was made.
  void keep(const Op& op, const Call& call, PyObject* const* arguments, Py_ssize_t count,
            PyObject* names);

 private:
  std::unique_ptr<Plan> all_[8];
  std::size_t oldest_ = 0;
};

// A call by a plan.
class PlannedCall {
 public:
  PlannedCall() {}  // its arrays are set as far as the plan goes
  PlannedCall(const PlannedCall&) = delete;
  ~PlannedCall() {
    if (plan_ != nullptr) --plan_->calls_;
    for (int i = 0; i < made_count_; ++i) Py_DECREF(made_[i]);
  }
  // False: there is no plan for it, something is unusual, or its stream set an exception.
  bool take(const Plans& plans, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
  const void* tensors() const { return &structure_; }
  const Options& options() const { return plan_->options_; }
  diecast_handle device() const { return device_; }
  void* stream() const { return stream_; }
  // As Call::result().
  PyObject* result() const;

 private:
  bool read_tensors(PyObject* const* arguments);
  bool read(int slot, PyObject* tensor);
  // A tensor that the call makes, borrowed from made_. Null: Call has to make it.
  PyObject* make(std::uint8_t field);

  const Plan* plan_ = nullptr;
  Ref out_;                               // a tuple
  const DLExchange* exchange_ = nullptr;  // of the last tensor
  diecast_handle device_ = 0;
  void* stream_ = nullptr;
  int made_count_ = 0;
  PyObject* made_[Plan::kMost];
  std::size_t expected_count_ = 0;
  diecast_output expected_[Plan::kMost];  // found as the first tensor is made
  PyObject* objects_[Plan::kMost];
  diecast_tensor read_[Plan::kMost];
  TensorFields structure_;
};

}  // namespace diecast::python
