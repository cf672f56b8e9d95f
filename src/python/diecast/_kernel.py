"""Kernels of one's own: a template from a file or a text, called with tensors."""

import os

from . import _core, _kernel_check, _kernel_outputs
from ._errors import ArgumentError, DtypeError
from ._runtime import given_or_own

_TYPES = {(4, 16): "bf16", (2, 16): "f16", (2, 32): "f32", (10, 8): "e4m3", (12, 8): "e5m2",
          (14, 8): "e8m0", (1, 8): "u8", (0, 32): "i32", (1, 32): "u32", (0, 64): "i64",
          (2, 64): "f64", (0, 8): "i8", (1, 16): "u16", (1, 64): "u64"}
_WRITTEN, _STRUCTURE, _PARAMETER, _NUMBER = 1, 2, 4, 8  # traits of a call's values, as the extension has them


def kernel(source, *, name=None, runtime=None):
    """A template as a callable: the path of NAME.cu, or its text.

    A text's kernel is called `name`, or after a digest of the text. Raises ArgumentError where it
    does not parse, with the line and what was meant."""
    with_runtime = given_or_own(runtime)
    text = os.fspath(source)
    if not isinstance(text, str):
        raise DtypeError("dtype_mismatch", f"a kernel's source is {type(text).__name__}",
                         "pass a path or a text as str")
    if isinstance(source, os.PathLike) or text.endswith(".cu") and "\n" not in text:
        with_runtime.add(text)
        return Kernel(os.path.basename(text)[:-3], with_runtime)
    if name is None:
        import hashlib
        name = "kernel_" + hashlib.sha256(text.encode()).hexdigest()[:12]
    with_runtime.add_text(name, text)
    return Kernel(name, with_runtime)


