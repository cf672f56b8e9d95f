"""Outputs of a kernel that a call leaves out: what makes them, in the shapes that the header says."""

from . import _core, _frameworks
from ._errors import ArgumentError


def _shape(tensor):
    shape = getattr(tensor, "shape", None)
    return _core.tensor_facts(tensor, "tensor", "it")[5] if shape is None else shape


def sizes_of(arguments, shapes):
    """Where each size is found that stands alone in the shape of a tensor: the tensor's name and the
    dimension. shapes: of the tensors, by name."""
    return {text: (argument["name"], d) for argument in arguments
            if len(shapes.get(argument["name"], ())) == len(argument["shape"])
            for d, text in enumerate(argument["shape"]) if text.isidentifier()}


def check_dimensions(template, arguments, shapes):
    """Raises ArgumentError where a tensor has fewer dimensions than the header says."""
    for argument in arguments:
        shape = shapes.get(argument["name"], argument["shape"])
        if len(shape) < len(argument["shape"]):
            raise ArgumentError("shape_mismatch", f"{template}: {argument['name']}: it is {list(shape)}",
                                f"pass a tensor of {len(argument['shape'])} dimensions")


def _output(kernel, argument, sizes, tensor, like):
    """A function of a call's values that makes one output. sizes: where each name's is found, a
    value's place and, of a tensor, the dimension."""
    name = argument["name"]
    whole = [(like, d) for d in range(len(_shape(tensor)))]
    if whole and [sizes.get(text) for text in argument["shape"]] == whole and hasattr(tensor, "shape"):
        twin = _frameworks.twin_allocator(tensor, argument["type"])
        return lambda given: twin(given[like])

    def make(given):
        known = {size: given[i] if d is None else _shape(given[i])[d]
                 for size, (i, d) in sizes.items()}
        return _core.kernel_output(kernel, name, known, given[like])
    return make


def maker(kernel, template, arguments, missing, facts, values, at):
    """A function of a call's values that makes its missing outputs, a tuple of several. facts: of the
    tensors among the values; at: the values' names."""
    like = next((at.index(name) for name in at if name in facts), None)
    if like is None:
        first = missing[0]
        raise ArgumentError("value_missing", f"{template}: the shape of {first['name']}, "
                            f"[{', '.join(first['shape'])}], does not follow from the tensors",
                            f"pass {first['name']}=")
    shapes = {name: fact[5] for name, fact in facts.items()}
    check_dimensions(template, arguments, shapes)
    sizes = {name: (at.index(name), None) for name, value in values.items()
             if name not in facts and hasattr(value, "__index__")}
    sizes.update((size, (at.index(name), d)) for size, (name, d) in sizes_of(arguments, shapes).items())
    makers = [_output(kernel, argument, sizes, values[at[like]], like) for argument in missing]
    return makers[0] if len(makers) == 1 else lambda given: tuple(make(given) for make in makers)
