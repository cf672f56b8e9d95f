// Plans of calls, and calls by them; see plan.h.
#include "plan.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "allocate.h"
#include "ops.h"

namespace diecast::python {
namespace {

constexpr int kCuda = 2;  // DLPack's device type

// An object of one of Python's own types whose value never changes.
bool is_constant(PyObject* value) {
  PyTypeObject* const type = Py_TYPE(value);
  return type == &PyUnicode_Type || type == &PyBool_Type || type == &PyLong_Type ||
         type == &PyFloat_Type;
}

// `out=` as a tuple: a list may change while its tensors are read. Null: it is neither; no
// exception is set.
Ref items_of(PyObject* out) {
  if (Py_TYPE(out) == &PyTuple_Type) return Ref::borrow(out);
  if (Py_TYPE(out) != &PyList_Type) return Ref();
  Ref items(PyList_AsTuple(out));
  if (!items) PyErr_Clear();
  return items;
}

}  // namespace

bool Plan::add_tensor(std::uint8_t field, Py_ssize_t from, PyObject* tensor) {
  if (count_ == kMost || quick_table_of(tensor) == nullptr) return false;
  slots_[count_++] = {field, static_cast<std::uint8_t>(from)};
  return true;
}

bool Plan::add(Keyword keyword, Py_ssize_t at, PyObject* value) {
  const bool is_option = keyword >= kFirstOption && keyword < kFirstOther;
  if (value == Py_None || (is_option && is_constant(value))) {
    same_.push_back({at, Ref::borrow(value)});
    return true;
  }
  if (keyword == kOut) return out_at_ = at, true;
  if (keyword == kStream) return stream_at_ = at, true;
  return keyword < kFirstOption && add_tensor(static_cast<std::uint8_t>(keyword), at, value);
}

bool Plan::add_out(PyObject* out, const std::vector<std::uint8_t>& present) {
  const Ref items = items_of(out);
  if (!items || present.size() == 1) return false;  // Call returns the item
  out_size_ = static_cast<Py_ssize_t>(present.size());
  if (PyTuple_Size(items.get()) != out_size_) return false;  // the list changed meanwhile
  for (Py_ssize_t i = 0; i < out_size_; ++i)
    if (!add_tensor(present[static_cast<std::size_t>(i)], i, PyTuple_GetItem(items.get(), i)))
      return false;
  return true;
}

bool Plan::add_made(const Call& call) {
  for (std::uint32_t rest = call.made_bits(); rest != 0; rest &= rest - 1) {
    const int field = std::countr_zero(rest);
    if (!add_tensor(static_cast<std::uint8_t>(field), kMade, call.object(field))) return false;
  }
  return true;
}

std::unique_ptr<Plan> Plan::of(const Op& op, const Call& call, PyObject* const* arguments,
                               Py_ssize_t count, PyObject* names) {
  if (call.place.host) return nullptr;
  auto plan = std::make_unique<Plan>();
  plan->names_ = Ref::borrow(names);
  plan->positional_ = count;
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < count + keywords; ++i) {
    const Keyword keyword =
        i < count ? static_cast<Keyword>(i) : op.keyword(PyTuple_GetItem(names, i - count));
    if (!plan->add(keyword, i, arguments[i])) return nullptr;
  }
  if (!plan->add_made(call)) return nullptr;
  const auto is_output = [&](Slot slot) { return (op.output_bits >> slot.field & 1) != 0; };
  const auto order = [&](Slot slot) {
    const bool output = is_output(slot), made_before = !output && slot.from == kMade;
    return std::tuple(output, made_before, slot.field);
  };
  Slot* const first = plan->slots_;
  Slot* const last = first + plan->count_;
  std::sort(first, last, [&](Slot a, Slot b) { return order(a) < order(b); });
  plan->first_output_ = static_cast<int>(std::find_if(first, last, is_output) - first);
  plan->first_of_out_ = plan->count_;
  if (plan->out_at_ >= 0) {  // and no output is named
    if (plan->first_output_ != plan->count_) return nullptr;
    if (!plan->add_out(arguments[plan->out_at_], call.present())) return nullptr;
  }
  plan->op_ = op.info;
  plan->options_ = call.options();
  return plan;
}

bool Plan::has_same(PyObject* names) const {
  if (names == names_.get()) return true;
  if (names == nullptr || !names_) return false;
  const Py_ssize_t count = PyTuple_Size(names);
  if (count != PyTuple_Size(names_.get())) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyTuple_GetItem(names, i) != PyTuple_GetItem(names_.get(), i)) return false;
  return true;
}