class Kernel(_core.Launcher):
    """A template: k(x, factor, T="bf16", THREADS=256) launches the variant that the call names.

    Arguments without a size come in the header's order or by name; a structure or a tensor map is its
    bytes, or an object that gives them, such as a ctypes.Structure. Parameters in UPPER CASE fix the
    variant; types follow from the tensors, sizes from their shapes, and so does a `shape` without a
    default that is an extent of one. Outputs that are left out are made by the first tensor's
    framework, in the shape that the header says, and returned; an optional one where its parameter
    is passed, as HAS_BIAS=1.
    """

    def __init__(self, name, runtime=None):
        self.runtime = given_or_own(runtime)
        self.name = name
        self.header = self.runtime.describe(name)
        self._arguments = [a for a in self.header["arguments"] if a["kind"] != "size"]
        self._names = [a["name"] for a in self.header["arguments"]]
        self._written = frozenset(a["name"] for a in self._arguments if a["direction"] != "in")
        self._structures = frozenset(a["name"] for a in self._arguments if a["kind"] in ("struct", "tensor_map"))
        self._numbers = frozenset(a["name"] for a in self.header["arguments"] if a["kind"] in ("scalar", "size"))
        self._parameters = {p["name"]: p for p in self.header["parameters"]}
        self._shapes = {  # that have to be given: what each is called in shapes of tensors
            p["name"]: {p["name"]} | {s["name"] for s in self.header["sizes"] if s["fixed_by"] == p["name"]}
            for p in self.header["parameters"] if p["kind"] == "shape" and "default" not in p}
        self._prepared, self._forms = {}, {}

    def __repr__(self):
        return f"<diecast.Kernel {self.name}>"

    def prepare(self, device=None, **parameters):
        """Compiles and loads a variant, whose later launches do neither. Returns its spelling."""
        return _core.kernel_spelling(self._kernel({}, parameters, device))

    def variants(self, target="host", **fixed):
        """The spelling of every variant of the space, with some parameters fixed."""
        return self.runtime.variants(f"{self._spelling(fixed)} @ {target}")

    def source(self, target="host", **parameters):
        """The text that is compiled for a variant."""
        return self.runtime.source(f"{self._spelling(parameters)} @ {target}")

    def ptx(self, target, **parameters):
        """The PTX of a variant for a GPU's target, as NVRTC makes it now."""
        return self.runtime.ptx(f"{self._spelling(parameters)} @ {target}")

    def sass(self, target, **parameters):
        """The machine code of a variant for a GPU's target as text, where nvdisasm or cuobjdump is."""
        return self.runtime.sass(f"{self._spelling(parameters)} @ {target}")

    def resolve(self, target="host", **parameters):
        """A variant's machine code and facts: code, registers, spill_bytes, static_shared_bytes."""
        return self.runtime.resolve(f"{self._spelling(parameters)} @ {target}")

    def registers(self, target, **parameters):
        """The registers of a thread of a variant."""
        return self.resolve(target, **parameters)["registers"]

    def warm(self, targets, **fixed):
        """Compiles every variant of the space for targets, without a GPU. Returns the counts."""
        lines = [line for target in targets for line in self.variants(target, **fixed)]
        return self.runtime.warm("\n".join(lines))

    def tune(self, sizes, device=None, save=None, **named):
        """Times every configuration at each of `sizes` ({"rows": 16, "cols": 4096}); later calls take
        the quickest. save: a file that gets the records, which DIECAST_TUNING may name.

        named: parameters, and arguments that are not drawn, by name: scalars (f32 is 1 without), a
        structure, tensors of indices on the device. Returns the records. Raises ArgumentError where
        the header does not tell how to make an argument that is not given."""
        given = {name: value for name, value in named.items() if name in self._names}
        parameters = {name: value for name, value in named.items() if name not in given}
        self._bind(given, parameters)
        records = self.runtime._tune(self._spelling(parameters), sizes, device, tuple(given.values()),
                                     tuple((name, self._traits(name)) for name in given))
        self._prepared.clear()
        self._forms.clear()
        self._forget()
        if save is not None:
            with open(save, "a", encoding="ascii") as file:
                file.writelines(f"{record}\n" for record in records)
        return records

    def check(self, reference, *tensors, device=None, close=None, **named):
        """Runs every variant of the space on these tensors against a Python function of them, but for
        those of other sizes (COLS=64, and the tensors have 32 columns).

        reference(*tensors) gives what is written: a value for each output, which the kernel makes, and
        for each `inout` tensor, in the header's order. Each call gets copies of the latter, the
        reference too. named: parameters that are fixed, and arguments by name (eps=1e-5), which the
        reference gets by name too. close(a, b) says whether two values agree; without it every byte
        has to. Returns the number of variants."""
        return _kernel_check.check(self, reference, tensors, named, device, close)

    def _form(self, tensors, named):
        """What calls of so many tensors and of these names have in common, for the extension: the
        kernel's name, the name and traits of each value and the dimensions that fix parameters, the
        variants that were called, and what prepares another."""
        if form := self._forms.get((len(tensors), *named)):
            return form
        self._take(tensors, named)
        names = [a["name"] for a in self._arguments[:len(tensors)]] + list(named)
        told = self._told_by(names, named).values()
        form = (self.name, tuple((name, self._traits(name), tuple(d for of, d in told if of == name))
                                 for name in names), {}, self._variant)
        self._forms[(len(tensors), *named)] = form
        return form

    def _traits(self, name):
        return (_WRITTEN * (name in self._written) | _STRUCTURE * (name in self._structures)
                | _PARAMETER * (name in self._parameters) | _NUMBER * (name in self._numbers))

    def _variant(self, tensors, named, device):
        """What serves calls like this one: the kernel, what makes the outputs that are left out from a
        call's values, and the name and traits of each of them."""
        values, parameters = self._read(tensors, named)
        missing = [a | {"type": self._type(a, parameters)} for a in self._made(values, parameters)]
        at = [a["name"] for a in self._arguments[:len(tensors)]] + list(named)
        kernel = self._kernel(values, parameters, device)
        make = _kernel_outputs.maker(kernel, self.name, self._arguments, missing, self._facts(values),
                                     values, at) if missing else None
        return kernel, make, tuple((a["name"], self._traits(a["name"])) for a in missing)

    def _made(self, given, parameters):
        """The outputs that a call makes: those that are not given, optional ones where HAS_... is 1."""
        return [a for a in self._arguments if a["direction"] == "out" and a["name"] not in given
                and (not a["optional"] or str(parameters[a["optional"]]) in ("1", "True", "true"))]

    def _take(self, tensors, named):
        if len(tensors) > len(self._arguments):
            raise TypeError(f"{self.name} takes {len(self._arguments)} arguments, "
                            f"{len(tensors)} were given")
        values = {a["name"]: value for a, value in zip(self._arguments, tensors)}
        parameters = {}
        for name, value in named.items():
            if name in self._parameters:
                parameters[name] = value
            elif name in values:
                raise TypeError(f"{self.name} got several values for {name!r}")
            elif name in self._names:
                values[name] = value
            else:
                raise ArgumentError("unknown_parameter", f"{self.name}: no argument {name!r}",
                                    f"its arguments are {', '.join(self._names)}, its parameters "
                                    f"{', '.join(self._parameters)}")
        values = {name: value for name, value in values.items() if value is not None}
        for argument in self._arguments:
            if argument["optional"]:
                parameters.setdefault(argument["optional"], argument["name"] in values)
        for name in self._structures & values.keys():
            values[name] = bytes(memoryview(values[name]))
        return values, parameters

    def _read(self, tensors, named):
        """A call's values by name, and the parameters that it gives or that follow from them."""
        values, parameters = self._take(tensors, named)
        for argument in self._arguments:
            name = argument["name"]
            if argument["direction"] != "out" and not argument["optional"] and name not in values:
                raise ArgumentError("invalid_argument", f"{self.name}: {name}: it is not given",
                                    f"pass {name}=, or values in the order of the header's arguments, "
                                    "outputs among them")
        self._bind(values, parameters)
        return values, parameters

    def _told_by(self, names, parameters):
        """Where each parameter that is a size of tensors, and is not given, is found: the argument
        and the dimension."""
        told = {}
        for argument in self._arguments:
            if argument["name"] in names and not argument["optional"]:
                for d, extent in enumerate(argument["shape"]):
                    for parameter, words in self._shapes.items():
                        if extent in words and parameter not in parameters:
                            told.setdefault(parameter, (argument["name"], d))
        return told

    def _facts(self, values):
        """Of the tensors among them."""
        return {name: _core.tensor_facts(value, self.name, name) for name, value in values.items()
                if name not in self._numbers and name not in self._structures}

    def _bind(self, values, parameters):
        """Parameters that follow from tensors: types, and sizes that have no default."""
        if told := self._told_by(values, parameters):
            facts = self._facts({name: values[name] for name, _ in told.values()})
            shapes = {name: fact[5] for name, fact in facts.items()}
            _kernel_outputs.check_dimensions(self.name, self._arguments, shapes)
            parameters.update((parameter, shapes[name][d]) for parameter, (name, d) in told.items())
        for argument in self._arguments:
            kind = argument["type"]
            if kind not in self._parameters or kind in parameters or argument["name"] not in values:
                continue
            code, bits, *_ = _core.tensor_facts(values[argument["name"]], self.name, argument["name"])
            if (code, bits) not in _TYPES:
                raise DtypeError("dtype_mismatch", f"{self.name}: {argument['name']} has an element "
                                 "type that diecast does not know", "pass bf16, f16, f32 or fp8")
            parameters[kind] = _TYPES[code, bits]

    def _type(self, argument, parameters):
        """The element type of an output that is left out."""
        kind = argument["type"]
        if kind not in self._parameters:
            return kind
        if (kind := parameters.get(kind, self._parameters[kind].get("default"))) is None:
            raise ArgumentError("value_missing", f"{self.name}: the type of {argument['name']}, "
                                f"{argument['type']}, does not follow from the tensors",
                                f"pass {argument['type']}= or {argument['name']}=")
        return kind

    def _spelling(self, parameters):
        words = (f"{name}={int(value) if isinstance(value, bool) else getattr(value, '__name__', value)}"
                 for name, value in parameters.items())
        return " ".join([self.name, *words])

    def _where(self, values, device):
        """The device that a call's work is done on: the one it names, else its tensors'."""
        if device is not None or not values:
            return device
        for *_, kind, number, _ in self._facts(values).values():
            if kind == 2:
                return number
        raise ArgumentError("invalid_argument", f"{self.name}: its tensors are on the CPU",
                            'pass device="host" to compute on this processor')

    def _kernel(self, values, parameters, device):
        where = self._where(values, device)
        key = (tuple(sorted(parameters.items())), where)
        if key not in self._prepared:
            self._prepared[key] = _core.kernel_prepare(
                self.runtime.handle, _core.device_handle(where), self._spelling(parameters))
        return self._prepared[key]
