"""examples/kernels in Triton: of each the same inputs, outputs and roundings, and the same call.

A function makes its outputs as the diecast kernel does, f32 inside, each result rounded once. Sums go
in Triton's order. Every kernel chooses among 16 or more configurations (CONFIGS) by triton.autotune.
"""

import os

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps)
           for block in (1024, 2048, 4096, 8192) for warps in (4, 8, 16, 32)]
SMALL = [triton.Config({"BLOCK": block}, num_warps=warps)
         for block in (128, 256, 512, 1024) for warps in (1, 2, 4, 8)]
WARPS = [triton.Config({"TOKENS": tokens}, num_warps=warps)
         for tokens in (1, 2, 4, 8) for warps in (1, 2, 4, 8)]


def tuned(configs, *key, restore=()):
    """autotune over `configs`, anew for other values of `key`. Triton's interpreter has no time to compare."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        configs = configs[:1]

    def of(kernel):
        return triton.autotune(configs, key=list(key), restore_value=list(restore))(triton.jit(kernel))
    return of


@tuned(CONFIGS, "cols")
def softmax_kernel(x, y, cols, x_stride, BLOCK: tl.constexpr):
    x += tl.program_id(0).to(tl.int64) * x_stride
    y += tl.program_id(0).to(tl.int64) * cols
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        largest = tl.maximum(largest, tl.load(x + at, mask=at < cols, other=float("-inf")).to(tl.float32))
    most = tl.max(largest, 0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.exp(tl.load(x + at, mask=at < cols, other=float("-inf")).to(tl.float32) - most)
    total = tl.sum(sums, 0)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < cols, other=float("-inf")).to(tl.float32)
        tl.store(y + at, (tl.exp(value - most) / total).to(y.dtype.element_ty), mask=at < cols)


def softmax(x):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], x.stride(0))
    return y


@tuned(CONFIGS, "cols", restore=["residual"])
def rms_norm_kernel(x, residual, weight, y, cols, x_stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x += row * x_stride
    residual += row * cols
    y += row * cols
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < cols, other=0).to(tl.float32)
        value += tl.load(residual + at, mask=at < cols, other=0).to(tl.float32)
        kept = value.to(residual.dtype.element_ty)
        tl.store(residual + at, kept, mask=at < cols)
        squares += kept.to(tl.float32) * kept.to(tl.float32)
    root = tl.sqrt_rn(tl.div_rn(tl.sum(squares, 0), cols.to(tl.float32)) + eps)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(residual + at, mask=at < cols, other=0).to(tl.float32) / root
        value *= tl.load(weight + at, mask=at < cols, other=0).to(tl.float32)
        tl.store(y + at, value.to(y.dtype.element_ty), mask=at < cols)


def rms_norm(x, residual, weight, eps=1e-5):
    """residual becomes x + residual."""
    y = torch.empty_like(residual)
    rms_norm_kernel[(x.shape[0],)](x, residual, weight, y, x.shape[1], x.stride(0), eps)
    return y


@tuned(SMALL, "cols")
def silu_and_mul_kernel(x, y, cols, x_stride, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(x + row * x_stride + at, mask=at < cols, other=0).to(tl.float32)
    up = tl.load(x + row * x_stride + cols + at, mask=at < cols, other=0).to(tl.float32)
    value = gate / (1 + tl.exp(-gate)) * up
    tl.store(y + row * cols + at, value.to(y.dtype.element_ty), mask=at < cols)


def silu_and_mul(x):
    rows, cols = x.shape[0], x.shape[1] // 2
    y = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    silu_and_mul_kernel[lambda of: (triton.cdiv(cols, of["BLOCK"]), rows)](x, y, cols, x.stride(0))
    return y


@tuned(CONFIGS, "cols")
def scan_kernel(x, y, cols, x_stride, BLOCK: tl.constexpr):
    x += tl.program_id(0).to(tl.int64) * x_stride
    y += tl.program_id(0).to(tl.int64) * cols
    before = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < cols, other=0).to(tl.float32)
        tl.store(y + at, (before + tl.cumsum(value, 0)).to(y.dtype.element_ty), mask=at < cols)
        before += tl.sum(value, 0)


def scan(x):
    y = torch.empty_like(x)
    scan_kernel[(x.shape[0],)](x, y, x.shape[1], x.stride(0))
    return y


@tuned(SMALL, "k")
def gemv_kernel(w, x, bias, y, k, w_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, k, BLOCK):
        at = start + tl.arange(0, BLOCK)
        left = tl.load(w + row * w_stride + at, mask=at < k, other=0).to(tl.float32)
        sums += left * tl.load(x + at, mask=at < k, other=0).to(tl.float32)
    value = tl.sum(sums, 0) + tl.load(bias + row).to(tl.float32)
    tl.store(y + row, value.to(y.dtype.element_ty))


def gemv(w, x, bias):
    y = torch.empty(w.shape[:1], dtype=w.dtype, device=w.device)
    gemv_kernel[(w.shape[0],)](w, x, bias, y, w.shape[1], w.stride(0))
    return y


@tuned(CONFIGS, "n", restore=["counts"])
def histogram_kernel(x, counts, n, low, per_unit, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = (tl.load(x + at, mask=at < n, other=0).to(tl.float32) - low) * per_unit
    counted = (at < n) & (value == value)
    bins = tl.minimum(tl.maximum(tl.where(counted, value, 0.0), 0.0), 255.0).to(tl.int32)
    tl.atomic_add(counts + tl.arange(0, 256), tl.histogram(bins, 256, mask=counted))


def histogram(x, low, per_unit):
    counts = torch.zeros(256, dtype=torch.int32, device=x.device)
    n = x.numel()
    histogram_kernel[lambda of: (triton.cdiv(n, of["BLOCK"]),)](x, counts, n, low, per_unit)
    return counts


@tuned(SMALL, "pairs", restore=["x"])
def rotary_embedding_kernel(x, positions, frequencies, x_stride, count, size, pairs, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    position = tl.load(positions + token).to(tl.float32)
    for start in range(0, count * pairs, BLOCK):
        at = start + tl.arange(0, BLOCK)
        there = at < count * pairs
        pair = at % pairs
        first = x + token * x_stride + at // pairs * size + pair
        angle = position * tl.load(frequencies + pair, mask=there, other=0)
        cosine, sine = tl.cos(angle), tl.sin(angle)
        a = tl.load(first, mask=there, other=0).to(tl.float32)
        b = tl.load(first + pairs, mask=there, other=0).to(tl.float32)
        tl.store(first, (a * cosine - b * sine).to(x.dtype.element_ty), mask=there)
        tl.store(first + pairs, (b * cosine + a * sine).to(x.dtype.element_ty), mask=there)


def rotary_embedding(x, positions, frequencies, count, size):
    """In place: x's first `count` heads of `size` elements, halves as pairs."""
    rotary_embedding_kernel[(x.shape[0],)](x, positions, frequencies, x.stride(0), count, size,
                                           frequencies.shape[0])
    return x


