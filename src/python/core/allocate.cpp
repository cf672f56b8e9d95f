// What makes tensors, asked for once a type of tensors and of elements; see allocate.h.
#include "allocate.h"

namespace diecast::python {
namespace {

PyObject* allocator = nullptr;  // _frameworks.allocator

// The reference to the type keeps its address from being used again.
struct Maker {
  PyObject* type = nullptr;
  const char* dtype = nullptr;  // the library's, so that one type has one address
  PyObject* make = nullptr;
};
// Python's lock guards them.
Maker makers[64];
int maker_count = 0;

Ref maker_of(PyObject* like, const char* dtype) {
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(like));
  for (int i = 0; i < maker_count; ++i)
    if (makers[i].type == type && makers[i].dtype == dtype) return Ref::borrow(makers[i].make);
  Ref made(PyObject_CallFunction(allocator, "Os", like, dtype));
  if (made && maker_count < static_cast<int>(sizeof makers / sizeof *makers))
    makers[maker_count++] = {Py_NewRef(type), dtype, Py_NewRef(made.get())};
  return made;
}

}  // namespace

PyObject* allocate(PyObject* like, const diecast_output& output) {
  const Ref make = maker_of(like, output.dtype);
  const Ref shape(make ? PyTuple_New(output.ndim) : nullptr);
  for (int d = 0; shape && d < output.ndim; ++d)
    PyTuple_SetItem(shape.get(), d, PyLong_FromLongLong(output.shape[d]));
  if (!shape) return nullptr;
  return PyObject_CallFunctionObjArgs(make.get(), like, shape.get(), nullptr);
}

PyObject* set_allocator(PyObject*, PyObject* function) {
  const Ref old(std::exchange(allocator, Py_NewRef(function)));
  Py_RETURN_NONE;
}

}  // namespace diecast::python
