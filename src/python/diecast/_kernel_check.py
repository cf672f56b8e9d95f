"""Kernel.check: every variant of a kernel against a Python function of its arguments."""

from . import _frameworks, _kernel_outputs
from ._errors import ArgumentError


def check(kernel, reference, tensors, named, device, close):
    """The number of variants that agree with the reference. Raises ArgumentError at the first other one."""
    values, parameters = kernel._read(tensors, dict(named))
    named = {name: value for name, value in named.items() if name not in kernel._parameters}
    wanted = _called(kernel, reference, tensors, named)[1]
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    whole = kernel.runtime.specialize(kernel._spelling(parameters), kernel._where(values, device))
    points = [(spelling, dict(word.split("=") for word in spelling.split(" @ ")[0].split()[1:]))
              for spelling in kernel.variants(whole.rpartition("@ ")[2], **parameters)]
    sizes = _sizes(kernel, values)
    points = [(spelling, point) for spelling, point in points if _takes(kernel, point, sizes)]
    if not points:
        raise ArgumentError("value_not_allowed", f"{kernel.name}: no variant takes these tensors",
                            "pass tensors of a size that is among its parameters' values")
    for spelling, point in points:
        given, made = _called(kernel, kernel, tensors, named, device=device, **point)
        got = _written(kernel, given, made, point)
        if not got or len(got) != len(wanted):
            raise ArgumentError("shape_mismatch", f"{kernel.name} makes {len(got)} outputs, the reference "
                                f"gives {len(wanted)}",
                                "leave outputs out; have it return one for each, and for each inout")
        for (name, output), expected in zip(got.items(), wanted):
            if not (close or _frameworks.same)(output, expected):
                raise ArgumentError("results_differ", f"{spelling} differs from the reference"
                                    f"{_frameworks.difference(name, output, expected, close is None)}",
                                    "mend the template, pass the options that the reference is of, or "
                                    "close= for a tolerance")
    return len(points)


def _sizes(kernel, values):
    """What these values say of sizes, by name."""
    shapes = {name: fact[5] for name, fact in kernel._facts(values).items()}
    sizes = _kernel_outputs.sizes_of(kernel._arguments, shapes)
    return {size: shapes[name][d] for size, (name, d) in sizes.items()} | values


def _takes(kernel, point, sizes):
    """Whether no size that a parameter of this variant fixes is another one."""
    return all(point[size["fixed_by"]] in ("0", str(sizes.get(size["name"], point[size["fixed_by"]])))
               for size in kernel.header["sizes"] if size["fixed_by"])


def _called(kernel, function, tensors, named, **more):
    """Calls a function with these values, and copies of those that the kernel reads and writes. Returns
    the values by name, and what the function returned."""
    names = [argument["name"] for argument in kernel._arguments]
    copied = {a["name"] for a in kernel._arguments if a["direction"] == "inout"}
    given = {name: _frameworks.copy(value) if name in copied and value is not None else value
             for name, value in (*zip(names, tensors), *named.items())}
    in_order = [given[name] for name in names[:len(tensors)]]
    return given, function(*in_order, **{name: given[name] for name in named}, **more)


def _written(kernel, given, made, point):
    """What a call of a variant with these values read and wrote, and what it made, by name in the header's
    order."""
    given = {name: value for name, value in given.items() if value is not None}
    names = [argument["name"] for argument in kernel._made(given, point)]
    made = dict(zip(names, made if isinstance(made, tuple) else (made,)))
    written = {a["name"]: given[a["name"]] for a in kernel._arguments
               if a["direction"] == "inout" and a["name"] in given} | made
    return {a["name"]: written[a["name"]] for a in kernel._arguments if a["name"] in written}
