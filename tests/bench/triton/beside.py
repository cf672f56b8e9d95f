"""Times each example kernel beside the same one in Triton: python beside.py, on a machine with a GPU,
torch, triton and the Python package. bf16; both in CUDA graphs whose inputs rotate beyond the
second-level cache; Triton's as its autotuner chooses, ours as they stand, and results are compared.
DIECAST_CACHE=off: the first call of ours compiles, and its time is that of a compile. --json prints
Triton's times for `diecast-bench kernels`, a line each.
"""

import argparse
import json
import math
import statistics
import time

import torch

from pairs import near, outputs, pairs


def microseconds(calls, replays=30):
    """Of a call, the median over replays of a graph of all of them."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = [call() for call in calls]  # alive, so that none gets another's memory
    times = []
    for _ in range(replays):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1000 / len(kept))
    return statistics.median(times)


def host_nanoseconds(call, batch=100, batches=30):
    """The calling thread's time of a call, its outputs made too."""
    times = []
    for _ in range(batches):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(batch):
            call()
        times.append((time.perf_counter_ns() - start) / batch)
    return statistics.median(times)


def first_call(pair):
    """Milliseconds of our first call."""
    arguments = pair.make(*pair.sizes[-1], 0)
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    pair.ours(*arguments)
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - start) / 1e6


def compare(pair, rows, cols):
    """Times and host times of both, where their results agree."""
    arguments = [pair.make(rows, cols, 0)]
    got, wanted = (outputs(run(*(each.clone() for each in arguments[0])))
                   for run in (pair.ours, pair.theirs))
    if not all(near(a, b, pair.slack) for a, b in zip(got, wanted, strict=True)):
        return None
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    size = sum(each.numel() * each.element_size() for each in arguments[0])
    arguments += [pair.make(rows, cols, seed) for seed in range(1, min(100, 1 + math.ceil(3 * cache / size)))]
    figures = []
    for run in (pair.ours, pair.theirs):
        calls = [lambda run=run, given=given: run(*given) for given in arguments]
        figures += [microseconds(calls), host_nanoseconds(calls[0])]
    return figures


def shape(text):
    """"8192x4096" as rows and columns."""
    rows, cols = text.split("x")
    return int(rows), int(cols)


def line(name, rows, cols, figures):
    """A time of Triton's for a program to read."""
    us = 0 if figures is None else figures[2]
    return json.dumps({"kernel": name, "rows": rows, "cols": cols, "us": us, "agrees": figures is not None})


def row(name, rows, cols, figures, first):
    """A row of the table."""
    if figures is None:
        return f"{name:16} {rows:6} {cols:6}   WRONG: their results differ"
    ours, launch, theirs, other = figures
    return (f"{name:16} {rows:6} {cols:6} {ours:12.2f} {theirs:11.2f} {ours / theirs:7.2f} "
            f"{launch:11.0f} {other:10.0f} {first:10.0f}")


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Times the example kernels beside Triton's.")
    parser.add_argument("kernel", nargs="*", help="of these alone")
    parser.add_argument("--shape", type=shape, action="append", help="on these matrices: 8192x4096")
    parser.add_argument("--json", action="store_true", help="Triton's times, for programs")
    given = parser.parse_args()
    if not given.json:
        print(torch.cuda.get_device_name())
        print("kernel             rows   cols   diecast us   Triton us   ratio   launch ns   Triton's   first ms")
    for name, pair in pairs(torch.bfloat16).items():
        if given.kernel and name not in given.kernel:
            continue
        first = 0 if given.json else first_call(pair)
        for rows, cols in given.shape or pair.sizes:
            figures = compare(pair, rows, cols)
            print(line(name, rows, cols, figures) if given.json else row(name, rows, cols, figures, first))


if __name__ == "__main__":
    main()
