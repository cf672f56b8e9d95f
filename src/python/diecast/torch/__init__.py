"""diecast's ops as torch operators, which torch.compile and CUDA graphs capture.

    import diecast.torch, torch
    data, scale, amax = diecast.torch.quantize_nvfp4(x)           # x: a tensor of a GPU
    y = diecast.torch.dequantize_nvfp4(data, scale, amax)

Each function takes what the function of diecast of its name takes, without device, stream and
runtime: work goes to torch's current stream. A dtype is torch's, or a word as diecast has it.
Outputs never require gradients. CPU tensors are refused until use_host(). torch.ops.diecast.* are the
operators themselves: NAME.default returns every output of the op, of which one that the call has not
is u8 [0], and NAME.out writes into memory.
Where a program is traced with numbers for sizes, a call's errors are those of one that runs, values
aside; torch.compile raises them as the cause of an error of its own.
NVFP4Tensor keeps what quantize_nvfp4 makes of a matrix together, PackedLinear a packed weight.
quantize_master_weights casts weights that the ranks of a torch.distributed group share.
"""

import inspect as _inspect
import types as _types

import torch as _torch

from .. import _core, _shapes
from .._errors import ArgumentError as _ArgumentError
from .._linear import PackedLinear as _PackedLinear
from .._table import OPS as _OPS
from ._ops import RENAMED as _RENAMED
from ._ops import use_host
from ._tensor import NVFP4Tensor
from ._tensor import word as _word

_PLACES = ("device", "stream", "runtime")


def _outputs_given(op, out, keywords, there):
    """The memory for outputs, by name, taken out of a call's keywords; empty: there is none."""
    named = {name: keywords.pop(name) for name in op.outputs if name in keywords}
    if out is None:
        return named
    outs = out if isinstance(out, (tuple, list)) else (out,)
    if len(outs) != len(there):
        raise _ArgumentError("shape_mismatch", f"{op.name}: out has {len(outs)} tensors, and the call has "
                             f"{len(there)} outputs", "pass one tensor for each output, in order")
    return named | dict(zip(there, outs))


def _one_or_all(made):
    made = tuple(made)
    return made[0] if len(made) == 1 else made


def _function(op):
    """The function of an op, which gives what the call has and no more, as diecast's own does."""
    operator = getattr(_torch.ops.diecast, op.name)
    whole, into = operator.default, operator.out
    names = (*op.inputs, *op.optional_inputs)

    def function(*tensors, out=None, **keywords):
        given = {name for name, tensor in zip(names, tensors) if tensor is not None}
        given |= {name for name in names if keywords.get(name) is not None}
        for name in op.inputs:
            if name not in given:
                raise _ArgumentError("missing_buffer", f"{op.name}: {name} is not given", f"pass {name}")
        if isinstance(dtype := keywords.get("dtype"), _torch.dtype):
            keywords["dtype"] = _word(dtype, op.name)
        there = _shapes.present(op, given, keywords)
        outs = _outputs_given(op, out, keywords, there)
        keywords = {_RENAMED.get(name, name): value for name, value in keywords.items()}
        if outs:
            into(*tensors, **keywords, **outs)
            if isinstance(out, tuple) and 1 < len(out) == len(outs):
                return out
            return _one_or_all(outs[name] for name in op.outputs if outs.get(name) is not None)
        made = whole(*tensors, **keywords)
        if len(op.outputs) == 1:
            return made
        return _one_or_all(tensor for name, tensor in zip(op.outputs, made) if name in there)

    signature = _inspect.signature(getattr(_core, op.name))
    function.__signature__ = signature.replace(parameters=[
        parameter for parameter in signature.parameters.values() if parameter.name not in _PLACES])
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{op.what} As diecast.{op.name}, on torch's current stream."
    return function


for _op in _OPS.values():
    globals()[_op.name] = _function(_op)


class PackedLinear(_PackedLinear):
    """As diecast.PackedLinear, by operators of torch, which torch.compile keeps in its graph."""

    _ops = _types.SimpleNamespace(
        **{name: globals()[name]
           for name in ("pack_linear", "unpack_linear", "linear", "linear_experts")})

    def to(self, device):
        """The same on another device."""
        return type(self)(self.data.to(_torch.device(device)), **self.description())


def __getattr__(name):
    """torch.distributed is imported where it is asked for."""
    if name == "quantize_master_weights":
        from ._distributed import quantize_master_weights
        return quantize_master_weights
    raise AttributeError(f"module 'diecast.torch' has no attribute {name!r}")


__all__ = ["NVFP4Tensor", "PackedLinear", "quantize_master_weights", "use_host", *_OPS]
