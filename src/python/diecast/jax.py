"""diecast's ops for JAX: functions that jax.jit compiles, by a foreign function of XLA, on the CPU and
on NVIDIA's GPUs.

    import diecast.jax, jax
    data, scale, amax = jax.jit(diecast.jax.quantize_nvfp4)(x)

Each function takes what the function of diecast of its name takes, without out, device, stream and
runtime. A dtype is JAX's, or a word as diecast has it. Kernels are compiled when a call is traced, for
JAX's default backend. What is wrong with its options, shapes and types is raised there as diecast's
errors. What only values tell, such as row offsets that descend, is JAX's runtime error with the same
text and fix.
On a GPU XLA may put calls into CUDA graphs. Inputs of i64 need jax_enable_x64. There are no gradients.
jax.export takes sizes that are numbers, with disabled_checks=[DisabledSafetyCheck.custom_call("diecast")].
"""

import inspect as _inspect

import jax as _jax
import numpy as _numpy

from . import _core, _shapes
from ._errors import ArgumentError as _ArgumentError
from ._errors import DtypeError as _DtypeError
from ._stand_in import StandIn as _StandIn
from ._table import OPS as _OPS

_TARGET = "diecast"
_TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "u8": "uint8", "i32": "int32",
          "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e8m0": "float8_e8m0fnu"}
_ATTRIBUTES = {str: str, bool: bool, int: _numpy.int64, float: _numpy.float64}


def _word(dtype):
    """diecast's word for a type of JAX or numpy. What is none stays."""
    if isinstance(dtype, str):
        return dtype
    name = _jax.numpy.dtype(dtype).name
    return next((word for word, kind in _TYPES.items() if kind == name), name)


def _stand_in(place, like, gpu):
    kind = _jax.dtypes.canonicalize_dtype(like.dtype)
    return _StandIn(place, like.shape, kind.str, kind.name, gpu=gpu)


def _check_array(op, name, array):
    try:
        _numpy.dtype(array.dtype)
        sizes = tuple(array.shape)
    except (AttributeError, TypeError):
        raise _DtypeError("dtype_mismatch", f"{op.name}: {name} is {type(array).__name__}, no array that JAX "
                          "takes", "pass an array of JAX or numpy") from None
    if not all(isinstance(size, int) for size in sizes):
        words = ", ".join(map(str, sizes))
        raise _ArgumentError("not_supported", f"{op.name}: a size of {name} is a symbol, [{words}]",
                             "trace and export with numbers for sizes")


def _prepare(op, arrays, options):
    """Compiles and loads the kernels of a call for the default backend. Returns the scratch that it
    has: types and shapes by name."""
    gpus = [None]
    if _jax.default_backend() in ("gpu", "cuda"):
        gpus = [device.local_hardware_id for device in _jax.local_devices()]
    for gpu in gpus:
        stand_ins = {name: _stand_in(i, array, gpu) for i, (name, array) in enumerate(arrays.items())}
        place = {"device": "host"} if gpu is None else {"device": gpu, "stream": 0}
        _core.prepare(op.name, **stand_ins, **options, **place)
    return _core.scratch_shapes(op.name, **stand_ins, **options)


def _result(kind, shape):
    kind = getattr(_jax.numpy, _TYPES[kind]) if isinstance(kind, str) else kind
    return _jax.ShapeDtypeStruct(shape, kind)


def _function(op):
    names = (*op.inputs, *op.optional_inputs)
    known = {option.name: option for option in op.options}
    fields = {name: index for index, name in enumerate(op.fields)}

    def function(*tensors, **keywords):
        arrays = dict(zip(names, tensors))
        if twice := arrays.keys() & keywords.keys():
            raise TypeError(f"{op.name}() got several values for {min(twice)!r}")
        arrays |= {name: keywords.pop(name) for name in names if name in keywords}
        arrays = {name: array for name, array in arrays.items() if array is not None}
        if len(tensors) > len(names) or not arrays.keys() >= set(op.inputs):
            raise TypeError(f"{op.name}() takes {', '.join(op.inputs)}")
        if unknown := keywords.keys() - known.keys():
            raise TypeError(f"{op.name}() got an unexpected keyword argument {min(unknown)!r}")
        if keywords.get("accumulate"):
            raise _ArgumentError("not_supported", f"{op.name}: JAX arrays cannot be accumulated in",
                                 "leave accumulate off")
        if "dtype" in keywords and "dtype" in known:
            keywords["dtype"] = _word(keywords["dtype"])
        for name, array in arrays.items():
            _check_array(op, name, array)
        scratch = _prepare(op, arrays, keywords)
        outputs = _shapes.outputs(op, arrays, keywords)
        results = {**outputs, **scratch}
        call = _jax.ffi.ffi_call(_TARGET, [_result(*each) for each in results.values()],
                                 vmap_method="sequential")
        attributes = {name: _ATTRIBUTES[known[name].kind](value) for name, value in keywords.items()}
        places = _numpy.array([fields[name] for name in (*arrays, *results)], _numpy.int64)
        made = call(*arrays.values(), op=op.name, fields=places, **attributes)
        made = made[:len(outputs)]
        return made[0] if len(made) == 1 else tuple(made)

    leaves_out = ("out", "device", "stream", "runtime", *op.outputs)
    signature = _inspect.signature(getattr(_core, op.name))
    function.__signature__ = signature.replace(parameters=[
        parameter for parameter in signature.parameters.values()
        if parameter.name not in leaves_out])
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{op.what} As diecast.{op.name}, in programs of JAX."
    return function


_jax.ffi.register_ffi_target(_TARGET, _core.xla_handler(False), platform="cpu")
_jax.ffi.register_ffi_target(_TARGET, _core.xla_handler(True), platform="CUDA")
for _op in _OPS.values():
    globals()[_op.name] = _function(_op)

__all__ = [*_OPS]
