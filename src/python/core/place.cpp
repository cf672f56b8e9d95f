// The runtime, device and stream of a call; see place.h.
#include "place.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace diecast::python {
namespace {

constexpr int kMostDevices = 64;
diecast_handle runtime = 0, host = 0;
std::atomic<diecast_handle> cuda[kMostDevices];
PyObject* framework_stream = nullptr;  // _frameworks.current_stream
PyObject* find_nvrtc = nullptr;        // _frameworks.find_nvrtc

// The stream that the tensor's framework works on, asked at each call and never kept.
bool current_stream(const TensorArgument& tensor, int ordinal, void*& stream) {
  if (const DLExchange* const exchange = tensor.exchange();
      exchange != nullptr && exchange->current_stream != nullptr) {
    if (exchange->current_stream(2, ordinal, &stream) == 0) return true;
    if (PyErr_Occurred() == nullptr)
      raise("driver_error", "the tensor's framework gave no stream", "pass stream=");
    return false;
  }
  const Ref asked(framework_stream == nullptr
                      ? nullptr
                      : PyObject_CallFunction(framework_stream, "Oi", tensor.object(), ordinal));
  if (!asked) return false;
  if (asked.get() != Py_None) return stream_of(asked.get(), stream);
  if (tensor.has_own_stream()) {
    stream = tensor.own_stream();
    return true;
  }
  raise("value_missing", "the tensors' framework does not say which stream it works on",
        "pass stream=: an int, or a stream object");
  return false;
}

// Null: it is no text, or one that UTF-8 has not.
const char* word_of(PyObject* device) {
  if (!PyUnicode_Check(device)) return nullptr;
  const char* const word = PyUnicode_AsUTF8AndSize(device, nullptr);
  if (word == nullptr) PyErr_Clear();
  return word;
}

bool says_host(PyObject* device) {
  const char* const word = word_of(device);
  return word != nullptr && std::strcmp(word, "host") == 0;
}

// The CUDA device of a keyword: an int, or "cuda:1". -1: an exception is set.
int ordinal_of(PyObject* device) {
  const auto checked = [](long ordinal) {
    if (ordinal >= 0 && ordinal < kMostDevices) return static_cast<int>(ordinal);
    return raise("no_device", "there is no such CUDA device", "pass a smaller number"), -1;
  };
  int overflow = 0;
  if (PyLong_Check(device)) return checked(PyLong_AsLongAndOverflow(device, &overflow));
  const char* const word = word_of(device);
  if (word != nullptr && std::strcmp(word, "cuda") == 0) return 0;
  if (word != nullptr && std::strncmp(word, "cuda:", 5) == 0 && word[5] >= '0' && word[5] <= '9') {
    char* end = nullptr;
    const long ordinal = std::strtol(word + 5, &end, 10);
    if (*end == 0) return checked(ordinal);
  }
  raise("invalid_argument", "device is neither \"host\" nor a CUDA device",
        "pass device=\"host\", \"cuda:0\" or a number");
  return -1;
}

bool is_cpu(const diecast_tensor& tensor) {
  return tensor.device_type == 1 || tensor.device_type == 3;
}

}  // namespace

