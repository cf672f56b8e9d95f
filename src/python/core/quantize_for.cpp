// New weights for a quantized folder: prepared, described, and quantized into tensors that
// diecast._quantize_for makes.
#include <vector>

#include "handles.h"
#include "runtime.h"
#include "tensor_list.h"

namespace diecast::python {
namespace {

constexpr const char* kName = "quantize_for";

// A list of (name, tensor, amax or None, input scale).
bool read_weights(std::vector<diecast_new_weight>& to, TensorList& tensors, PyObject* list) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    PyObject *tensor = nullptr, *amax = nullptr;
    diecast_new_weight& weight = to.emplace_back();
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sOOf", &weight.name, &tensor, &amax,
                          &weight.input_scale) ||
        !tensors.read(weight.tensor, tensor, weight.name, false) ||
        !tensors.read(weight.amax, amax, "amax", false))
      return false;
  }
  return true;
}

PyObject* prepare(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  const char* config = nullptr;
  PyObject *list = nullptr, *device = nullptr, *stream = nullptr;
  diecast_quantize_for_options options{};
  options.size = sizeof options;
  if (!PyArg_ParseTuple(arguments, "KsO!OOzzip", &runtime, &config, &PyList_Type, &list, &device,
                        &stream, &options.profile, &options.four_over_six, &options.e4m3_bound,
                        &options.whole_families))
    return raise_not_parsed("quantize_for");
  TensorList tensors(kName);
  std::vector<diecast_new_weight> weights;
  Place place;
  if (!read_weights(weights, tensors, list) || !tensors.place(place, device, stream))
    return nullptr;
  diecast_handle prepared = 0;
  const int code = without_gil([&] {
    return diecast_quantize_for_prepare(runtime, place.device, config, weights.data(),
                                        weights.size(), &options, &prepared);
  });
  return code == diecast_ok ? make_handle(prepared) : raise_last();
}

// (bytes of the workspace, a list of (name, type, shape, place of its weight)).
PyObject* outputs(PyObject*, PyObject* object) {
  const diecast_handle prepared = handle_of(object);
  if (PyErr_Occurred() != nullptr) return nullptr;
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  if (diecast_quantize_for_outputs(prepared, nullptr, 0, &count, &bytes) != diecast_ok)
    return raise_last();
  std::vector<diecast_stored_tensor> all(count + 1);  // never null
  std::vector<std::size_t> sources(count + 1);
  if (diecast_quantize_for_outputs(prepared, all.data(), count, &count, &bytes) != diecast_ok ||
      diecast_quantize_for_sources(prepared, sources.data(), count) != diecast_ok)
    return raise_last();
  const Ref list(PyList_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; list && i < count; ++i) {
    Ref shape(PyTuple_New(all[i].ndim));
    for (int d = 0; shape && d < all[i].ndim; ++d)
      PyTuple_SetItem(shape.get(), d, PyLong_FromLongLong(all[i].shape[d]));
    if (!shape) return nullptr;
    PyObject* const one = Py_BuildValue("(ssOn)", all[i].name, all[i].dtype, shape.get(),
                                        static_cast<Py_ssize_t>(sources[i]));
    if (one == nullptr || PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), one) != 0)
      return nullptr;
  }
  return list ? Py_BuildValue("(KO)", static_cast<unsigned long long>(bytes), list.get()) : nullptr;
}

PyObject* run(PyObject*, PyObject* arguments) {
  PyObject *handle = nullptr, *list = nullptr, *outs = nullptr, *workspace = nullptr,
           *device = nullptr, *stream = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO!O!OOO", &handle, &PyList_Type, &list, &PyList_Type, &outs,
                        &workspace, &device, &stream))
    return nullptr;
  const diecast_handle prepared = handle_of(handle);
  if (PyErr_Occurred() != nullptr) return nullptr;
  TensorList tensors(kName);
  std::vector<diecast_new_weight> weights;
  std::vector<const diecast_tensor*> written(static_cast<std::size_t>(PyList_Size(outs)) + 1);
  const std::size_t count = written.size() - 1;
  const diecast_tensor* scratch = nullptr;
  if (!read_weights(weights, tensors, list)) return nullptr;
  for (std::size_t i = 0; i < count; ++i)
    if (!tensors.read(written[i], PyList_GetItem(outs, static_cast<Py_ssize_t>(i)), "an output",
                      true))
      return nullptr;
  Place place;
  if (!tensors.read(scratch, workspace, "workspace", true) || !tensors.place(place, device, stream))
    return nullptr;
  const int code = without_gil([&] {
    return diecast_quantize_for_run(prepared, weights.data(), weights.size(), written.data(), count,
                                    scratch, place.stream);
  });
  if (code != diecast_ok) return raise_last();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"quantize_for_prepare", prepare, METH_VARARGS, nullptr},
                         {"quantize_for_outputs", outputs, METH_O, nullptr},
                         {"quantize_for_run", run, METH_VARARGS, nullptr},
                         {}};

}  // namespace

int add_quantize_for(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace diecast::python
