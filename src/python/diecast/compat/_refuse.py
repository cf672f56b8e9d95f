"""Arguments that diecast has no answer for."""

from .._errors import ArgumentError


def only(function, **arguments):
    """Each argument is (value, what diecast has). Raises ArgumentError for another value."""
    for name, (value, known) in arguments.items():
        if value not in known:
            raise ArgumentError("not_supported", f"{function}: {name} = {value!r} is not in diecast",
                                f"pass {name} = {' or '.join(map(repr, known))}")
