"""diecast: NVFP4, MXFP8 and MXFP4 quantization, and CUDA kernel templates, compiled for what you run.

    import diecast, numpy
    x = numpy.random.rand(16, 64).astype("float32")
    data, scale, amax = diecast.quantize_nvfp4(x, device="host")
    y = diecast.dequantize_nvfp4(data, scale, amax, dtype="f32", device="host")

Tensors may be of torch, CuPy, JAX, numpy or whatever has __dlpack__ or is a buffer. Importing this
module opens no driver, imports no framework and writes nothing.
"""

from . import _core, _frameworks
from ._errors import (CLASSES as _CLASSES, ArgumentError, CompileError, DtypeError, Error,
                      ExecutionError, WouldCompile)

_core.set_errors(_CLASSES)
_core.set_allocator(_frameworks.allocator)
_core.set_current_stream(_frameworks.current_stream)
_core.set_find_nvrtc(_frameworks.find_nvrtc)

from ._core import output_shapes, prepare  # noqa: E402
from ._folders import quantize_folder, verify_folder  # noqa: E402
from ._kernel import Kernel, kernel  # noqa: E402
from ._linear import PackedLinear  # noqa: E402
from ._quantize_for import quantize_for  # noqa: E402
from ._runtime import Runtime, cuda_device_count, device_info, runtime  # noqa: E402

__version__ = _core.version
for _name in _core.op_names:
    globals()[_name] = getattr(_core, _name)

__all__ = ["ArgumentError", "CompileError", "DtypeError", "Error", "ExecutionError", "Kernel",
           "PackedLinear", "Runtime", "WouldCompile", "cuda_device_count", "device_info", "kernel",
           "output_shapes", "prepare", "quantize_folder", "quantize_for", "runtime",
           "verify_folder",
           *_core.op_names]
