// Functions on runtimes and templates, for diecast/_runtime.py; all of them may take long.
#include "runtime.h"

#include <cstdint>

#include "handles.h"
#include "kernel_arguments.h"

namespace diecast::python {
namespace {

// An event of the library as a call of Python. What the function raises is printed and dropped.
void on_event(void* user, const char* event, const char* spelling, const char* detail,
              double milliseconds) {
  const PyGILState_STATE state = PyGILState_Ensure();
  {
    const Ref told(PyObject_CallFunction(static_cast<PyObject*>(user), "sssd", event, spelling,
                                         detail, milliseconds));
    if (!told) PyErr_WriteUnraisable(static_cast<PyObject*>(user));
  }
  PyGILState_Release(state);
}

template <class Function>
PyObject* handle_by(Function&& function) {
  diecast_handle made = 0;
  const int code = without_gil([&] { return function(&made); });
  return code == diecast_ok ? make_handle(made) : raise_last();
}

template <class Function>
PyObject* text_by(Function&& function, bool bytes = false) {
  return text_of([&](diecast_text* text) { return without_gil([&] { return function(text); }); },
                 bytes);
}

PyObject* runtime_open(PyObject*, PyObject* arguments) {
  diecast_runtime_options options{};
  options.size = sizeof options;
  PyObject* callback = nullptr;
  if (!PyArg_ParseTuple(arguments, "zzzzzzzO", &options.cache, &options.cache_policy,
                        &options.template_directory, &options.tuning, &options.trace,
                        &options.nvrtc, &options.host_compiler, &callback))
    return nullptr;
  if (callback != Py_None) {
    options.on_event = on_event;
    options.user = Py_NewRef(callback);  // as long as the process: events may come until the end
  }
  return handle_by([&](diecast_handle* made) { return diecast_runtime_open(&options, made); });
}

// What a runtime is given as one text: a path, records.
template <std::int32_t (*kFunction)(diecast_handle, const char*)>
PyObject* takes_text(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  const char* text = nullptr;
  if (!PyArg_ParseTuple(arguments, "Ks", &runtime, &text)) return nullptr;
  return none_of([&] { return kFunction(runtime, text); });
}

// The same under a name.
template <std::int32_t (*kFunction)(diecast_handle, const char*, const char*)>
PyObject* takes_named_text(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  const char *name = nullptr, *text = nullptr;
  if (!PyArg_ParseTuple(arguments, "Kss", &runtime, &name, &text)) return nullptr;
  return none_of([&] { return kFunction(runtime, name, text); });
}

PyObject* template_names(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  if (!PyArg_ParseTuple(arguments, "K", &runtime)) return nullptr;
  return text_by([&](diecast_text* text) { return diecast_template_names(runtime, text); });
}

// What a function tells of a template or of a spelling.
template <std::int32_t (*kFunction)(diecast_handle, const char*, diecast_text*)>
PyObject* told_of(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  const char* name = nullptr;
  if (!PyArg_ParseTuple(arguments, "Ks", &runtime, &name)) return nullptr;
  return text_by([&](diecast_text* text) { return kFunction(runtime, name, text); });
}

PyObject* specialize(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0, device = 0;
  const char* spelling = nullptr;
  if (!PyArg_ParseTuple(arguments, "KKs", &runtime, &device, &spelling)) return nullptr;
  return text_by(
      [&](diecast_text* text) { return diecast_specialize(runtime, device, spelling, text); });
}

PyObject* resolve(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  const char* spelling = nullptr;
  if (!PyArg_ParseTuple(arguments, "Ks", &runtime, &spelling)) return nullptr;
  diecast_artifact_info info{};
  info.size = sizeof info;
  Ref code(text_by(
      [&](diecast_text* text) { return diecast_resolve(runtime, spelling, &info, text); }, true));
  if (!code) return nullptr;
  return Py_BuildValue("{s:i,s:i,s:i,s:i,s:i,s:i,s:d,s:N}", "origin", info.origin, "is_cubin",
                       info.is_cubin, "registers", info.registers, "spill_bytes", info.spill_bytes,
                       "local_bytes", info.local_bytes, "static_shared_bytes",
                       info.static_shared_bytes, "compile_ms", info.compile_ms, "code",
                       code.release());
}

PyObject* warm(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  const char *manifest = nullptr, *targets = nullptr;
  if (!PyArg_ParseTuple(arguments, "Ksz", &runtime, &manifest, &targets)) return nullptr;
  diecast_warm_counts counts{};
  counts.size = sizeof counts;
  const Ref done(none_of([&] { return diecast_warm(runtime, manifest, targets, &counts); }));
  if (!done) return nullptr;
  return Py_BuildValue("{s:K,s:K,s:K,s:K}", "wanted", counts.wanted, "compiled", counts.compiled,
                       "found", counts.found, "failed", counts.failed);
}

PyObject* bundle_create(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  const char *manifest = nullptr, *targets = nullptr, *path = nullptr;
  if (!PyArg_ParseTuple(arguments, "Kszs", &runtime, &manifest, &targets, &path)) return nullptr;
  return text_by([&](diecast_text* text) {
    return diecast_bundle_create(runtime, manifest, targets, path, text);
  });
}

// A line as an item of a list; a failure is Python's and told by the caller.
void on_line(void* user, const char* line) {
  const PyGILState_STATE state = PyGILState_Ensure();
  {
    const Ref text(PyUnicode_FromString(line));
    if (text) PyList_Append(static_cast<PyObject*>(user), text.get());
  }
  PyGILState_Release(state);
}

// tune(runtime, device, spelling, sizes, values, arguments) -> the records. arguments: the name and
// traits of each value.
PyObject* tune(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0, device = 0;
  const char *spelling = nullptr, *sizes = nullptr;
  PyObject *values = nullptr, *names = nullptr;
  if (!PyArg_ParseTuple(arguments, "KKssO!O!", &runtime, &device, &spelling, &sizes, &PyTuple_Type,
                        &values, &PyTuple_Type, &names))
    return nullptr;
  Arguments given("tune");
  for (Py_ssize_t i = 0; i < PyTuple_Size(values); ++i)
    if (!given.add(PyTuple_GetItem(values, i), PyTuple_GetItem(names, i))) return nullptr;
  Ref lines(PyList_New(0));
  if (!lines) return nullptr;
  const Ref done(none_of([&] {
    return diecast_tune_given(runtime, device, spelling, sizes, given.data(), given.size(), on_line,
                              lines.get());
  }));
  return done ? lines.release() : nullptr;
}

PyObject* freeze(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  int late = 0;
  if (!PyArg_ParseTuple(arguments, "Kp", &runtime, &late)) return nullptr;
  return none_of([&] { return diecast_freeze(runtime, late); });
}

PyObject* flush(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  if (!PyArg_ParseTuple(arguments, "K", &runtime)) return nullptr;
  return none_of([&] { return diecast_flush(runtime); });
}

PyObject* counters(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  if (!PyArg_ParseTuple(arguments, "K", &runtime)) return nullptr;
  diecast_counters all{};
  all.size = sizeof all;
  if (diecast_counters_read(runtime, &all) != diecast_ok) return raise_last();
  return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "rendered",
                       all.rendered, "memory_hits", all.memory_hits, "disk_hits", all.disk_hits,
                       "compiled", all.compiled, "failed", all.failed, "published", all.published,
                       "loaded", all.loaded, "waited", all.waited, "late", all.late, "refused",
                       all.refused, "pruned", all.pruned, "ignored", all.ignored, "degraded",
                       all.degraded);
}

PyObject* cache_state(PyObject*, PyObject* arguments) {
  unsigned long long runtime = 0;
  if (!PyArg_ParseTuple(arguments, "K", &runtime)) return nullptr;
  return text_by([&](diecast_text* text) { return diecast_cache_state(runtime, text); });
}

PyObject* device_info(PyObject*, PyObject* arguments) {
  unsigned long long device = 0;
  if (!PyArg_ParseTuple(arguments, "K", &device)) return nullptr;
  diecast_device_info info{};
  info.size = sizeof info;
  if (diecast_device_info_read(device, &info) != diecast_ok) return raise_last();
  return Py_BuildValue("{s:s,s:s,s:i,s:i,s:i,s:L}", "name", info.name, "target", info.target,
                       "ordinal", info.ordinal, "capability", info.capability, "multiprocessors",
                       info.multiprocessors, "memory_bytes",
                       static_cast<long long>(info.memory_bytes));
}

PyObject* cuda_device_count(PyObject*, PyObject*) {
  std::int32_t count = 0;
  if (diecast_cuda_device_count(&count) != diecast_ok) return raise_last();
  return PyLong_FromLong(count);
}

PyMethodDef methods[] = {
    {"runtime_open", runtime_open, METH_VARARGS, nullptr},
    {"template_add", takes_text<diecast_template_add>, METH_VARARGS, nullptr},
    {"template_add_text", takes_named_text<diecast_template_add_text>, METH_VARARGS, nullptr},
    {"header_add", takes_named_text<diecast_header_add>, METH_VARARGS, nullptr},
    {"template_names", template_names, METH_VARARGS, nullptr},
    {"template_describe", told_of<diecast_template_describe>, METH_VARARGS, nullptr},
    {"template_variants", told_of<diecast_template_variants>, METH_VARARGS, nullptr},
    {"specialize", specialize, METH_VARARGS, nullptr},
    {"source", told_of<diecast_source>, METH_VARARGS, nullptr},
    {"ptx", told_of<diecast_ptx>, METH_VARARGS, nullptr},
    {"sass", told_of<diecast_sass>, METH_VARARGS, nullptr},
    {"resolve", resolve, METH_VARARGS, nullptr},
    {"warm", warm, METH_VARARGS, nullptr},
    {"bundle_create", bundle_create, METH_VARARGS, nullptr},
    {"tune", tune, METH_VARARGS, nullptr},
    {"tuning_add", takes_text<diecast_tuning_add>, METH_VARARGS, nullptr},
    {"freeze", freeze, METH_VARARGS, nullptr},
    {"flush", flush, METH_VARARGS, nullptr},
    {"counters", counters, METH_VARARGS, nullptr},
    {"cache_state", cache_state, METH_VARARGS, nullptr},
    {"device_info", device_info, METH_VARARGS, nullptr},
    {"cuda_device_count", cuda_device_count, METH_NOARGS, nullptr},
    {}};

}  // namespace

int add_runtime(PyObject* module) { return PyModule_AddFunctions(module, methods); }

}  // namespace diecast::python
