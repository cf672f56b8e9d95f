// A module of Python for the bench alone: what the calls of the package are held against. It reads
// the same tensors and does nothing, or makes the same calls from C++.
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <python/core/dlpack.h>
#include <python/core/python.h>

#include <chrono>
#include <optional>

namespace {

using namespace diecast;
using namespace diecast::python;

constexpr int kTensors = 4;  // x, amax, data, scale

struct Arguments {
  diecast_tensor tensors[kTensors];
  void* stream = nullptr;
};

const DLExchange* exchange_of(PyObject* tensor) {
  static const DLExchange* const of_first = [&]() -> const DLExchange* {
    const Ref capsule(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(tensor)),
                                             "__dlpack_c_exchange_api__"));
    if (!capsule) return nullptr;
    return static_cast<const DLExchange*>(
        PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  }();
  return of_first;
}

bool read_all(PyObject* const* objects, Py_ssize_t count, Arguments& to) {
  const DLExchange* const exchange = count < kTensors ? nullptr : exchange_of(objects[0]);
  for (int i = 0; exchange != nullptr && i < kTensors; ++i)
    if (exchange->view_from_object(objects[i], &to.tensors[i]) != 0) return false;
  if (exchange != nullptr)
    return exchange->current_stream(2, to.tensors[kTensors - 1].device_id, &to.stream) == 0;
  if (PyErr_Occurred() == nullptr)
    PyErr_SetString(PyExc_TypeError, "needs x, amax, data and scale, with DLPack's C table");
  return false;
}

PyObject* read(PyObject*, PyObject* const* objects, Py_ssize_t count) {
  Arguments arguments;
  if (!read_all(objects, count, arguments)) return nullptr;
  Py_RETURN_NONE;
}

// The library's own objects, made once.
struct Library {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<Device> device;
  std::optional<PreparedQuantizeNvfp4> op;
};

Result<Library> open(const Tensor& x, const QuantizedTensor& out) {
  Library library;
  DIECAST_TRY(library.runtime, Runtime::create());
  DIECAST_TRY(library.device, library.runtime->default_device());
  QuantizeNvfp4Options options;
  options.amax_given = true;
  DIECAST_TRY(library.op,
              PreparedQuantizeNvfp4::prepare(*library.runtime, library.device,
                                             PreparedQuantizeNvfp4::Request::of(x, out, options)));
  return library;
}

// What a call in C++ takes, made of tensors that were read.
struct InCpp {
  Tensor x;
  QuantizedTensor out;

  explicit InCpp(const Arguments& from) {
    const auto* const shape = from.tensors[0].shape;
    x = {from.tensors[0].data, DType::bf16, Shape{shape[0], shape[1]}};
    out.shape = x.shape;
    out.rowwise = {.data = from.tensors[2].data,
                   .scale = from.tensors[3].data,
                   .amax = static_cast<float*>(from.tensors[1].data),
                   .data_bytes = x.rows() * x.cols() / 2,
                   .scale_bytes = x.rows() * x.cols() / 16,
                   .amax_count = 1};
  }
};

const Result<Library>& library_for(const InCpp& call) {
  static const Result<Library> library = open(call.x, call.out);
  return library;
}

Result<double> nanoseconds(const Arguments& from, bool prepared, int calls) {
  const InCpp call(from);
  const Result<Library>& library = library_for(call);
  DIECAST_CHECK(library);
  QuantizeNvfp4Options options;
  options.amax_given = true;
  options.device = library->device;
  Result<void> outcome;
  const Stream stream{from.stream};
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls && outcome; ++i) {
    outcome = prepared ? library->op->run(call.x, call.out, stream)
                       : quantize_nvfp4(*library->runtime, call.x, call.out, options, stream);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  DIECAST_CHECK(outcome);
  return took.count() / calls;
}

PyObject* raise(const Error& error) {
  PyErr_SetString(PyExc_RuntimeError, (error.what + "; " + error.fix).c_str());
  return nullptr;
}

// read_and_run(x, amax, data, scale): read(), and the prepared op's C++ call.
PyObject* read_and_run(PyObject*, PyObject* const* objects, Py_ssize_t count) {
  Arguments arguments;
  if (!read_all(objects, count, arguments)) return nullptr;
  const InCpp call(arguments);
  const Result<Library>& library = library_for(call);
  if (!library) return raise(library.error());
  const auto outcome = library->op->run(call.x, call.out, Stream{arguments.stream});
  if (!outcome) return raise(outcome.error());
  Py_RETURN_NONE;
}

// in_cpp(x, amax, data, scale, prepared, calls): nanoseconds a call.
PyObject* in_cpp(PyObject*, PyObject* const* objects, Py_ssize_t count) {
  Arguments arguments;
  if (!read_all(objects, count, arguments)) return nullptr;
  if (count != kTensors + 2) {
    PyErr_SetString(PyExc_TypeError, "needs four tensors, whether prepared, and how many calls");
    return nullptr;
  }
  const bool prepared = PyObject_IsTrue(objects[kTensors]) == 1;
  const long calls = PyLong_AsLong(objects[kTensors + 1]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  const auto took = nanoseconds(arguments, prepared, static_cast<int>(calls));
  return took ? PyFloat_FromDouble(*took) : raise(took.error());
}

template <class Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {{"read", as_method(read), METH_FASTCALL, nullptr},
                         {"in_cpp", as_method(in_cpp), METH_FASTCALL, nullptr},
                         {"read_and_run", as_method(read_and_run), METH_FASTCALL, nullptr},
                         {}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "diecast_bench_calls",
                          nullptr,
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_diecast_bench_calls() { return PyModule_Create(&definition); }
