"""Outputs of a kernel that a call leaves out: what makes them, in the shapes that the header says."""

from . import _core, _frameworks
from ._errors import ArgumentError

_SIGNS = frozenset("_ +*/(),-")
_WORDS = {"ceil_div": lambda a, b: -(-a // b), "align_up": lambda a, b: -(-a // b) * b,
          "min": min, "max": max, "__builtins__": {}}
_codes = {}  # of sizes, by their texts


def _code(text):
    """The code of a size, or None where it is none that Python reads as the header does."""
    if text not in _codes:
        code = None
        if all(sign.isalnum() or sign in _SIGNS for sign in text):
            try:
                code = compile(text.replace("/", "//"), "a size", "eval")
            except SyntaxError:
                pass
        _codes[text] = code
    return _codes[text]


def _shape(tensor):
    shape = getattr(tensor, "shape", None)
    return _core.tensor_facts(tensor)[5] if shape is None else shape


def _no_shape(kernel, argument):
    return ArgumentError("value_missing",
                         f"{kernel}: the shape of {argument['name']}, [{', '.join(argument['shape'])}], "
                         "does not follow from the tensors", f"pass {argument['name']}=")


def _size(kernel, argument, text, known):
    """One of an output's sizes. `known`: the sizes and parameters of a call."""
    if isinstance(known.get(text), int):
        return int(known[text])
    try:
        if (code := _code(text)) is not None:
            return int(eval(code, dict(_WORDS), known))
    except (NameError, TypeError, ArithmeticError):
        pass
    raise _no_shape(kernel, argument)


def _output(kernel, argument, sizes, parameters, tensor, like):
    """A function of a call's values that makes one output. sizes: where each name's is found, a
    value's place and, of a tensor, the dimension."""
    kind = argument["type"]
    places = [None if text in parameters else sizes.get(text) for text in argument["shape"]]
    whole = [(like, d) for d in range(len(_shape(tensor)))]
    if whole and places == whole and hasattr(tensor, "shape"):
        twin = _frameworks.twin_allocator(tensor, kind)
        return lambda given: twin(given[like])
    allocate = _frameworks.allocator(tensor, kind)

    def make(given):
        known = {name: given[i] if d is None else _shape(given[i])[d]
                 for name, (i, d) in sizes.items()}
        known.update(parameters)
        return allocate(given[like], tuple(_size(kernel, argument, text, known)
                                           for text in argument["shape"]))
    return make


def maker(kernel, arguments, missing, facts, values, parameters, at):
    """A function of a call's values that makes its missing outputs, a tuple of several. facts: of the
    tensors among the values; at: the values' names."""
    like = next((at.index(name) for name in at if name in facts), None)
    if like is None:
        raise _no_shape(kernel, missing[0])
    sizes = {name: (at.index(name), None) for name, value in values.items()
             if isinstance(value, int)}
    for argument in arguments:
        if argument["kind"] != "tensor" or argument["name"] not in facts:
            continue
        shape = facts[argument["name"]][5]
        if len(shape) == len(argument["shape"]):
            sizes.update((text, (at.index(argument["name"]), d))
                         for d, text in enumerate(argument["shape"]) if text.isidentifier())
    makers = [_output(kernel, argument, sizes, parameters, values[at[like]], like)
              for argument in missing]
    return makers[0] if len(makers) == 1 else lambda given: tuple(make(given) for make in makers)
