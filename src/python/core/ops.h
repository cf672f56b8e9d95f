// One call of an op: its Python arguments as the structures that the C interface takes.
#pragma once

#include "place.h"
#include "python.h"
#include "tensor.h"

namespace diecast::python {

inline constexpr int kMostTensors = 32, kMostOptions = 32;

// A line of the table, with its names as Python has them. It lives as long as the process.
struct Op {
  const diecast_op_info* info = nullptr;
  PyObject* tensor_names[kMostTensors]{};
  PyObject* option_names[kMostOptions]{};
  int inputs = 0;  // tensors that may be given by position: they come first
  bool has_scratch = false;
};

// Options of a call or of a prepared op: the fields behind the structure's size.
struct Options {
  std::size_t size = 0;
  union Field {
    const char* word;
    std::int64_t integer;
    double real;
  } fields[kMostOptions];

  void set_defaults(const diecast_op_info& info);
};

// Python: xla_handler() is a capsule of the function by which XLA calls ops on the CPU.
PyObject* xla_handler(PyObject*, PyObject*);
// The op of a line of the table; `op` of a handle that is not one: null and an exception.
const Op* op_by_name(PyObject* name);
// Python: set_allocate(function) gives diecast._frameworks.allocate.
PyObject* set_allocate(PyObject*, PyObject* function);
// Python: output_shapes(op, /, *tensors, **options).
PyObject* output_shapes(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
// Python: op_table() is the table of ops as tuples, which diecast._table gives names.
PyObject* op_table(PyObject*, PyObject*);

// A call's arguments while it lasts.
class Call {
 public:
  explicit Call(const Op& op) : op_(op) {}
  Call(const Call&) = delete;
  ~Call() {
    for (int i = 0; i < read_count_; ++i) read_[i].tensor.~TensorArgument();
  }
  // `fixed`: the options of a prepared op, which the call may not name. False: an exception is set.
  bool parse(PyObject* const* arguments, Py_ssize_t count, PyObject* names, const Options* fixed);
  // Reads tensors and makes the outputs that are left out. `allocates`: for preparing, false.
  bool ready(bool allocates);
  bool finish_place() { return place_of(place, device_, stream_, given_, given_count_, name()); }

  const char* name() const { return op_.info->name; }
  const void* tensors() const { return &structure_; }
  const Options& options() const { return options_; }
  PyObject* runtime() const { return runtime_; }
  // The outputs by name: a type and a shape each. After parse(); nothing is made or run.
  PyObject* output_shapes();
  // What the call returns: the one output, or a tuple of those that it has.
  PyObject* result();

  Place place;

 private:
  bool take_keyword(PyObject* name, PyObject* value, bool fixed);
  bool take_option(int index, PyObject* value);
  bool take_out();
  bool take_outputs(PyObject* outputs, const diecast_output* expected, std::size_t count);
  bool read_tensor(int index);
  bool read_given(bool& names_outputs);
  bool expected_outputs(diecast_output* outputs, std::size_t* count);
  bool allocate(const diecast_output* outputs, std::size_t count);

  const Op& op_;
  PyObject* objects_[kMostTensors]{};  // borrowed from the caller or from made_
  Ref made_[kMostTensors];
  // Those that the call has are made one by one: most have few of an op's tensors.
  union Room {
    Room() {}
    ~Room() {}
    TensorArgument tensor;
  } read_[kMostTensors];
  int read_count_ = 0;
  const TensorArgument* given_[kMostTensors]{};
  int given_count_ = 0;
  struct {
    std::size_t size = 0;
    const diecast_tensor* fields[kMostTensors]{};
  } structure_;
  Options options_;
  PyObject *out_ = nullptr, *device_ = nullptr, *stream_ = nullptr, *runtime_ = nullptr;
};

}  // namespace diecast::python
