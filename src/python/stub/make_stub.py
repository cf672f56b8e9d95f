"""Writes the stubs of diecast, diecast.torch and diecast.jax: the types of functions, those of ops from the
table that the library has of itself. Run it with the package that was built on the path:

    PYTHONPATH=build/python python src/python/stub/make_stub.py
"""

import inspect
import pathlib
import sys

import diecast
from diecast import _core, _shapes
from diecast._table import OPS

_PLACES = ("device", "stream", "runtime")
_HEAD = '''# Made by src/python/stub/make_stub.py from the table of ops; the tests hold it to that.
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal, Protocol

class _DLPack(Protocol):
    def __dlpack__(self, *, max_version: tuple[int, int] | None = ...) -> Any: ...

# What has __dlpack__, __cuda_array_interface__ or is a buffer.
_Tensor = Any
_Device = str | int
_Runtime = Runtime
__version__: str

class Error(Exception):
    code: str
    what: str
    fix: str

class ArgumentError(Error, ValueError): ...
class DtypeError(Error, TypeError): ...
class ExecutionError(Error, RuntimeError): ...
class CompileError(ExecutionError): ...
class WouldCompile(ExecutionError): ...
'''


_TORCH_HEAD = '''# Made by src/python/stub/make_stub.py from the table of ops; the tests hold it to that.
from collections.abc import Sequence
from typing import Literal, overload

import torch
from torch import Tensor

from .. import PackedLinear as _PackedLinear
from ._distributed import quantize_master_weights as quantize_master_weights
from ._tensor import NVFP4Tensor as NVFP4Tensor

class PackedLinear(_PackedLinear):
    def to(self, device: object) -> PackedLinear: ...

def use_host(on: bool = ...) -> None: ...
'''


_JAX_HEAD = '''# Made by src/python/stub/make_stub.py from the table of ops; the tests hold it to that.
from typing import Any, Literal, overload

import numpy
from jax import Array
from jax.typing import ArrayLike
'''


# Types of elements that a framework's functions take beside diecast's words, by its type of tensors.
_DTYPES = {"Tensor": "torch.dtype", "ArrayLike": "numpy.dtype[Any] | type[Any]"}


def _parameter(parameter, types):
    text = parameter.name
    if parameter.annotation is not parameter.empty:
        return str(parameter)
    kind = types.get(parameter.name, "Any")
    text = f"{text}: {kind}"
    return text if parameter.default is parameter.empty else f"{text} = ..."


def _words(function):
    """The literals of options, from the lines of the help: "name: what; one of a b c"."""
    out = {}
    for line in function.__doc__.splitlines():
        name, colon, rest = line.strip().partition(": ")
        if colon and "; one of " in rest:
            words = rest.rsplit("; one of ", 1)[1].split()
            out[name] = "Literal[" + ", ".join(f'"{word}"' for word in words) + "]"
    return out


def _usual(op, **options):
    """The outputs of a call that names no other options and no outputs."""
    return _shapes.present(op, set(op.inputs), options)


def _op(name, leaves_out=(), tensor="_Tensor", returns="Any", named=None):
    """named: types of parameters that are other than usual; Literal[False] and None may be left out."""
    function, named = getattr(diecast, name), named or {}
    types = {"device": "_Device | None", "stream": "Any", "runtime": "_Runtime | None",
             **_words(function), **named}
    if tensor in _DTYPES and "dtype" in types:
        types["dtype"] += f" | {_DTYPES[tensor]}"
    parts, star = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in leaves_out:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        kind = {bool: "bool", int: "int", float: "float"}.get(type(parameter.default))
        optional = parameter.default is None
        types.setdefault(parameter.name, kind or (f"{tensor} | None" if optional else tensor))
        if parameter.name == "out" and "out" not in OPS.get(name, OPS["amax"]).outputs:
            one = f"{tensor} | " if len(_usual(OPS[name])) == 1 else ""
            types["out"] = f"{one}Sequence[{tensor}] | None"
        if named.get(parameter.name) in ("Literal[True]", tensor):
            parameter = parameter.replace(default=parameter.empty)
        parts.append(_parameter(parameter, types))
    lines = ",\n    ".join(parts)
    return f"def {name}(\n    {lines},\n) -> {returns}: ...\n"


