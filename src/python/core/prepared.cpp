// Prepared ops: prepare(op, ...) makes a function that compiles, loads and waits for nothing.
#include "prepared.h"

#include "handles.h"
#include "ops.h"

namespace diecast::python {
namespace {

// What a prepared op's function stands on; it lives as long as the function.
struct Prepared {
  Op* op = nullptr;
  diecast_handle handle = 0;
  Options options;  // whose words are the op's own
  Plans plans;
  bool on_host = false;
};

void end(PyObject* capsule) {
  auto* const prepared = static_cast<Prepared*>(PyCapsule_GetPointer(capsule, nullptr));
  if (prepared->handle != 0) without_gil([&] { return diecast_close(prepared->handle); });
  delete prepared;
}

[[gnu::noinline]] PyObject* run_slowly(Prepared& prepared, PyObject* const* arguments,
                                       Py_ssize_t count, PyObject* names) {
  if (PyErr_Occurred() != nullptr) return nullptr;
  Call call(*prepared.op);
  if (!call.parse(arguments, count, names, &prepared.options)) return nullptr;
  if (prepared.on_host) call.work_on_host();
  if (!call.ready(true)) return nullptr;
  const auto launch = [&] {
    return diecast_op_run(prepared.handle, call.tensors(), &prepared.options, call.place.stream);
  };
  // On the host the work is done before the call returns.
  const int code = call.place.host ? without_gil(launch) : launch();
  if (code != diecast_ok) return raise_last();
  prepared.plans.keep(*prepared.op, call, arguments, count, names);
  return call.result();
}

[[gnu::hot]] PyObject* run(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                           PyObject* names) {
  auto& prepared = *static_cast<Prepared*>(PyCapsule_GetPointer(self, nullptr));
  PlannedCall call;
  if (!call.take(prepared.plans, arguments, count, names))
    return run_slowly(prepared, arguments, count, names);
  const int code = diecast_op_run(prepared.handle, call.tensors(), &call.options(), call.stream());
  return code == diecast_ok ? call.result() : raise_last();
}

PyMethodDef run_method = {
    "run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run)),
    METH_FASTCALL | METH_KEYWORDS,
    "run($self, *tensors, out=None, device=None, stream=None)\n--\n\n"
    "Runs the prepared op on tensors like those that it was prepared for, and on that device. It\n"
    "compiles, loads and waits for nothing. Raises subclasses of diecast.Error.\n"};

}  // namespace

PyObject* prepare(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  if (count == 0) {
    PyErr_SetString(PyExc_TypeError, "prepare() needs the op's name, then its tensors");
    return nullptr;
  }
  Op* const op = op_by_name(arguments[0]);
  if (op == nullptr) return nullptr;
  Call call(*op);
  if (!call.parse(arguments + 1, count - 1, names, nullptr) || !call.ready(false)) return nullptr;
  const diecast_handle runtime = runtime_of(call.runtime());
  if (PyErr_Occurred() != nullptr) return nullptr;
  auto* const prepared = new Prepared;
  prepared->op = op;
  prepared->options = call.options();
  prepared->on_host = call.place.host;
  const Ref self(PyCapsule_New(prepared, nullptr, end));
  if (!self) return nullptr;
  const int code = without_gil([&] {
    return diecast_op_prepare(runtime, call.place.device, op->info->number, call.tensors(),
                              &prepared->options, &prepared->handle);
  });
  if (code != diecast_ok) return raise_last();
  return PyCFunction_NewEx(&run_method, self.get(), nullptr);
}

}  // namespace diecast::python
