// Objects of Python that own a handle: runtimes, kernels and prepared ops close it when they end.
#include "handles.h"

namespace diecast::python {
namespace {

struct HandleObject {
  PyObject_HEAD diecast_handle handle;
};

PyTypeObject* type = nullptr;

// Waits for other threads' calls, which may be in Python.
void close_handle(diecast_handle handle) {
  if (handle == 0) return;
  without_gil([&] { return diecast_close(handle); });
}

void end(PyObject* self) {
  auto& object = *reinterpret_cast<HandleObject*>(self);
  PyTypeObject* const own = Py_TYPE(self);
  close_handle(std::exchange(object.handle, 0));
  PyObject_Free(self);
  Py_DECREF(own);
}

PyObject* number(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(reinterpret_cast<HandleObject*>(self)->handle);
}

PyObject* close(PyObject* self, PyObject*) {
  close_handle(std::exchange(reinterpret_cast<HandleObject*>(self)->handle, 0));
  Py_RETURN_NONE;
}

PyGetSetDef properties[] = {{"number", number, nullptr, nullptr, nullptr}, {}};
PyMethodDef methods[] = {{"close", close, METH_NOARGS, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(end)},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {}};
PyType_Spec spec = {"diecast._core.Handle", sizeof(HandleObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject* make_handle(diecast_handle handle) {
  PyObject* const made = PyType_GenericAlloc(type, 0);
  if (made == nullptr) {
    diecast_close(handle);
    return nullptr;
  }
  reinterpret_cast<HandleObject*>(made)->handle = handle;
  return made;
}

diecast_handle handle_of(PyObject* object) {
  if (Py_TYPE(object) == type) return reinterpret_cast<HandleObject*>(object)->handle;
  PyErr_SetString(PyExc_TypeError, "this is no handle of diecast");
  return 0;
}

int add_handles(PyObject* module) {
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return type == nullptr
             ? -1
             : PyModule_AddObjectRef(module, "Handle", reinterpret_cast<PyObject*>(type));
}

}  // namespace diecast::python
