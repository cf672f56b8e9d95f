// diecast._core: the extension over the C interface. Importing it opens nothing.
#include "allocate.h"
#include "handles.h"
#include "ops.h"
#include "place.h"
#include "prepared.h"
#include "python.h"
#include "runtime.h"

namespace diecast::python {
namespace {

PyMethodDef methods[] = {
    {"prepare", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(prepare)),
     METH_FASTCALL | METH_KEYWORDS,
     "prepare(op, /, *tensors, **options)\n--\n\n"
     "Compiles and loads what the op needs for tensors like these, and returns a function that\n"
     "runs it: run(*tensors, out=, stream=). Outputs may be left out of prepare().\n"},
    {"output_shapes", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(output_shapes)),
     METH_FASTCALL | METH_KEYWORDS,
     "output_shapes(op, /, *tensors, **options)\n--\n\n"
     "What the op would write for tensors like these: a dict of names, each with its type (\"u8\") "
     "and\n"
     "shape. Nothing is computed. Raises what the op would of its inputs and options.\n"},
    {"scratch_shapes", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(scratch_shapes)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"check", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(check)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"set_errors", set_errors, METH_O, nullptr},
    {"set_allocator", set_allocator, METH_O, nullptr},
    {"set_current_stream", set_current_stream, METH_O, nullptr},
    {"set_find_nvrtc", set_find_nvrtc, METH_O, nullptr},
    {"xla_handler", xla_handler, METH_O, nullptr},
    {"op_table", op_table, METH_NOARGS, nullptr},
    {"default_runtime_handle", default_runtime_handle, METH_NOARGS, nullptr},
    {"stop_threads", stop_threads, METH_NOARGS, nullptr},
    {"close_default_runtime", close_default_runtime, METH_NOARGS, nullptr},
    {"device_handle", device_handle, METH_O, nullptr},
    {}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "diecast._core",
                          nullptr,
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace diecast::python

PyMODINIT_FUNC PyInit__core() {
  using namespace diecast::python;
  Ref module(PyModule_Create(&definition));
  if (!module || add_handles(module.get()) != 0 || add_ops(module.get()) != 0 ||
      add_runtime(module.get()) != 0 || add_folders(module.get()) != 0 ||
      add_kernels(module.get()) != 0 || add_weights(module.get()) != 0 ||
      add_quantize_for(module.get()) != 0 ||
      PyModule_AddIntConstant(module.get(), "packed_linear_version",
                              DIECAST_PACKED_LINEAR_VERSION) != 0 ||
      PyModule_AddStringConstant(module.get(), "version", diecast_version()) != 0)
    return nullptr;
  return module.release();
}
