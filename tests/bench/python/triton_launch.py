"""A kernel of Triton that takes four tensors and an int, and does nothing that counts."""

import triton
import triton.language as tl


@triton.jit
def kernel(x, amax, data, scale, count):
    """Writes one number."""
    if count == 0:
        tl.store(amax, tl.load(x) + tl.load(data) + tl.load(scale))
