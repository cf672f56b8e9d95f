"""Registers torch.ops.diecast.*, an operator for each op of the table, so that torch can trace calls.

NAME.default returns all outputs of the table's op; one that the call has not is u8 [0]. NAME.out writes
into those that are given. Outputs never require gradients: of an input that does, its values are taken.
"""

from functools import lru_cache

import torch
from torch.autograd.graph import increment_version

from .. import _core, _frameworks, _shapes
from .._errors import ArgumentError
from .._stand_in import StandIn
from .._table import OPS

_library = torch.library.Library("diecast", "DEF")
_computes_on_host = False
# Options that operators call otherwise: torch's own tracing takes a keyword `mode`.
RENAMED = {"mode": "scale_mode"}
_NAMES = {ours: name for name, ours in RENAMED.items()}


def use_host(on=True):
    """From now on operators compute CPU tensors on this processor. Without it they raise."""
    global _computes_on_host  # pylint: disable=global-statement
    _computes_on_host = on


def computes_on_host():
    """Whether use_host() was called."""
    return _computes_on_host


def _tags():
    """An output's layout is what the op says; older versions have a weaker word for that."""
    exact = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
    return (torch.Tag.pt2_compliant_tag, exact)


def _schema(op, overload):
    """Not tagged as torch's own `out` operators are: outputs are optional and may be read, where a
    result is accumulated. There dtype is None where it is not given: the output says its own."""
    inputs = [f"Tensor {name}" for name in op.inputs]
    inputs += [f"Tensor? {name}=None" for name in op.optional_inputs]
    keywords = [_keyword(option, overload == "out" and option.name == "dtype") for option in op.options]
    results = ", ".join("Tensor" for _ in op.outputs)
    if overload == "out":
        keywords += [f"Tensor({chr(ord('a') + i)}!)? {name}=None"
                     for i, name in enumerate(op.outputs)]
        results = ""
    name = op.name if overload == "default" else f"{op.name}.{overload}"
    return f"{name}({', '.join(inputs)}, *, {', '.join(keywords)}) -> ({results})"


def _keyword(option, may_be_none):
    kind = {str: "str", bool: "bool", int: "SymInt", float: "float"}[option.kind]
    name = RENAMED.get(option.name, option.name)
    return f"{kind}? {name}=None" if may_be_none else f"{kind} {name}={_literal(option.default)}"


def _literal(value):
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _on_cpu(op):
    """Raises where operators do not compute CPU tensors."""
    if not _computes_on_host:
        raise ArgumentError("invalid_argument", f"{op.name}: its tensors are on the CPU",
                            "call diecast.torch.use_host() to compute on this processor, or pass "
                            "tensors of a GPU")


def _type(kind):
    return _frameworks.torch_type(torch, kind) if isinstance(kind, str) else kind


def _named(options):
    """Options by diecast's names."""
    return {_NAMES.get(name, name): value for name, value in options.items()}


def _nothing(like):
    """An output that the call has not, where a tensor is."""
    return like.new_empty(0, dtype=torch.uint8)


def _stand_in(place, tensor):
    """Of a tensor of torch's type and layout; None: of one with sizes that are symbols, or of a type
    that diecast does not know."""
    kind = _frameworks.torch_typestr(tensor.dtype)
    sizes = (*tensor.shape, *tensor.stride())
    if kind is None or not all(type(size) is int for size in sizes):
        return None
    strides = tuple(stride * tensor.element_size() for stride in tensor.stride())
    return StandIn(place, tensor.shape, *kind, strides)


def _check(op, tensors, options):
    """Raises what a traced call is refused for when it runs, as far as shapes, types and options tell."""
    stand_ins = {name: _stand_in(place, tensor) for place, (name, tensor) in enumerate(tensors.items())}
    plain = all(type(value) in (str, bool, int, float) for value in options.values())
    if plain and None not in stand_ins.values():
        _core.check(op.name, **stand_ins, **options)


