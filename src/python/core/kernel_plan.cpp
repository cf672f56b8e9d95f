// Plans of calls of kernels, and calls by them; see kernel_plan.h.
#include "kernel_plan.h"

#include <algorithm>

#include "handles.h"
#include "place.h"

namespace diecast::python {
namespace {

constexpr int kCuda = 2;  // DLPack's device type

bool is_named(PyObject* name, const char* word) {
  return PyUnicode_CompareWithASCIIString(name, word) == 0;
}

// Whether the value of this name, null of a positional one, says where to launch.
bool is_place(PyObject* name) {
  return name != nullptr && (is_named(name, "device") || is_named(name, "stream"));
}

}  // namespace

bool KernelValues::read(PyObject* tensors, PyObject* named) {
  const Py_ssize_t with_names = named == nullptr ? 0 : PyDict_Size(named);
  positional = static_cast<int>(PyTuple_Size(tensors));
  if (positional + with_names > kMost) return false;
  for (count = 0; count < positional; ++count) all[count] = PyTuple_GetItem(tensors, count);
  Py_ssize_t at = 0;
  while (with_names > 0 && PyDict_Next(named, &at, &names[count], &all[count]) != 0) ++count;
  return true;
}

bool KernelPlan::add(PyObject* value, PyObject* argument) {
  Value& added = values_.emplace_back();
  added.is = Ref::borrow(value);
  PyTypeObject* const type = Py_TYPE(value);
  const long traits = PyLong_AsLong(PyTuple_GetItem(argument, 1));
  if (value == Py_None) return true;
  if ((traits & kParameter) != 0)
    return type == &PyUnicode_Type || type == &PyBool_Type || type == &PyLong_Type;
  if ((traits & kStructure) != 0) return false;
  added.is = Ref::borrow(reinterpret_cast<PyObject*>(type));
  added.name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(argument, 0), nullptr);
  if (type == &PyLong_Type || type == &PyFloat_Type) {
    added.role = type == &PyLong_Type ? Role::integer : Role::number;
    return true;
  }
  added.role = Role::tensor;
  const DLExchange* const exchange = quick_table_of(value);
  diecast_tensor tensor;
  if (exchange == nullptr || exchange->view_from_object(value, &tensor) != 0) return false;
  added.kind = kind_of(tensor);
  added.argument = argument;
  added.extents = extents_of(tensor, argument);
  return tensor.device_type == kCuda;
}

bool KernelPlan::add_place(PyObject* name, PyObject* value) {
  Value& added = values_.emplace_back();
  added.is = Ref::borrow(value);
  if (value == Py_None) return true;
  if (is_named(name, "stream")) {
    added.role = Role::stream;
    return true;
  }
  return Py_TYPE(value) == &PyLong_Type || Py_TYPE(value) == &PyUnicode_Type;
}

std::unique_ptr<KernelPlan> KernelPlan::of(const KernelValues& values, PyObject* arguments,
                                           PyObject* variant) {
  auto plan = std::make_unique<KernelPlan>();
  Py_ssize_t argument = 0;
  bool has_tensor = false;
  for (int i = 0; i < values.count; ++i) {
    PyObject* const name = i < values.positional ? nullptr : values.names[i];
    if (name != nullptr) plan->names_.push_back(Ref::borrow(name));
    if (is_place(name) ? !plan->add_place(name, values.all[i])
                       : !plan->add(values.all[i], PyTuple_GetItem(arguments, argument++)))
      return PyErr_Clear(), nullptr;
    has_tensor |= plan->values_.back().role == Role::tensor;
  }
  plan->arguments_ = Ref::borrow(arguments);
  plan->kernel_ = Ref::borrow(PyTuple_GetItem(variant, 0));
  plan->make_ = Ref::borrow(PyTuple_GetItem(variant, 1));
  plan->made_ = Ref::borrow(PyTuple_GetItem(variant, 2));
  return has_tensor ? std::move(plan) : nullptr;
}

[[gnu::hot]] bool KernelPlan::holds(const KernelValues& values) const {
  const std::size_t count = values_.size();
  if (over_ || static_cast<std::size_t>(values.count) != count ||
      static_cast<std::size_t>(values.count - values.positional) != names_.size())
    return false;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (values.names[count - names_.size() + i] != names_[i].get()) return false;
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* const value = values.all[i];
    const Value& known = values_[i];
    PyObject* const is = known.role == Role::same || known.role == Role::stream
                             ? value
                             : reinterpret_cast<PyObject*>(Py_TYPE(value));
    if (known.role == Role::stream ? value == Py_None : is != known.is.get()) return false;
  }
  return true;
}

int KernelPlan::visit(visitproc visit, void* argument) const {
  return make_ ? visit(make_.get(), argument) : 0;
}

// A launch by a plan.
class PlannedLaunch {
 public:
  explicit PlannedLaunch(KernelPlan& plan) : plan_(plan) { ++plan_.calls_; }
  PlannedLaunch(const PlannedLaunch&) = delete;
  ~PlannedLaunch() { --plan_.calls_; }
  // False: something is unusual, or an exception is set.
  bool read(const KernelValues& values);
  // What it made; null: something is unusual, or an exception is set.
  Ref make_outputs(const KernelValues& values);
  bool launch();

