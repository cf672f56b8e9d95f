// Casting sharded master weights, with ranks that are functions of Python.
#include <vector>

#include "runtime.h"
#include "tensor_list.h"

namespace diecast::python {
namespace {

constexpr const char* kName = "cast_master_weights";

// The caller's two functions, and what one of them raised.
struct Ranks {
  PyObject *all_reduce_max = nullptr, *all_gather = nullptr;
  int count = 0;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
};

// Calls with Python's lock, which the cast let go. An exception waits until the cast has ended.
template <class Function>
std::int32_t with_gil(Ranks& ranks, Function&& function) {
  const PyGILState_STATE state = PyGILState_Ensure();
  std::int32_t code = 0;
  if (const Ref done = function(); !done) {
    PyErr_Fetch(&ranks.type, &ranks.value, &ranks.trace);
    code = 1;
  }
  PyGILState_Release(state);
  return code;
}

std::int32_t all_reduce_max(void* user, float* values, std::int64_t count, void* stream) {
  auto& ranks = *static_cast<Ranks*>(user);
  return with_gil(ranks, [&] {
    return Ref(PyObject_CallFunction(
        ranks.all_reduce_max, "KLK", reinterpret_cast<unsigned long long>(values),
        static_cast<long long>(count), reinterpret_cast<unsigned long long>(stream)));
  });
}

Ref numbers(const std::int64_t* values, int count) {
  Ref all(PyTuple_New(count));
  for (int i = 0; all && i < count; ++i)
    PyTuple_SetItem(all.get(), i, PyLong_FromLongLong(values[i]));
  return all;
}

std::int32_t all_gather(void* user, void* buffer, const std::int64_t* offsets,
                        const std::int64_t* counts, void* stream) {
  auto& ranks = *static_cast<Ranks*>(user);
  return with_gil(ranks, [&] {
    const Ref from = numbers(offsets, ranks.count), bytes = numbers(counts, ranks.count);
    if (!from || !bytes) return Ref();
    return Ref(PyObject_CallFunction(ranks.all_gather, "KOOK",
                                     reinterpret_cast<unsigned long long>(buffer), from.get(),
                                     bytes.get(), reinterpret_cast<unsigned long long>(stream)));
  });
}

// The weights of a call while it lasts.
struct Weights {
  TensorList tensors{kName};
  std::vector<diecast_master_weight> weights;

  bool add(PyObject* item) {
    PyObject *data = nullptr, *scale = nullptr, *amax = nullptr, *master = nullptr;
    long long start = 0, cols = 0;
    if (!PyArg_ParseTuple(item, "OOOOLL", &data, &scale, &amax, &master, &start, &cols))
      return raise_not_parsed(kName), false;
    diecast_master_weight& weight = weights.emplace_back();
    weight.start = start;
    weight.cols = cols;
    return tensors.read(weight.master, master, "master", false) &&
           tensors.read(weight.data, data, "data", true) &&
           tensors.read(weight.scale, scale, "scale", true) &&
           tensors.read(weight.amax, amax, "amax", true);
  }
};

PyObject* cast_master_weights(PyObject*, PyObject* arguments) {
  PyObject *list = nullptr, *device = nullptr, *stream = nullptr;
  unsigned long long runtime = 0;
  Ranks ranks;
  diecast_ranks functions{};
  diecast_master_cast_options options{};
  options.size = sizeof options;
  if (!PyArg_ParseTuple(arguments, "KO!OOiiOOzzpp|ss", &runtime, &PyList_Type, &list, &device,
                        &stream, &functions.rank, &functions.count, &ranks.all_reduce_max,
                        &ranks.all_gather, &options.model, &options.layout, &options.keep_shards,
                        &options.padded_scales, &options.fault, &options.fault_fix))
    return nullptr;
  Weights weights;
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i)
    if (!weights.add(PyList_GetItem(list, i))) return nullptr;
  Place place;
  if (!weights.tensors.place(place, device, stream)) return nullptr;
  ranks.count = functions.count;
  functions.size = sizeof functions;
  functions.user = &ranks;
  functions.all_reduce_max = all_reduce_max;
  functions.all_gather = all_gather;
  const int code = without_gil([&] {
    return diecast_cast_master_weights(runtime, place.device, weights.weights.data(),
                                       weights.weights.size(), &functions, &options, place.stream);
  });
  if (ranks.type != nullptr) {
    PyErr_Restore(ranks.type, ranks.value, ranks.trace);
    return nullptr;
  }
  if (code != diecast_ok) return raise_last();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"cast_master_weights", cast_master_weights, METH_VARARGS, nullptr}, {}};

}  // namespace

int add_weights(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace diecast::python