@tuned(WARPS, "EXPERTS", "K")
def top_k_gate_kernel(logits, weights, experts, tokens, stride, EXPERTS: tl.constexpr, WIDE: tl.constexpr,
                      K: tl.constexpr, RENORMALIZE: tl.constexpr, TOKENS: tl.constexpr):
    token = tl.program_id(0).to(tl.int64) * TOKENS + tl.arange(0, TOKENS)
    expert = tl.arange(0, WIDE)
    there = (token < tokens)[:, None] & (expert < EXPERTS)[None, :]
    value = tl.load(logits + token[:, None] * stride + expert[None, :], mask=there,
                    other=float("-inf")).to(tl.float32)
    largest = tl.max(value, 1)
    left = tl.where(there, value, float("-inf"))
    total = tl.zeros((TOKENS,), tl.float32)
    for nth in tl.static_range(K):
        best, at = tl.max(left, 1, return_indices=True, return_indices_tie_break_left=True)
        total += tl.exp(best - largest)
        tl.store(experts + token * K + nth, at, mask=token < tokens)
        tl.store(weights + token * K + nth, tl.exp(best - largest), mask=token < tokens)
        left = tl.where(expert[None, :] == at[:, None], float("-inf"), left)
    if not RENORMALIZE:
        total = tl.sum(tl.where(there, tl.exp(value - largest[:, None]), 0.0), 1)
    for nth in tl.static_range(K):
        place = weights + token * K + nth
        tl.store(place, tl.load(place, mask=token < tokens, other=0) / total, mask=token < tokens)


def top_k_gate(logits, k, renormalize=False):
    tokens, count = logits.shape
    weights = torch.empty((tokens, k), dtype=torch.float32, device=logits.device)
    experts = torch.empty((tokens, k), dtype=torch.int32, device=logits.device)
    top_k_gate_kernel[lambda of: (triton.cdiv(tokens, of["TOKENS"]),)](
        logits, weights, experts, tokens, logits.stride(0), EXPERTS=count,
        WIDE=triton.next_power_of_2(count), K=k, RENORMALIZE=renormalize)
    return weights, experts
