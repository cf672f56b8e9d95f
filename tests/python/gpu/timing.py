"""Nanoseconds of the calling thread: python timing.py. Medians of batches; bf16 on a GPU."""

import statistics
import time

import torch

import diecast


def median(call, batch=200, batches=60):
    """The median of a batch's time, a call. The stream is drained between batches."""
    for _ in range(batch):
        call()
    times = []
    for _ in range(batches):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(batch):
            call()
        times.append((time.perf_counter_ns() - start) / batch)
    torch.cuda.synchronize()
    return statistics.median(times)


def main():
    """Prints the table."""
    x = torch.randn(16, 7168, device="cuda", dtype=torch.bfloat16)
    amax = torch.ones(1, device="cuda")
    data, scale = diecast.quantize_nvfp4(x, amax=amax)
    op = diecast.prepare("quantize_nvfp4", x, amax=amax)
    other = torch.empty_like(x)
    rows = [
        ("prepared, outputs by name", lambda: op(x, amax, out_data=data, out_scale=scale)),
        ("prepared, out=", lambda: op(x, amax, out=(data, scale))),
        ("plain, outputs by name", lambda: diecast.quantize_nvfp4(x, amax, out_data=data,
                                                                  out_scale=scale)),
        ("plain, out=", lambda: diecast.quantize_nvfp4(x, amax, out=(data, scale))),
        ("plain, stream=0", lambda: diecast.quantize_nvfp4(x, amax, out_data=data, out_scale=scale,
                                                           stream=0)),
        ("plain, makes its outputs", lambda: diecast.quantize_nvfp4(x, amax)),
        ("torch.add(out=)", lambda: torch.add(x, x, out=other)),
        ("torch.empty", lambda: torch.empty((16, 3584), dtype=torch.uint8, device="cuda")),
        ("an empty Python function", lambda: None),
    ]
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "diecast", diecast.__version__)
    for name, call in rows:
        print(f"{name:30} {median(call):8.0f} ns")


if __name__ == "__main__":
    main()