def _define(op):
    plain = getattr(_core, op.name)
    renamed = any(option.name in RENAMED for option in op.options)
    named = _named if renamed else lambda options: options
    names = (*op.inputs, *op.optional_inputs)
    outputs = frozenset(op.outputs)

    def given(inputs):
        return {name: tensor for name, tensor in zip(names, inputs) if tensor is not None}

    def check_devices(inputs, outputs):
        """torch traces a call with tensors of several devices, of which one may be meta."""
        devices = {str(tensor.device) for tensor in (*inputs, *outputs) if tensor is not None}
        if len(devices) > 1:
            where = " and ".join(sorted(devices))
            raise ArgumentError("invalid_argument", f"{op.name}: tensors are on {where}",
                                "pass tensors of one device")

    def fake_out(*inputs, **options):
        options = _named(options)
        written = {name: options.pop(name, None) for name in op.outputs}
        check_devices(inputs, written.values())
        written = {name: tensor for name, tensor in written.items() if tensor is not None}
        _check(op, given(inputs) | written, {name: value for name, value in options.items() if value is not None})

    def fake(*inputs, **options):
        check_devices(inputs, ())
        if options.get("accumulate"):
            raise ArgumentError("missing_buffer", f"{op.name}: there is no out to accumulate in",
                                "pass out=, or leave accumulate off")
        options = _named(options)
        _check(op, given(inputs), options)
        device = inputs[0].device
        made = {name: torch.empty(shape, dtype=_type(kind), device=device)
                for name, (kind, shape) in _shapes.outputs(op, given(inputs), options).items()}
        if len(op.outputs) == 1:
            return made["out"]
        return tuple(made[name] if name in made else _nothing(inputs[0]) for name in op.outputs)

    @lru_cache(256)
    def places(given, options):
        """Of each output its place among those that a call has, or None. `given`: which inputs are there."""
        given = {name for name, there in zip(names, given) if there}
        there = _shapes.present(op, given, dict(options))
        return [there.index(name) if name in there else None for name in op.outputs]

    def finish(made, inputs, options):
        if len(op.outputs) == 1:
            return made
        made = made if isinstance(made, tuple) else (made,)
        if len(made) == len(op.outputs):
            return made
        where = places(tuple([tensor is not None for tensor in inputs]), tuple(options.items()))
        return tuple([_nothing(inputs[0]) if at is None else made[at] for at in where])

    def written_by(options):
        """The tensors that a call writes into."""
        written = [options[name] for name in options if name in outputs and options[name] is not None]
        if not written:
            raise ArgumentError("missing_buffer", f"{op.name}.out: no output is given",
                                f"pass {op.outputs[0]}, or call {op.name}.default")
        for tensor in written:
            if tensor.requires_grad and torch.is_grad_enabled():
                raise ArgumentError("not_supported", f"{op.name}.out: an output requires gradients",
                                    "ops make none: pass out.detach(), or call it under torch.no_grad()")
        return written

    def call(*inputs, **options):
        return finish(plain(*inputs, **named(options)), inputs, options)

    def call_on_cpu(*inputs, **options):
        _on_cpu(op)
        return finish(plain(*inputs, **named(options), device="host"), inputs, options)

    def call_out(*inputs, **options):
        written = written_by(options)
        plain(*inputs, **named(options))
        increment_version(written)  # so that a gradient that saved one of them is an error

    def call_out_on_cpu(*inputs, **options):
        _on_cpu(op)
        written = written_by(options)
        plain(*inputs, **named(options), device="host")
        increment_version(written)

    for overload, on_cuda, on_cpu, traced in (
            ("default", call, call_on_cpu, fake),
            ("out", call_out, call_out_on_cpu, fake_out)):
        name = op.name if overload == "default" else f"{op.name}.{overload}"
        _library.define(_schema(op, overload), tags=_tags())
        _library.impl(name, on_cpu, "CPU")
        _library.impl(name, on_cuda, "CUDA")
        _library.impl(name, torch.library.fallthrough_kernel, "Autograd")
        torch.library.register_fake(f"diecast::{name}", traced, lib=_library)


for _op in OPS.values():
    _define(_op)
