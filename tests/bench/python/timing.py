"""What a call from Python costs the calling thread, beside the same call from C++ and beside other
ways into native code: python timing.py. It needs torch and a GPU; diecast-bench python runs it.

Each line is a figure in JSON, as the bench shows it: nanoseconds, medians over rounds in which all
calls take turns in bursts.
"""

import ctypes
import json
import os
import statistics
import subprocess
import sys
import timeit

import torch

import diecast
import diecast.torch  # registers the operators
import diecast_bench_calls as bench

BURST, ROUNDS = 200, 200
IN_C = "an op of the same schema in C that does nothing"
ROWS, COLS = 8, 4096  # a step of decoding


# As triton_launch's: four tensors and an int, and nothing that counts.
OWN_KERNEL = """/* diecast
size     rows
size     cols
arg      x     in    bf16  [rows, cols]
arg      amax  inout f32   [1]
arg      data  in    u8    [rows, cols / 2]
arg      scale in    e4m3  [rows, cols / 16]
arg      count i32
arg      rows
arg      cols
launch   grid(rows) block(128)
target   sm_80+
exchange none
*/
DIECAST_KERNEL {
  if (count == 0) amax[0] = data[0];
}
"""


def own_operators(names):
    """The same plain call behind operators of torch that do nothing else: define and impl with the
    arguments of diecast's operator and with these four alone, and custom_op."""
    library = torch.library.Library("diecast_bench", "DEF")
    plain = diecast.quantize_nvfp4
    schema = str(torch.ops.diecast.quantize_nvfp4.out._schema)
    library.define("same" + schema[schema.index("("):])

    def same(*inputs, **named):
        plain(*inputs, **named)

    library.impl("same", same, "CUDA")
    library.define("four(Tensor x, Tensor amax, Tensor(a!) data, Tensor(b!) scale) -> ()")

    def body(x, amax, data, scale):
        plain(x, amax, out_data=data, out_scale=scale)

    library.impl("four", body, "CUDA")

    @torch.library.custom_op("diecast_bench::custom", mutates_args=("data", "scale"))
    def custom(x: torch.Tensor, amax: torch.Tensor, data: torch.Tensor, scale: torch.Tensor) -> None:
        plain(x, amax, out_data=data, out_scale=scale)

    operator_in_c(library, schema[schema.index("("):], names)
    names.update(library=library, same=torch.ops.diecast_bench.same.default,
                 four=torch.ops.diecast_bench.four.default, custom=custom)


def operator_in_c(library, schema, names):
    """An operator whose body is in C and does nothing, by torch's C interface (2.10 and later)."""
    library.define("in_c" + schema)
    kinds = {"Tensor": "t", "Optional[Tensor]": "o", "str": "s"}
    arguments = torch.ops.diecast_bench.in_c.default._schema.arguments
    kinds = "".join(kinds.get(str(argument.type), "n") for argument in arguments)
    torch_file = os.path.join(torch.__path__[0], "lib", "libtorch_cpu.so")
    register = ctypes.CDLL(bench.__file__).diecast_bench_stable_operator
    if register(torch_file.encode(), b"diecast_bench", b"in_c", kinds.encode()) == 0:
        names["in_c"] = torch.ops.diecast_bench.in_c.default


def others(names):
    """Calls of other packages, where they are installed."""
    calls = {"torch.add(out=)": "add(x, x, out=other)"}
    if "in_c" in names:
        calls[IN_C] = "in_c(x, amax, out_data=data, out_scale=scale)"
    try:
        import tvm_ffi
        names["nothing"] = tvm_ffi.get_global_func("testing.nop")
        calls["tvm-ffi, a function of four tensors and an int that does nothing"] = (
            "nothing(x, amax, data, scale, 1)")
    except (ImportError, ValueError) as error:
        print(f"tvm-ffi is not measured: {error}", file=sys.stderr)
    try:
        import triton_launch
        names["launch"] = triton_launch.kernel[(ROWS,)]
        calls["a Triton launch of four tensors"] = "launch(x, amax, data, scale, 1)"
    except ImportError as error:
        print(f"Triton is not measured: {error}", file=sys.stderr)
    return calls


def measured(names, calls):
    """Nanoseconds of each call in each round, by name; of C++ where a call is a boolean."""
    tensors = [names[name] for name in ("x", "amax", "data", "scale")]

    def burst(call):
        if isinstance(call, bool):
            return bench.in_cpp(*tensors, call, BURST)
        return timers[call].timeit(BURST) / BURST * 1e9

    timers = {call: timeit.Timer(call, globals=names) for call in calls.values()
              if not isinstance(call, bool)}
    times = {name: [] for name in calls}
    order = list(calls)
    for turn in range(-10, ROUNDS):
        for i in range(len(order)):
            name = order[(i + turn) % len(order)]
            took = burst(calls[name])
            torch.cuda.synchronize()
            if turn >= 0:
                times[name].append(took)
    return times


