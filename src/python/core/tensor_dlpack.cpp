// Reading a tensor by DLPack: by the C table of its type, or by a capsule; see tensor.h.
#include <cstring>
#include <string>

#include "tensor.h"

namespace diecast::python {

bool TensorArgument::take(const diecast_tensor& tensor, std::uint64_t flags) {
  tensor_ = tensor;
  read_only_ = (flags & kReadOnly) != 0;
  if ((flags & kPadded) != 0) tensor_.type_code = 0xFF;  // one code a byte: no type of ours
  return true;
}

// What a framework raised instead of a view is an error of diecast's with its words. Returns -1.
static int not_passed(const char* op, const char* name) {
  std::string what = "is no tensor that DLPack passes";
  if (PyErr_ExceptionMatches(PyExc_Exception) != 0) {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    const Ref kind(type), raised(value), from(trace);
    const Ref text(value == nullptr ? nullptr : PyObject_Str(value));
    const char* const words = text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
    if (words != nullptr) what += ": " + std::string(words, std::strcspn(words, "\n"));
    PyErr_Clear();
  }
  if (PyErr_Occurred() == nullptr)
    raise_about("dtype_mismatch", op, name, what.c_str(),
                "pass a plain dense tensor that has memory, of a type that diecast knows");
  return -1;
}

int TensorArgument::by_exchange(PyObject* object, const char* op, const char* name) {
  const auto [exchange, dispatches] = type_of_tensor(object);
  if (dispatches) {
    raise_about(
        "dtype_mismatch", op, name, "only stands for a tensor: its type answers torch itself",
        "pass the plain tensor in it (DTensor.to_local()), or trace diecast.torch's function");
    return -1;
  }
  if (exchange == nullptr) return 0;
  exchange_ = exchange;
  if (exchange->view_from_object != nullptr) {
    if (exchange->view_from_object(object, &tensor_) == 0) return 1;
    return not_passed(op, name);
  }
  if (exchange->managed_from_object == nullptr) return 0;
  if (exchange->managed_from_object(object, &versioned_) != 0 || versioned_ == nullptr)
    return not_passed(op, name);
  return take(versioned_->tensor, versioned_->flags) ? 1 : -1;
}

// No stream is passed: by DLPack a producer then has its data ready for the legacy default stream.
static Ref dlpack_capsule(PyObject* object) {
  const Ref method = attribute(object, "__dlpack__");
  if (!method) return {};
  const Ref none(PyTuple_New(0)), keywords(PyDict_New()), version(Py_BuildValue("(ii)", 1, 3));
  if (!none || !keywords || !version) return {};
  PyDict_SetItemString(keywords.get(), "max_version", version.get());
  Ref capsule(PyObject_Call(method.get(), none.get(), keywords.get()));
  if (capsule || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return capsule;
  PyErr_Clear();  // a producer of before versions
  return Ref(PyObject_Call(method.get(), none.get(), nullptr));
}

int TensorArgument::by_dlpack(PyObject* object, const char* op, const char* name) {
  if (!attribute(object, "__dlpack__")) return 0;
  const Ref capsule = dlpack_capsule(object);
  if (!capsule) return -1;
  if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned") != 0) {
    versioned_ =
        static_cast<DLManagedVersioned*>(PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
    PyCapsule_SetName(capsule.get(), "used_dltensor_versioned");
    if (versioned_->version.major != 1) {
      raise_about("not_supported", op, name, "is of a DLPack version other than 1",
                  "pass an array of a framework with DLPack 1");
      return -1;
    }
    return take(versioned_->tensor, versioned_->flags) ? 1 : -1;
  }
  if (PyCapsule_IsValid(capsule.get(), "dltensor") != 0) {
    managed_ = static_cast<DLManaged*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
    PyCapsule_SetName(capsule.get(), "used_dltensor");
    return take(managed_->tensor, 0) ? 1 : -1;
  }
  raise_about("dtype_mismatch", op, name, "has a __dlpack__ that gives no tensor of DLPack",
              "pass an array whose __dlpack__ gives a capsule \"dltensor\"");
  return -1;
}

}  // namespace diecast::python
