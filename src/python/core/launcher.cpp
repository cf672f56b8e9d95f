// The type that diecast.Kernel extends: a call goes by a plan, or makes one.
#include <new>

#include "kernel_call.h"
#include "kernel_plan.h"

namespace diecast::python {
namespace {

struct Launcher {
  PyObject_HEAD KernelPlans* plans;
};

KernelPlans* plans_of(PyObject* self) { return reinterpret_cast<Launcher*>(self)->plans; }

// Takes a keyword out of a dict. None where it is not there.
Ref take(PyObject* named, const char* word) {
  Ref value = Ref::borrow(PyDict_GetItemString(named, word));
  if (!value) return Ref::borrow(Py_None);
  PyDict_DelItemString(named, word);
  return value;
}

[[gnu::noinline]] PyObject* call_slowly(PyObject* self, PyObject* tensors, PyObject* keywords,
                                        const KernelValues* values) {
  const Ref named(keywords == nullptr ? PyDict_New() : PyDict_Copy(keywords));
  if (!named) return nullptr;
  const Ref device = take(named.get(), "device"), stream = take(named.get(), "stream");
  const Ref form(PyObject_CallMethod(self, "_form", "OO", tensors, named.get()));
  if (!form) return nullptr;
  Ref variant;
  PyObject* const result =
      call_kernel(form.get(), {tensors, named.get(), device.get(), stream.get()}, variant);
  if (result != nullptr && values != nullptr)
    plans_of(self)->keep(*values, PyTuple_GetItem(form.get(), 1), variant.get());
  return result;
}

[[gnu::hot]] PyObject* call(PyObject* self, PyObject* tensors, PyObject* keywords) {
  KernelValues values;
  const bool few = values.read(tensors, keywords);
  if (KernelPlan* const plan = few ? plans_of(self)->find(values) : nullptr; plan != nullptr) {
    PyObject* const result = plan->call(values);
    if (result != nullptr || PyErr_Occurred() != nullptr) return result;
  }
  return call_slowly(self, tensors, keywords, few ? &values : nullptr);
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = PyType_GenericAlloc(type, 0);
  if (self != nullptr) reinterpret_cast<Launcher*>(self)->plans = new KernelPlans;
  return self;
}

int clear(PyObject* self) {
  plans_of(self)->forget();
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {  // the name is Py_VISIT's
  Py_VISIT(Py_TYPE(self));
  return plans_of(self) == nullptr ? 0 : plans_of(self)->visit(visit, arg);
}

void end(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete plans_of(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* forget(PyObject* self, PyObject*) {
  plans_of(self)->forget();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"_forget", forget, METH_NOARGS, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_call, reinterpret_cast<void*>(call)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(end)},
                       {Py_tp_methods, methods},
                       {}};
PyType_Spec spec = {"diecast._core.Launcher", sizeof(Launcher), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

int add_launcher(PyObject* module) {
  const Ref type(PyType_FromSpec(&spec));
  return type ? PyModule_AddObjectRef(module, "Launcher", type.get()) : -1;
}

}  // namespace diecast::python