def _more(op, leaves_out, tensor):
    """What a call of an op that usually has one result names to have several: types by name."""
    usual = _usual(op)
    if len(usual) > 1:
        return {}
    flags = [option.name for option in op.options if option.kind is bool]
    more = {name: "Literal[True]" for name in flags if len(_usual(op, **{name: True})) > 1}
    return more | {name: tensor for name in op.outputs
                   if name not in usual and name not in leaves_out}


def _overloads(op, leaves_out, tensor, result):
    """An op's function that returns one `result`, a tuple of several, or either as a call says."""
    several, more = f"tuple[{result}, ...]", _more(op, leaves_out, tensor)
    if not more:
        return _op(op.name, leaves_out, tensor, result if len(_usual(op)) == 1 else several)
    without = {name: "Literal[False]" if kind == "Literal[True]" else "None"
               for name, kind in more.items()}
    forms = [_op(op.name, leaves_out, tensor, result, without)]
    forms += [_op(op.name, leaves_out, tensor, several, {name: kind}) for name, kind in more.items()]
    return "\n".join(f"@overload\n{form}" for form in forms)


def _signature(function, name, indent="", method=False):
    parts, star = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            parts.append(f"*{parameter.name}: Any")
            star = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            parts.append(f"**{parameter.name}: Any")
        else:
            if parameter.kind is parameter.KEYWORD_ONLY and not star:
                parts.append("*")
                star = True
            bare = method and not parts
            text = parameter.name if bare else f"{parameter.name}: Any"
            parts.append(text if parameter.default is parameter.empty else f"{text} = ...")
    returns = "None" if name == "__init__" else "Any"
    return f"{indent}def {name}({', '.join(parts)}) -> {returns}: ...\n"


def _class(kind):
    lines = [f"class {kind.__name__}:\n"]
    for name, value in vars(kind).items():
        if isinstance(value, property):
            lines.append(f"    @property\n    def {name}(self) -> int: ...\n")
        elif isinstance(value, classmethod):
            lines.append(f"    @classmethod\n{_signature(value.__func__, name, '    ', True)}")
        elif inspect.isfunction(value) and (not name.startswith("_") or name in (
                "__init__", "__call__", "__enter__", "__exit__")):
            lines.append(_signature(value, name, "    ", True))
    if issubclass(kind, _core.Launcher):
        lines.append("    def __call__(self, *tensors: Any, device: _Device | None = ..., stream: Any = ..., "
                     "**named: Any) -> Any: ...\n")
    return "".join(lines)


def stub():
    """The text of the stub."""
    parts = [_HEAD]
    for kind in (diecast.Runtime, diecast.Kernel, diecast.PackedLinear):
        parts.append(_class(kind))
    for name in ("cuda_device_count", "device_info", "kernel", "quantize_folder",
                 "quantize_for", "runtime", "verify_folder"):
        parts.append(_signature(getattr(diecast, name), name))
    parts.append("def output_shapes(op: str, /, *tensors: _Tensor, **options: Any) -> "
                 "dict[str, tuple[str, tuple[int, ...]]]: ...\n")
    parts.append("def prepare(op: str, /, *tensors: _Tensor, **options: Any) -> Callable[..., Any]: ...\n")
    parts += [_op(name) for name in diecast.__all__
              if type(getattr(diecast, name)) is type(diecast.amax) and name not in ("output_shapes", "prepare")]
    return "\n".join(parts)


def jax_stub():
    """The text of diecast.jax's."""
    return "\n".join([_JAX_HEAD] + [
        _overloads(op, ("out", *op.outputs, *_PLACES), "ArrayLike", "Array") for op in OPS.values()])


def torch_stub():
    """The text of diecast.torch's."""
    return "\n".join([_TORCH_HEAD] + [
        _overloads(op, _PLACES, "Tensor", "Tensor") for op in OPS.values()])


if __name__ == "__main__":
    package = pathlib.Path(__file__).parents[1] / "diecast"
    for target, text in ((package / "__init__.pyi", stub()),
                         (package / "jax.pyi", jax_stub()),
                         (package / "torch" / "__init__.pyi", torch_stub())):
        target.write_text(text)
        print(f"wrote {target}")
    sys.exit(0)
