// The functions of ops, made of the table: diecast.quantize_nvfp4 and so on. Also prepared ops.
#include "ops.h"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace diecast::python {
namespace {

std::vector<Op*>& every_op() {
  static auto& all = *new std::vector<Op*>;
  return all;
}

// One way to run: a launch that is found keeps the lock; whatever may compile or wait lets it go.
PyObject* run_plain(const Op& op, Call& call) {
  const diecast_handle runtime = runtime_of(call.runtime());
  if (PyErr_Occurred() != nullptr) return nullptr;
  const auto run = [&](int found_only) {
    return diecast_op_call(runtime, call.place.device, op.info->number, call.tensors(),
                           &call.options(), call.place.stream, found_only);
  };
  int code = DIECAST_NOT_PREPARED;
  if (!call.place.host) code = run(1);
  if (code == DIECAST_NOT_PREPARED) code = without_gil([&] { return run(0); });
  return code == diecast_ok ? call.result() : raise_last();
}

[[gnu::noinline]] PyObject* call_slowly(Op& op, PyObject* const* arguments, Py_ssize_t count,
                                        PyObject* names) {
  if (PyErr_Occurred() != nullptr) return nullptr;
  Call call(op);
  if (!call.parse(arguments, count, names, nullptr) || !call.ready(true)) return nullptr;
  PyObject* const result = run_plain(op, call);
  if (result != nullptr) op.plans.keep(op, call, arguments, count, names);
  return result;
}

[[gnu::hot]] PyObject* call_op(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                               PyObject* names) {
  Op& op = *static_cast<Op*>(PyCapsule_GetPointer(self, nullptr));
  PlannedCall call;
  if (!call.take(op.plans, arguments, count, names))
    return call_slowly(op, arguments, count, names);
  const int code = diecast_op_call(default_runtime(), call.device(), op.info->number,
                                   call.tensors(), &call.options(), call.stream(), 1);
  if (code == DIECAST_NOT_PREPARED) return call_slowly(op, arguments, count, names);
  return code == diecast_ok ? call.result() : raise_last();
}

// "quantize_nvfp4(x, amax=None, ..., *, out=None, layout='linear', ...)" and a page of help.
std::string signature(const Op& op) {
  const diecast_op_info& info = *op.info;
  std::string text = std::string(info.name) + "(";
  for (std::size_t i = 0; i < info.tensor_count; ++i) {
    const diecast_op_tensor& tensor = info.tensors[i];
    if (static_cast<int>(i) == op.inputs) text += "*, ";
    text += tensor.name;
    text += tensor.role == DIECAST_INPUT ? ", " : "=None, ";
  }
  if (info.tensor_count > 0 && std::strcmp(info.tensors[op.inputs].name, "out") != 0)
    text += "out=None, ";
  for (std::size_t i = 0; i < info.option_count; ++i) {
    const diecast_op_option& option = info.options[i];
    const std::string words(option.words);
    const std::string fallback = option.kind == DIECAST_WORD
                                     ? "'" + words.substr(0, words.find(' ')) + "'"
                                 : option.kind == DIECAST_FLAG  ? "False"
                                 : option.kind == DIECAST_COUNT ? std::to_string(option.integer)
                                                                : std::to_string(option.real);
    text += std::string(option.name) + "=" + fallback + ", ";
  }
  return text + "device=None, stream=None, runtime=None)";
}

std::string help(const Op& op) {
  const diecast_op_info& info = *op.info;
  std::string text = signature(op) + "\n--\n\n" + info.what + "\n\n";
  for (std::size_t i = 0; i < info.tensor_count; ++i)
    text += std::string("  ") + info.tensors[i].name + ": " + info.tensors[i].what + "\n";
  for (std::size_t i = 0; i < info.option_count; ++i) {
    const diecast_op_option& option = info.options[i];
    text += std::string("  ") + option.name + ": " + option.what;
    if (option.kind == DIECAST_WORD) text += std::string("; one of ") + option.words;
    text += "\n";
  }
  return text +
         "  out: memory for the outputs, in their order; without it they are made by x's "
         "framework\n"
         "  device: \"host\" to compute CPU tensors on this processor; else the tensors' own\n"
         "  stream: an int or a stream object; else the one that the tensors' framework works on\n"
         "\nReturns the output, or a tuple of the outputs that the call has, in their order.\n"
         "Raises subclasses of diecast.Error, which have .code and .fix.\n";
}

Op* make_op(const diecast_op_info& info) {
  auto* const op = new Op;
  op->info = &info;
  for (std::size_t i = 0; i < info.tensor_count; ++i) {
    op->tensor_names[i] = PyUnicode_InternFromString(info.tensors[i].name);
    const int role = info.tensors[i].role;
    op->inputs += role == DIECAST_INPUT || role == DIECAST_OPTIONAL_INPUT;
    op->has_scratch |= role == DIECAST_SCRATCH;
    if (role == DIECAST_OUTPUT) op->output_bits |= std::uint32_t{1} << i;
  }
  op->defaults.set_defaults(info);
  for (std::size_t i = 0; i < info.option_count; ++i) {
    op->option_names[i] = PyUnicode_InternFromString(info.options[i].name);
    std::istringstream words(info.options[i].words);
    for (std::string word; words >> word;)
      op->words[i].push_back(Ref(PyUnicode_InternFromString(word.c_str())));
  }
  return op;
}

int add_op(PyObject* module, Op* op) {
  auto* const text = new std::string(help(*op));
  auto* const method = new PyMethodDef{
      op->info->name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_op)),
      METH_FASTCALL | METH_KEYWORDS, text->c_str()};
  const Ref self(PyCapsule_New(op, nullptr, nullptr));
  const Ref name(PyUnicode_FromString("diecast"));
  if (!self || !name) return -1;
  const Ref function(PyCFunction_NewEx(method, self.get(), name.get()));
  return function ? PyModule_AddObjectRef(module, op->info->name, function.get()) : -1;
}

