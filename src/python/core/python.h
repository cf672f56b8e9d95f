// What the files of the extension share: Python's limited API, an owner of references, and errors.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <diecast/c.h>

#include <cstdint>
#include <utility>

namespace diecast::python {

// Owns one reference; null where a call failed.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  static Ref borrow(PyObject* object) { return Ref(Py_XNewRef(object)); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// An attribute, or null without an exception where there is none.
inline Ref attribute(PyObject* object, const char* name) {
  Ref found(PyObject_GetAttrString(object, name));
  if (!found) PyErr_Clear();
  return found;
}

// Takes the lock again after a call without it. As the process ends, a thread other than the main
// one stops here for ever, as Python's own do: to end it would run destructors without the lock.
void take_gil(PyThreadState* saved);
// stop_threads(): from now on they stop. The main thread calls it before Python ends.
PyObject* stop_threads(PyObject*, PyObject*);

// Calls what may compile, load, read a disk or wait, while other threads run Python.
template <class Function>
auto without_gil(Function&& function) {
  PyThreadState* const saved = PyEval_SaveThread();
  const auto result = function();
  take_gil(saved);
  return result;
}

// Raises this thread's last error of the library as the subclass of diecast.Error for its code.
// Returns null.
PyObject* raise_last();
// The same of an error that the extension itself finds.
PyObject* raise(const char* code, const char* what, const char* fix);
PyObject* raise_about(const char* code, const char* op, const char* name, const char* what,
                      const char* fix);
// An int as 64 bits, a number as a double. False: an exception is set, in the name of an argument.
bool integer_of(PyObject* value, std::int64_t& to, const char* op, const char* name);
bool number_of(PyObject* value, double& to, const char* op, const char* name);
// After PyArg_ParseTuple of a function's arguments failed: a number that the C type does not hold
// is an error of diecast's. Returns null.
PyObject* raise_not_parsed(const char* function);
// set_errors(classes): the class of each code, by its word.
PyObject* set_errors(PyObject*, PyObject* classes);

// A text that the library writes: `write` is called with the structure, once more where the text is
// long.
template <class Write>
PyObject* text_of(Write&& write, bool bytes = false) {
  diecast_text text{};
  Ref buffer;
  for (std::size_t room = std::size_t{1} << 18;; room = text.needed) {
    buffer = Ref(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(room)));
    if (!buffer) return nullptr;
    text.buffer = PyBytes_AsString(buffer.get());
    text.capacity = room + 1;
    if (write(&text) != diecast_ok) return raise_last();
    if (text.needed <= room) break;
  }
  const auto size = static_cast<Py_ssize_t>(text.needed);
  return bytes ? PyBytes_FromStringAndSize(text.buffer, size)
               : PyUnicode_DecodeUTF8(text.buffer, size, "replace");
}

// ---- one function a file adds to the module; -1: failed ----
int add_ops(PyObject* module);
int add_handles(PyObject* module);

}  // namespace diecast::python