[[gnu::hot]] bool Plan::holds(PyObject* const* arguments, Py_ssize_t count, PyObject* names) const {
  if (count != positional_ || !has_same(names)) return false;
  for (const Same& same : same_)
    if (arguments[same.at] != same.value.get()) return false;
  for (int i = 0; i < first_of_out_; ++i)
    if (slots_[i].from != kMade && arguments[slots_[i].from] == Py_None) return false;
  if (stream_at_ >= 0 && arguments[stream_at_] == Py_None) return false;
  if (out_at_ < 0) return true;
  PyObject* const out = arguments[out_at_];
  if (Py_TYPE(out) == &PyList_Type) return PyList_Size(out) == out_size_;
  return Py_TYPE(out) == &PyTuple_Type && PyTuple_Size(out) == out_size_;
}

void Plans::keep(const Op& op, const Call& call, PyObject* const* arguments, Py_ssize_t count,
                 PyObject* names) {
  if (find(arguments, count, names) != nullptr) return;
  std::unique_ptr<Plan>& oldest = all_[oldest_++ % std::size(all_)];
  if (oldest && oldest->calls_ > 0) return;
  if (auto plan = Plan::of(op, call, arguments, count, names)) oldest = std::move(plan);
}

[[gnu::hot]] bool PlannedCall::read(int slot, PyObject* tensor) {
  exchange_ = quick_table_of(tensor);
  if (exchange_ == nullptr) return false;
  if (exchange_->view_from_object(tensor, &read_[slot]) != 0) return PyErr_Clear(), false;
  if (read_[slot].device_type != kCuda) return false;
  structure_.all[plan_->slots_[slot].field] = &read_[slot];
  objects_[slot] = tensor;
  return true;
}

[[gnu::hot]] bool PlannedCall::read_tensors(PyObject* const* arguments) {
  structure_.size = sizeof(std::size_t) * (1 + plan_->op_->tensor_count);
  std::fill_n(structure_.all, plan_->op_->tensor_count, nullptr);
  for (int i = 0; i < plan_->count_; ++i) {
    const Plan::Slot slot = plan_->slots_[i];
    PyObject* const tensor = slot.from == Plan::kMade   ? make(slot.field)
                             : i < plan_->first_of_out_ ? arguments[slot.from]
                                                        : PyTuple_GetItem(out_.get(), slot.from);
    if (tensor == nullptr || !read(i, tensor)) return false;
  }
  return plan_->count_ > 0;
}

[[gnu::noinline]] PyObject* PlannedCall::make(std::uint8_t field) {
  if (made_count_ == 0 &&
      diecast_op_outputs(plan_->op_->number, &structure_, &plan_->options_, expected_,
                         std::size(expected_), &expected_count_) != diecast_ok)
    return nullptr;
  for (std::size_t i = 0; i < expected_count_; ++i) {
    if (expected_[i].index != field) continue;
    PyObject* const made = allocate(objects_[0], expected_[i]);
    return made == nullptr ? nullptr : made_[made_count_++] = made;
  }
  return nullptr;
}

[[gnu::hot]] bool PlannedCall::take(const Plans& plans, PyObject* const* arguments,
                                    Py_ssize_t count, PyObject* names) {
  const Plan* const plan = plans.find(arguments, count, names);
  if (plan == nullptr) return false;
  plan_ = plan;
  ++plan_->calls_;
  if (plan_->out_at_ >= 0 && !(out_ = items_of(arguments[plan_->out_at_]))) return false;
  if (!read_tensors(arguments)) return false;
  const int ordinal = read_[plan_->count_ - 1].device_id;
  device_ = opened_cuda_device(ordinal);
  if (device_ == 0) return false;
  return plan_->stream_at_ < 0 ? exchange_->current_stream(kCuda, ordinal, &stream_) == 0
                               : stream_of(arguments[plan_->stream_at_], stream_);
}

[[gnu::hot]] PyObject* PlannedCall::result() const {
  if (out_) return Py_NewRef(out_.get());
  const int first = plan_->first_output_, count = plan_->count_ - first;
  if (count == 1) return Py_NewRef(objects_[first]);
  PyObject* const all = PyTuple_New(count);
  for (int i = 0; all != nullptr && i < count; ++i)
    PyTuple_SetItem(all, i, Py_NewRef(objects_[first + i]));
  return all;
}

}  // namespace diecast::python
