"""The library's errors as exceptions. Each has `.code`, a stable word, and `.fix`, which mends it."""


class Error(Exception):
    """What diecast raises. `.code` is a stable word ("shape_mismatch"), `.fix` says what mends it."""

    def __init__(self, code, what, fix):
        super().__init__(code, what, fix)
        self.code, self.what, self.fix = code, what, fix

    def __str__(self):
        return f"{self.what}\n  fix: {self.fix}"


class ArgumentError(Error, ValueError):
    """A value, shape, name or place that the call cannot take."""


class DtypeError(Error, TypeError):
    """An element type that the call cannot take, or an object that is no tensor."""


class ExecutionError(Error, RuntimeError):
    """The machine, a compiler, a driver or a disk could not do it."""


class CompileError(ExecutionError):
    """A kernel could not be compiled; the message has the compiler's log."""


class WouldCompile(ExecutionError):
    """A kernel that was not prepared is needed after freeze(), or where nothing may be compiled."""


_ARGUMENT = """invalid_argument parse_error unknown_template unknown_parameter unknown_target
value_not_allowed value_missing constraint_violated shape_mismatch misaligned missing_buffer
not_supported file_exists""".split()
_EXECUTION = """target_not_supported not_resident driver_unavailable driver_error no_device
out_of_memory results_differ nonfinite_values divergent_barrier assertion_failed io_error file_not_found file_corrupt
unsafe_directory timed_out process_failed internal""".split()

CLASSES = {
    **dict.fromkeys(_ARGUMENT, ArgumentError),
    **dict.fromkeys(_EXECUTION, ExecutionError),
    "dtype_mismatch": DtypeError,
    "compile_failed": CompileError,
    "compiler_unavailable": CompileError,
    "frozen": WouldCompile,
    "not_cached": WouldCompile,
}


def check_state(kind, state, fields, optional=()):
    """Raises ArgumentError for a state_dict() of something else."""
    fix = "pass what state_dict() gave"
    if missing := [field for field in fields if field not in state]:
        raise ArgumentError("value_missing", f"{kind}: the state has no {missing[0]}", fix)
    if unknown := sorted(state.keys() - {*fields, *optional}):
        raise ArgumentError("unknown_parameter", f"{kind}: the state has {unknown[0]}", fix)