 private:
  static constexpr int kMost = 2 * KernelValues::kMost;
  bool add_tensor(PyObject* tensor, const char* name);
  bool add(PyObject* value, const KernelPlan::Value& known);

  KernelPlan& plan_;
  const DLExchange* exchange_ = nullptr;  // of the last tensor
  int count_ = 0, ordinal_ = 0;
  bool has_stream_ = false;
  void* stream_ = nullptr;
  diecast_argument given_[kMost];
  diecast_tensor tensors_[kMost];
};

bool PlannedLaunch::add_tensor(PyObject* tensor, const char* name) {
  exchange_ = quick_table_of(tensor);
  if (exchange_ == nullptr || count_ == kMost) return false;
  diecast_tensor& view = tensors_[count_];
  if (exchange_->view_from_object(tensor, &view) != 0) return PyErr_Clear(), false;
  ordinal_ = view.device_id;
  given_[count_++] = {name, DIECAST_TENSOR, &view, 0, 0, nullptr};
  return view.device_type == kCuda;
}

bool PlannedLaunch::add(PyObject* value, const KernelPlan::Value& known) {
  diecast_argument& to = given_[count_];
  switch (known.role) {
    case KernelPlan::Role::same:
      return true;
    case KernelPlan::Role::stream:
      has_stream_ = true;
      return stream_of(value, stream_);
    case KernelPlan::Role::tensor:
      return add_tensor(value, known.name) && kind_of(*to.tensor) == known.kind &&
             (known.extents.empty() || extents_of(*to.tensor, known.argument) == known.extents);
    case KernelPlan::Role::integer:
      to = {known.name, DIECAST_INTEGER, nullptr, PyLong_AsLongLong(value), 0, nullptr};
      ++count_;
      if (to.integer != -1 || PyErr_Occurred() == nullptr) return true;
      return PyErr_Clear(), false;
    case KernelPlan::Role::number:
      to = {known.name, DIECAST_NUMBER, nullptr, 0, PyFloat_AsDouble(value), nullptr};
      ++count_;
  }
  return true;
}

[[gnu::hot]] bool PlannedLaunch::read(const KernelValues& values) {
  for (int i = 0; i < values.count; ++i)
    if (!add(values.all[i], plan_.values_[static_cast<std::size_t>(i)])) return false;
  return true;
}

Ref PlannedLaunch::make_outputs(const KernelValues& values) {
  const Py_ssize_t made = PyTuple_Size(plan_.made_.get());
  if (made == 0) return Ref::borrow(Py_None);
  Ref all(PyTuple_New(PyTuple_Size(plan_.arguments_.get())));
  Py_ssize_t to = 0;
  for (int i = 0; all && i < values.count; ++i) {
    if (is_place(i < values.positional ? nullptr : values.names[i])) continue;
    PyTuple_SetItem(all.get(), to++, Py_NewRef(values.all[i]));
  }
  if (!all) return all;
  Ref outputs(PyObject_CallFunctionObjArgs(plan_.make_.get(), all.get(), nullptr));
  for (Py_ssize_t i = 0; outputs && i < made; ++i) {
    PyObject* const one = made == 1 ? outputs.get() : PyTuple_GetItem(outputs.get(), i);
    PyObject* const name = PyTuple_GetItem(PyTuple_GetItem(plan_.made_.get(), i), 0);
    if (one == nullptr || !add_tensor(one, PyUnicode_AsUTF8AndSize(name, nullptr))) return {};
  }
  return outputs;
}

[[gnu::hot]] bool PlannedLaunch::launch() {
  if (!has_stream_ && exchange_->current_stream(kCuda, ordinal_, &stream_) != 0) return false;
  const diecast_handle kernel = handle_of(plan_.kernel_.get());
  return diecast_kernel_launch(kernel, given_, static_cast<std::size_t>(count_), stream_) ==
             diecast_ok ||
         raise_last() != nullptr;
}

[[gnu::hot]] PyObject* KernelPlan::call(const KernelValues& values) {
  PlannedLaunch planned(*this);
  if (!planned.read(values)) return nullptr;
  Ref outputs = planned.make_outputs(values);
  return outputs && planned.launch() ? outputs.release() : nullptr;
}

void KernelPlans::keep(const KernelValues& values, PyObject* arguments, PyObject* variant) {
  if (find(values) != nullptr) return;
  std::unique_ptr<KernelPlan>& oldest = all_[oldest_++ % std::size(all_)];
  if (oldest && oldest->calls_ > 0) return;
  if (auto plan = KernelPlan::of(values, arguments, variant)) oldest = std::move(plan);
}

void KernelPlans::forget() {
  for (auto& plan : all_) {
    if (plan && plan->calls_ > 0)
      plan->over_ = true;
    else
      plan.reset();
  }
}

int KernelPlans::visit(visitproc visit, void* argument) const {
  for (const auto& plan : all_)
    if (const int code = plan ? plan->visit(visit, argument) : 0; code != 0) return code;
  return 0;
}

}  // namespace diecast::python
