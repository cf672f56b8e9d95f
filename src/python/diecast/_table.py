"""The table of ops as the library describes it (src/diecast/c/ops.h). What other frameworks register
is made of it."""

from typing import NamedTuple

from . import _core
from ._errors import ArgumentError

_INPUT, _OPTIONAL_INPUT, _OUTPUT, _SCRATCH = range(4)
_WORD, _FLAG, _COUNT, _REAL = range(4)
_KINDS = {_WORD: str, _FLAG: bool, _COUNT: int, _REAL: float}


class Option(NamedTuple):
    """kind is str, bool, int or float; words are those that a str may be, the default first."""
    name: str
    kind: type
    default: object
    words: tuple
    what: str


class Op(NamedTuple):
    """Names of tensors, in the order of the table: fields has all. Optional inputs stand behind the
    others. directed: an option says which sides of a matrix are written."""
    name: str
    what: str
    fields: tuple
    inputs: tuple
    optional_inputs: tuple
    outputs: tuple
    options: tuple
    directed: bool

    def check_words(self, options):
        """Raises ArgumentError for an option that is none of its words."""
        for option in self.options:
            word = options.get(option.name, option.default)
            if option.kind is str and word not in option.words:
                raise ArgumentError("value_not_allowed", f"{self.name}: {option.name} = {word!r}",
                                    f"{option.name} is one of {', '.join(option.words)}")


def _option(name, kind, words, integer, real, what):
    words = tuple(words.split())
    default = {_WORD: words[0] if words else "", _FLAG: bool(integer), _COUNT: integer,
               _REAL: real}[kind]
    return Option(name, _KINDS[kind], default, words, what)


def _op(name, what, tensors, options):
    of = {role: tuple(tensor for tensor, is_, _ in tensors if is_ == role) for role in range(4)}
    options = tuple(_option(*option) for option in options)
    fields = tuple(tensor for tensor, _, _ in tensors)
    return Op(name, what, fields, of[_INPUT], of[_OPTIONAL_INPUT], of[_OUTPUT], options,
              "direction" in (option.name for option in options))


OPS = {entry[0]: _op(*entry) for entry in _core.op_table()}
