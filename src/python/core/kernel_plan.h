// Calls of kernels that repeat, as those of ops do (plan.h): the same number of values, the same
// names and parameters, and tensors of the same types and of the extents that fix parameters. A
// call by a plan reads its tensors, whose shapes the library compares. Whatever is unusual is done
// by call_kernel(), which can say what is wrong.
#pragma once

#include <memory>
#include <vector>

#include "kernel_arguments.h"

namespace diecast::python {

// The values of a call, as Python brings them.
struct KernelValues {
  static constexpr int kMost = 16;
  PyObject* all[kMost];
  PyObject* names[kMost];  // of those that have one, which come last
  int positional = 0, count = 0;

  // False: there are more. No exception is set.
  bool read(PyObject* tensors, PyObject* named);
};

class KernelPlan {
 public:
  // Of a call that was made; null: it has to be made the long way each time. `arguments`: the name
  // and traits of each value but device and stream.
  static std::unique_ptr<KernelPlan> of(const KernelValues& values, PyObject* arguments,
                                        PyObject* variant);
  bool holds(const KernelValues& values) const;
  // As call_kernel(). Null without an exception: something is unusual.
  PyObject* call(const KernelValues& values);
  int visit(visitproc visit, void* argument) const;

 private:
  friend class KernelPlans;
  friend class PlannedLaunch;
  enum class Role : std::uint8_t { same, tensor, integer, number, stream };
  struct Value {
    Role role = Role::same;
    Ref is;                      // same: this very object; else one of its type
    const char* name = nullptr;  // of an argument
    std::int64_t kind = 0;       // of a tensor
    PyObject* argument = nullptr;
    std::vector<std::int64_t> extents;  // of a tensor: those that fix parameters
  };
  bool add(PyObject* value, PyObject* argument);
  bool add_place(PyObject* name, PyObject* value);

  std::vector<Value> values_;
  std::vector<Ref> names_;
  Ref arguments_, kernel_, make_, made_;  // made_: the names and traits of the outputs it makes
  int calls_ = 0;                         // that are being made
  bool over_ = false;
};

// The last kinds of calls of a kernel. Python's lock guards them.
class KernelPlans {
 public:
  KernelPlan* find(const KernelValues& values) const {
    for (const auto& plan : all_)
      if (plan && plan->holds(values)) return plan.get();
    return nullptr;
  }
  void keep(const KernelValues& values, PyObject* arguments, PyObject* variant);
  // From now on calls are made the long way first.
  void forget();
  int visit(visitproc visit, void* argument) const;

 private:
  std::unique_ptr<KernelPlan> all_[8];
  std::size_t oldest_ = 0;
};

}  // namespace diecast::python
