"""The example kernels, each in diecast and in Triton: what both take, and a call of either on it."""

from pathlib import Path
from typing import Callable, NamedTuple

import torch

import diecast
import kernels

EXAMPLES = Path(__file__).resolve().parents[3] / "examples/kernels"
HEADS, EXPERTS_CHOSEN = 4, 8


class Pair(NamedTuple):
    """make(rows, cols, seed) gives arguments; ours(*arguments) and theirs(*arguments) the outputs.

    Arguments that a call writes are among its outputs. `sizes`: of rows and cols, worth measuring.
    `slack`: by how much of the largest both may differ, for sums in another order."""

    make: Callable
    ours: Callable
    theirs: Callable
    sizes: tuple = ((8192, 8192), (64, 8192))
    slack: float = 2.0**-19


def pairs(dtype, on="cuda", **place):
    """By name, for tensors on that device of torch. place: device="host" where those of diecast run on the CPU."""
    runtime = diecast.Runtime()
    runtime.add_header("kernels/piece.h", EXAMPLES / "include/kernels/piece.h")

    def ours(name):
        kernel = diecast.kernel(EXAMPLES / f"{name}.cu", runtime=runtime)
        return lambda *tensors, **named: kernel(*tensors, **named, **place)

    def drawn(*shape, seed=0):
        generator = torch.Generator(on).manual_seed(seed)
        return torch.randn(shape, generator=generator, device=on).to(dtype)

    def empty(*shape, of=dtype):
        return torch.empty(shape, dtype=of, device=on)

    def one(rows, cols, seed):
        return (drawn(rows, cols, seed=seed),)

    norm, multiply, count, rotate, gate = map(
        ours, ["rms_norm", "silu_and_mul", "histogram", "rotary_embedding", "top_k_gate"])

    def our_norm(x, residual, weight):
        return norm(x, residual=residual, weight=weight, eps=1e-5), residual

    def our_product(x):
        out = empty(x.shape[0], x.shape[1] // 2)
        multiply(x, out)
        return out

    def our_counts(x):
        counts = torch.zeros(256, dtype=torch.int32, device=on)
        count(x.view(-1), counts.view(torch.uint32), low=-4.0, per_unit=32.0)
        return counts

    def our_rotation(x, positions, frequencies):
        heads = torch.tensor([HEADS, x.shape[1] // HEADS], dtype=torch.int32).numpy()
        rotate(x, positions, frequencies, heads)
        return x

    def our_choice(logits):
        weights = empty(logits.shape[0], EXPERTS_CHOSEN, of=torch.float32)
        experts = empty(logits.shape[0], EXPERTS_CHOSEN, of=torch.int32)
        gate(logits, weights, experts, EXPERTS=logits.shape[1], K=EXPERTS_CHOSEN)
        return weights, experts

    def rotated(rows, cols, seed):
        half = cols // HEADS // 2
        return (drawn(rows, cols, seed=seed), torch.arange(rows, device=on),
                10000.0 ** -(torch.arange(half, device=on) / half))

    return {
        "softmax": Pair(one, ours("softmax"), kernels.softmax),
        "rms_norm": Pair(
            lambda rows, cols, seed: (drawn(rows, cols, seed=seed), drawn(rows, cols, seed=seed + 1),
                                      drawn(cols, seed=seed)),
            our_norm, lambda x, residual, weight: (kernels.rms_norm(x, residual, weight), residual)),
        "rotary_embedding": Pair(
            rotated, our_rotation,
            lambda x, *more: kernels.rotary_embedding(x, *more, HEADS, x.shape[1] // HEADS)),
        "top_k_gate": Pair(one, our_choice, lambda logits: kernels.top_k_gate(logits, EXPERTS_CHOSEN),
                           ((8192, 256), (64, 256))),
        "silu_and_mul": Pair(one, our_product, kernels.silu_and_mul),
        "scan": Pair(one, ours("scan"), kernels.scan, slack=2.0**-17),
        "histogram": Pair(one, our_counts, lambda x: kernels.histogram(x, -4.0, 32.0)),
        "gemv": Pair(
            lambda rows, cols, seed: (drawn(rows, cols, seed=seed), drawn(cols, seed=seed),
                                      drawn(rows, seed=seed)),
            ours("gemv"), kernels.gemv, ((8192, 8192), (1024, 8192))),
    }


def outputs(result):
    """A call's outputs as a tuple."""
    return result if isinstance(result, tuple) else (result,)


def near(got, wanted, slack=2.0**-19):
    """Whether two outputs agree: within `slack` of the largest, and 16-bit types within a step of each
    besides; integers are equal."""
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    if not got.dtype.is_floating_point:
        return torch.equal(got, wanted)
    step = {torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10, torch.float32: 0}[got.dtype]
    a, b = got.double(), wanted.double()
    return bool(((a - b).abs() <= b.abs() * step + b.abs().max() * slack + 2.0**-24).all())
