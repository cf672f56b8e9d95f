"""Times each example kernel beside the same one in Triton: python beside.py, on a machine with a GPU,
torch, triton and the Python package. bf16; both in CUDA graphs whose inputs rotate beyond the
second-level cache; Triton's as its autotuner chooses, ours as they stand, and results are compared.
DIECAST_CACHE=off: the first call of ours compiles, and its time is that of a compile.
"""

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


def main():
    """Prints the table."""
    print(torch.cuda.get_device_name())
    print("kernel             rows   cols   diecast us   Triton us   ratio   launch ns   Triton's   first ms")
    for name, pair in pairs(torch.bfloat16).items():
        first = first_call(pair)
        for rows, cols in pair.sizes:
            figures = compare(pair, rows, cols)
            if figures is None:
                print(f"{name:16} {rows:6} {cols:6}   WRONG: their results differ")
                continue
            ours, launch, theirs, other = figures
            print(f"{name:16} {rows:6} {cols:6} {ours:12.2f} {theirs:11.2f} {ours / theirs:7.2f} "
                  f"{launch:11.0f} {other:10.0f} {first:10.0f}")


if __name__ == "__main__":
    main()