// Where a stream's number is none of an address.
static bool is_address(void*& stream, PyObject* number) {
  stream = PyLong_AsVoidPtr(number);
  if (stream != nullptr || PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  raise("dtype_mismatch", "stream is no stream: its number is no address",
        "pass the number that its framework tells");
  return false;
}

bool stream_of(PyObject* object, void*& stream) {
  if (PyLong_Check(object)) return is_address(stream, object);
  Ref number;
  if (PyObject_HasAttrString(object, "__cuda_stream__") != 0) {
    const Ref pair(PyObject_CallMethod(object, "__cuda_stream__", nullptr));
    if (!pair) return false;
    number = Ref(PySequence_GetItem(pair.get(), 1));
  } else if (PyObject_HasAttrString(object, "cuda_stream") != 0) {
    number = Ref(PyObject_GetAttrString(object, "cuda_stream"));
  } else if (PyObject_HasAttrString(object, "ptr") != 0) {
    number = Ref(PyObject_GetAttrString(object, "ptr"));
  } else {
    raise("dtype_mismatch", "stream is no stream",
          "pass an int, or an object with __cuda_stream__, .cuda_stream or .ptr");
  }
  return number && is_address(stream, number.get());
}

diecast_handle default_runtime() {
  if (runtime != 0) return runtime;
  diecast_handle opened = 0;
  const Ref nvrtc(find_nvrtc == nullptr ? nullptr : PyObject_CallNoArgs(find_nvrtc));
  if (!nvrtc) return 0;
  diecast_runtime_options options{};
  options.size = sizeof options;
  if (nvrtc.get() != Py_None) options.nvrtc = PyUnicode_AsUTF8AndSize(nvrtc.get(), nullptr);
  if (PyErr_Occurred() != nullptr) return 0;
  const int code = without_gil([&] { return diecast_runtime_open(&options, &opened); });
  if (code != diecast_ok) return raise_last(), diecast_handle{0};
  if (runtime == 0) return runtime = opened;
  diecast_close(opened);  // another thread was first
  return runtime;
}

diecast_handle runtime_of(PyObject* object) {
  if (object == nullptr || object == Py_None) return default_runtime();
  const Ref handle(PyObject_GetAttrString(object, "handle"));
  if (handle && PyLong_Check(handle.get())) return PyLong_AsUnsignedLongLong(handle.get());
  if (handle || PyErr_ExceptionMatches(PyExc_AttributeError) != 0) {
    PyErr_Clear();
    raise("dtype_mismatch", "runtime is no diecast.Runtime", "pass one, or leave it out");
  }
  return 0;
}

diecast_handle host_device() {
  if (host != 0) return host;
  diecast_handle opened = 0;
  if (diecast_device_open_host(0, &opened) != diecast_ok) return raise_last(), diecast_handle{0};
  return host = opened;
}

diecast_handle opened_cuda_device(int ordinal) {
  return ordinal < 0 || ordinal >= kMostDevices ? 0 : cuda[ordinal].load();
}

diecast_handle cuda_device(int ordinal) {
  if (ordinal < 0 || ordinal >= kMostDevices)
    return raise("no_device", "there is no such CUDA device", "pass a smaller number"), 0;
  if (cuda[ordinal] != 0) return cuda[ordinal];
  diecast_handle opened = 0;
  const int code = without_gil([&] { return diecast_device_open_cuda(ordinal, &opened); });
  if (code != diecast_ok) return raise_last(), diecast_handle{0};
  if (cuda[ordinal] == 0) return cuda[ordinal] = opened;
  diecast_close(opened);
  return cuda[ordinal];
}

bool place_of(Place& place, PyObject* device, PyObject* stream,
              const TensorArgument* const* tensors, int count, const char* op) {
  if (device == Py_None) device = nullptr;
  if (stream == Py_None) stream = nullptr;
  const TensorArgument* on_cuda = nullptr;
  bool on_cpu = false;
  for (int i = 0; i < count; ++i) {
    const bool cpu = is_cpu(*tensors[i]->get());
    on_cpu |= cpu;
    if (!cpu) on_cuda = tensors[i];  // outputs come last: theirs is the stream that is asked
  }
  if (device != nullptr && says_host(device)) {
    place.host = true;
    place.device = host_device();
    return place.device != 0;
  }
  if (device == nullptr && on_cuda == nullptr && on_cpu) {
    raise_about("invalid_argument", op, "its tensors", "are on the CPU",
                "pass device=\"host\" to compute on this processor, or tensors of a GPU");
    return false;
  }
  const int ordinal = device != nullptr    ? ordinal_of(device)
                      : on_cuda != nullptr ? on_cuda->get()->device_id
                                           : 0;
  if (PyErr_Occurred() != nullptr) return false;
  place.device = cuda_device(ordinal);
  if (place.device == 0) return false;
  if (stream != nullptr) return stream_of(stream, place.stream);
  return on_cuda == nullptr || current_stream(*on_cuda, ordinal, place.stream);
}

PyObject* default_runtime_handle(PyObject*, PyObject*) {
  const diecast_handle handle = default_runtime();
  return handle == 0 ? nullptr : PyLong_FromUnsignedLongLong(handle);
}

PyObject* device_handle(PyObject*, PyObject* device) {
  diecast_handle handle = 0;
  if (device == Py_None) return PyLong_FromLong(0);  // the current context's
  if (says_host(device)) {
    handle = host_device();
  } else {
    const int ordinal = ordinal_of(device);
    if (PyErr_Occurred() != nullptr) return nullptr;
    handle = cuda_device(ordinal);
  }
  return handle == 0 ? nullptr : PyLong_FromUnsignedLongLong(handle);
}

PyObject* close_default_runtime(PyObject*, PyObject*) {
  if (runtime != 0) without_gil([] { return diecast_close(runtime); });
  Py_RETURN_NONE;
}

PyObject* set_current_stream(PyObject*, PyObject* function) {
  Ref old(std::exchange(framework_stream, Py_NewRef(function)));
  Py_RETURN_NONE;
}

PyObject* set_find_nvrtc(PyObject*, PyObject* function) {
  Ref old(std::exchange(find_nvrtc, Py_NewRef(function)));
  Py_RETURN_NONE;
}

}  // namespace diecast::python