def import_milliseconds():
    """The least of several imports in processes of their own: whatever else runs can only add."""
    code = ("import time; start = time.perf_counter(); import diecast; "
            "print(time.perf_counter() - start)")
    return min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True,
                                    text=True).stdout) for _ in range(10)) * 1e3


def show(what, value, unit="ns", bound=0, detail=""):
    """A figure and, where we promise one, its bound."""
    print(json.dumps({"what": what, "value": value, "unit": unit, "bound": bound,
                      "detail": detail}), flush=True)


def main():
    """Measures, and prints the figures."""
    x = torch.randn(ROWS, COLS, device="cuda", dtype=torch.bfloat16)
    amax = torch.ones(1, device="cuda")
    data, scale = diecast.quantize_nvfp4(x, amax=amax)
    names = {"x": x, "amax": amax, "data": data, "scale": scale, "out": (data, scale),
             "other": torch.empty_like(x), "add": torch.add, "read": bench.read,
             "both": bench.read_and_run,
             "plain": diecast.quantize_nvfp4, "made": torch.ops.diecast.quantize_nvfp4.default,
             "operator": torch.ops.diecast.quantize_nvfp4.out,
             "prepared": diecast.prepare("quantize_nvfp4", x, amax=amax)}
    own_operators(names)
    names["own"] = diecast.kernel(OWN_KERNEL, name="bench_four_tensors")
    names["empty"], names["uint8"] = torch.empty, torch.uint8
    calls = {
        "C++, plain": False, "C++, prepared": True, "reading four tensors and the stream":
        "read(x, amax, data, scale)",
        "reading them and the C++ prepared op, one after the other": "both(x, amax, data, scale)",
        "plain": "plain(x, amax, out=out)", "plain, outputs by name":
        "plain(x, amax, out_data=data, out_scale=scale)",
        "prepared": "prepared(x, amax, out=out)", "prepared, outputs by name":
        "prepared(x, amax, out_data=data, out_scale=scale)",
        "operator": "operator(x, amax, out_data=data, out_scale=scale)",
        "a define + impl op of the same schema around the plain call":
        "same(x, amax, out_data=data, out_scale=scale)",
        "a define + impl op of four tensors around the plain call": "four(x, amax, data, scale)",
        "a custom_op around the plain call": "custom(x, amax, data, scale)",
        "a template of four tensors and an int": "own(x, amax, data, scale, 1)",
        "plain, makes its outputs": "plain(x, amax)", "operator that makes its outputs": "made(x, amax)",
        "torch.empty": "empty((8, 2048), dtype=uint8, device='cuda')", **others(names)}
    times = measured(names, calls)
    ns = {name: statistics.median(rounds) for name, rounds in times.items()}

    def above(name, *bases):
        return statistics.median(a - sum(base) for a, *base in
                                 zip(times[name], *(times[base] for base in bases)))

    about = (f"quantize_nvfp4 of {ROWS}x{COLS}, amax given, {torch.cuda.get_device_name()}, "
             f"torch {torch.__version__}")
    read = "reading four tensors and the stream"
    show("a plain call with out= above the C++ plain call", above("plain", "C++, plain"), bound=600,
         detail=about)
    show("a prepared call with out= above the C++ prepared op and reading its tensors",
         above("prepared", "C++, prepared", read), bound=150, detail=about)
    show("the same above both in one call, whose reading finds the processor's cache as ours does",
         above("prepared", "reading them and the C++ prepared op, one after the other"))
    show("torch.ops.diecast's operator against an empty define + impl op around the same call",
         statistics.median(a / b for a, b in zip(
             times["operator"],
             times["a define + impl op of the same schema around the plain call"])),
         "x", 1.15, f"{ns['operator']:.0f} ns")
    if IN_C in times:
        show("what an operator in C could save of an operator above the plain call, at most",
             statistics.median(100 * (1 - c / (ours - plain)) for c, ours, plain in zip(
                 times[IN_C], times["operator"], times["plain, outputs by name"])), "%",
             detail="worth it from 50 % on")
    if "a Triton launch of four tensors" in times:
        show("a launch of an own template against one of Triton", statistics.median(
            a / b for a, b in zip(times["a template of four tensors and an int"],
                                  times["a Triton launch of four tensors"])), "x", 0.2)
    show("import diecast", import_milliseconds(), "ms", 30,
         f"Python {sys.version.split()[0]}")
    for name, value in ns.items():
        show(name, value)


if __name__ == "__main__":
    main()
