// One call of an op: its Python arguments as the structures that the C interface takes.
#pragma once

#include <vector>

#include "options.h"
#include "place.h"
#include "plan.h"
#include "python.h"
#include "tensor.h"

namespace diecast::python {

// A line of the table, with its names as Python has them. It lives as long as the process; Python's
// lock guards it.
struct Op {
  const diecast_op_info* info = nullptr;
  // Interned, so that a call's names are mostly these very objects.
  PyObject* tensor_names[kMostTensors]{};
  PyObject* option_names[kMostOptions]{};
  std::vector<Ref> words[kMostOptions];  // of an option that is a word
  Options defaults;
  int inputs = 0;  // tensors that may be given by position: they come first
  std::uint32_t output_bits = 0;
  bool has_scratch = false;
  Plans plans;  // of plain calls

  Keyword keyword(PyObject* name) const;
  // The text of an option's value: of one of its words, always the same address. Null: an
  // exception.
  const char* word(std::size_t option, PyObject* value) const;
};

// Python: xla_handler(on_cuda) is a capsule of the function by which XLA calls ops, on GPUs or on
// the CPU.
PyObject* xla_handler(PyObject*, PyObject* on_cuda);
// The op of a line of the table; `op` of a handle that is not one: null and an exception.
Op* op_by_name(PyObject* name);
// Python: output_shapes(op, /, *tensors, **options), and scratch_shapes of the same.
PyObject* output_shapes(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
PyObject* scratch_shapes(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
// Python: check(op, /, *tensors, **options) of tensors that may be shapes and types alone.
PyObject* check(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
// Python: op_table() is the table of ops as tuples, which diecast._table gives names.
PyObject* op_table(PyObject*, PyObject*);

// A call's arguments while it lasts.
class Call {
 public:
  explicit Call(Op& op) : op_(op) {
    for (std::size_t i = 0; i < op.info->tensor_count; ++i)
      objects_[i] = nullptr, structure_.all[i] = nullptr;
  }
  Call(const Call&) = delete;
  ~Call() {
    for (int i = 0; i < read_count_; ++i) read_[i].tensor.~TensorArgument();
    for (int i = 0; i < made_count_; ++i) Py_DECREF(made_[i]);
  }
  // `fixed`: the options of a prepared op, which the call may not name. False: an exception is set.
  bool parse(PyObject* const* arguments, Py_ssize_t count, PyObject* names, const Options* fixed);
  void work_on_host();  // after parse(): where no device is named
  bool read_given();    // the tensors that are named
  // Reads tensors and makes the outputs that are left out. `allocates`: for preparing, false.
  bool ready(bool allocates);
  bool finish_place() { return place_of(place, device_, stream_, given_, given_count_, name()); }

  const char* name() const { return op_.info->name; }
  const void* tensors() const { return &structure_; }
  const Options& options() const { return *options_; }
  PyObject* runtime() const { return runtime_; }
  // What the call has of a role (DIECAST_OUTPUT) by name: a type and a shape each. After parse();
  // nothing is made or run.
  PyObject* shapes_of(int role);
  // What the call returns: the one output, or a tuple of those that it has.
  PyObject* result();
  // After ready(): a tensor by its field, the fields of those that the call made itself, a bit
  // each, and which outputs `out=` stands for.
  PyObject* object(int index) const { return objects_[index]; }
  std::uint32_t made_bits() const { return made_bits_; }
  const std::vector<std::uint8_t>& present() const { return present_; }

  Place place;

 private:
  bool take_keyword(Keyword keyword, PyObject* value, bool fixed);
  bool take_option(int index, PyObject* value);
  void give(int index, PyObject* object);  // a tensor; None is none
  bool take_outputs(const diecast_output* expected, std::size_t count);
  bool read_tensor(int index);
  // Makes a reference the call's own, as a tensor. False: there is none, and an exception is set.
  bool own(std::size_t index, PyObject* reference);
  bool expected_outputs(diecast_output* outputs, std::size_t* count);
  bool make(const diecast_output* outputs, std::size_t count);

  Op& op_;
  // The first tensor_count of arrays are set.
  PyObject* objects_[kMostTensors];  // borrowed from the caller or from made_
  PyObject* made_[kMostTensors];     // made_count_ references of our own, of a list's items too
  int made_count_ = 0;
  // Those that the call has are made one by one: most have few of an op's tensors.
  union Room {
    Room() {}
    ~Room() {}
    TensorArgument tensor;
  } read_[kMostTensors];
  int read_count_ = 0;
  const TensorArgument* given_[kMostTensors];  // given_count_ of them
  int given_count_ = 0;
  std::uint32_t given_bits_ = 0;  // the tensors that are named, not those of `out`
  std::uint32_t made_bits_ = 0;
  bool names_outputs_ = false, returns_out_ = false;
  TensorFields structure_;
  std::vector<std::uint8_t> present_;
  Options own_options_;
  const Options* options_ = nullptr;  // these, or the prepared op's
  PyObject *out_ = nullptr, *device_ = nullptr, *stream_ = nullptr, *runtime_ = nullptr;
};

}  // namespace diecast::python