// Appends a new reference to a list. An exception may be set.
void append(const Ref& list, PyObject* made) {
  const Ref item(made);
  if (item) PyList_Append(list.get(), item.get());
}

}  // namespace

const char* Op::word(std::size_t option, PyObject* value) const {
  for (const bool by_text : {false, true})
    for (const Ref& known : words[option])
      if (by_text ? PyUnicode_Compare(known.get(), value) == 0 : known.get() == value)
        return PyUnicode_AsUTF8AndSize(known.get(), nullptr);
  return PyUnicode_AsUTF8AndSize(value, nullptr);
}

Op* op_by_name(PyObject* name) {
  for (Op* op : every_op())
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, op->info->name) == 0)
      return op;
  std::uint32_t none = 0;
  const char* const word = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
  if (diecast_op_find(word == nullptr ? "" : word, &none) != diecast_ok) raise_last();
  return nullptr;
}

// The op that a function is about: its first argument. Null: an exception.
static Op* first_of(PyObject* const* arguments, Py_ssize_t count, const char* function) {
  if (count > 0) return op_by_name(arguments[0]);
  PyErr_Format(PyExc_TypeError, "%s() needs the op's name, then its tensors", function);
  return nullptr;
}

static PyObject* shapes_of(int role, PyObject* const* arguments, Py_ssize_t count,
                           PyObject* names) {
  Op* const op = first_of(arguments, count, "output_shapes");
  if (op == nullptr) return nullptr;
  Call call(*op);
  if (!call.parse(arguments + 1, count - 1, names, nullptr)) return nullptr;
  return call.shapes_of(role);
}

PyObject* output_shapes(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return shapes_of(DIECAST_OUTPUT, arguments, count, names);
}

PyObject* scratch_shapes(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return shapes_of(DIECAST_SCRATCH, arguments, count, names);
}

PyObject* check(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  Op* const op = first_of(arguments, count, "check");
  if (op == nullptr) return nullptr;
  Call call(*op);
  if (!call.parse(arguments + 1, count - 1, names, nullptr) || !call.read_given()) return nullptr;
  const diecast_handle runtime = runtime_of(call.runtime());
  if (PyErr_Occurred() != nullptr) return nullptr;
  const int code = diecast_op_check(runtime, op->info->number, call.tensors(), &call.options());
  return code == diecast_ok ? Py_NewRef(Py_None) : raise_last();
}

PyObject* op_table(PyObject*, PyObject*) {
  Ref table(PyList_New(0));
  for (std::size_t i = 0; table && i < every_op().size(); ++i) {
    const diecast_op_info& info = *every_op()[i]->info;
    const Ref tensors(PyList_New(0)), options(PyList_New(0));
    for (std::size_t t = 0; tensors && t < info.tensor_count; ++t) {
      const diecast_op_tensor& tensor = info.tensors[t];
      append(tensors, Py_BuildValue("(sis)", tensor.name, tensor.role, tensor.what));
    }
    for (std::size_t o = 0; options && o < info.option_count; ++o) {
      const diecast_op_option& option = info.options[o];
      append(options,
             Py_BuildValue("(sisLds)", option.name, option.kind, option.words,
                           static_cast<long long>(option.integer), option.real, option.what));
    }
    if (PyErr_Occurred() == nullptr)
      append(table, Py_BuildValue("(ssOO)", info.name, info.what, tensors.get(), options.get()));
  }
  return PyErr_Occurred() == nullptr ? table.release() : nullptr;
}

int add_ops(PyObject* module) {
  const diecast_op_info* info = nullptr;
  for (std::uint32_t number = 1; diecast_op_describe(number, &info) == diecast_ok; ++number) {
    every_op().push_back(make_op(*info));
    if (add_op(module, every_op().back()) != 0) return -1;
  }
  const Ref names(PyTuple_New(static_cast<Py_ssize_t>(every_op().size())));
  for (std::size_t i = 0; names && i < every_op().size(); ++i)
    PyTuple_SetItem(names.get(), static_cast<Py_ssize_t>(i),
                    PyUnicode_FromString(every_op()[i]->info->name));
  return names ? PyModule_AddObjectRef(module, "op_names", names.get()) : -1;
}

}  // namespace diecast::python
