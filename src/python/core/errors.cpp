// The library's errors as exceptions; the classes are Python's own (diecast/_errors.py).
#include <cstdio>

#include "python.h"

namespace diecast::python {
namespace {

PyObject* classes = nullptr;  // {word: class}

PyObject* text(const char* utf8) {
  return PyUnicode_DecodeUTF8(utf8, static_cast<Py_ssize_t>(__builtin_strlen(utf8)), "replace");
}

}  // namespace

PyObject* set_errors(PyObject*, PyObject* given) {
  Ref old(classes);
  classes = Py_NewRef(given);
  Py_RETURN_NONE;
}

PyObject* raise(const char* code, const char* what, const char* fix) {
  if (PyErr_Occurred() != nullptr) return nullptr;  // a callback's own
  PyObject* const kind = classes == nullptr ? nullptr : PyDict_GetItemString(classes, code);
  if (kind == nullptr) return PyErr_Format(PyExc_RuntimeError, "%s: %s; fix: %s", code, what, fix);
  const Ref word(text(code)), happened(text(what)), mend(text(fix));
  if (!word || !happened || !mend) return nullptr;
  const Ref error(
      PyObject_CallFunctionObjArgs(kind, word.get(), happened.get(), mend.get(), nullptr));
  if (error) PyErr_SetObject(kind, error.get());
  return nullptr;
}

PyObject* raise_about(const char* code, const char* op, const char* name, const char* what,
                      const char* fix) {
  char whole[512];
  std::snprintf(whole, sizeof whole, "%s: %s %s", op, name, what);
  return raise(code, whole, fix);
}

// A number that the C type does not hold is an error of diecast's; what else is set stays. Returns
// null.
static PyObject* raise_if_large(const char* op, const char* name, const char* what) {
  if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) return nullptr;
  PyErr_Clear();
  return raise_about("value_not_allowed", op, name, what, "pass a smaller number");
}
static bool fits(const char* op, const char* name) {
  if (PyErr_Occurred() == nullptr) return true;
  raise_if_large(op, name, "is beyond 64 bits");
  return false;
}

bool integer_of(PyObject* value, std::int64_t& to, const char* op, const char* name) {
  to = PyLong_AsLongLong(value);
  return to != -1 || fits(op, name);
}

bool number_of(PyObject* value, double& to, const char* op, const char* name) {
  to = PyFloat_AsDouble(value);
  if (to != -1 || PyErr_Occurred() == nullptr) return true;
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return fits(op, name);
  PyErr_Clear();
  raise_about("dtype_mismatch", op, name, "is no number", "pass an int or a float");
  return false;
}

PyObject* raise_not_parsed(const char* function) {
  return raise_if_large(function, "a number", "is too large");
}

PyObject* raise_last() {
  diecast_error error{sizeof(diecast_error), 0, "", "", ""};
  diecast_last_error(&error);
  return raise(error.word, error.what, error.fix);
}

}  // namespace diecast::python
