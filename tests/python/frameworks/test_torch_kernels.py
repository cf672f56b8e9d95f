"""Kernels of one's own with tensors of torch: their check, to the byte."""

import pytest
import torch

import diecast

HOST = {"device": "host"}
COPY = """/* diecast
option type T {bf16, f16, f32, e4m3, i64}
size rows
size cols
arg x in T [rows, cols]
arg y out T [rows, cols]
arg rows
arg cols
launch grid(1) block(1)
exchange none
*/
DIECAST_KERNEL { for (i64 i = 0; i < rows * cols; ++i) y[i] = x[i]; }
"""


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn, torch.int64))
def test_a_check_compares_bytes_and_says_where_they_differ(kind):
    kernel, x = diecast.kernel(COPY, name="copied"), torch.arange(6).reshape(2, 3).to(kind)
    assert kernel.check(lambda x: x, x, **HOST) == 1
    assert kernel.check(lambda x: x.t().contiguous().t(), x, **HOST) == 1

    def says(change):
        with pytest.raises(diecast.ArgumentError, match="differs from the reference") as caught:
            kernel.check(change, x, **HOST)
        return caught.value.what

    def other(x):
        x = x.double()
        x[1, 2] = 7
        return x.to(kind)

    five, seven = (5, 7) if kind == torch.int64 else (5.0, 7.0)
    assert says(other).endswith(f"in 1 of the 6 elements of y, the most at [1, 2]: it is {five}, the reference has {seven}")
    assert says(lambda x: x.double()).endswith(f"y is {kind} [2, 3], the reference gives torch.float64 [2, 3]")
    assert says(lambda x: x[:, :1]).endswith(f"y is {kind} [2, 3], the reference gives {kind} [2, 1]")


def test_a_check_tells_zeros_apart_and_not_nans():
    kernel = diecast.kernel(COPY, name="copied")
    x = torch.tensor([[0.0, float("nan")]], requires_grad=True)
    assert kernel.check(lambda x: x * 1, x, **HOST) == 1
    with pytest.raises(diecast.ArgumentError, match="zeros of another sign"):
        kernel.check(lambda x: -x, x, **HOST)
