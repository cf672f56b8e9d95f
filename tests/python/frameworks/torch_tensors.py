"""What tests of torch's operators share: the host device switched on, tensors, their bytes."""

import pytest
import torch

import diecast.torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def on_host():
    diecast.torch.use_host()
    torch.compiler.reset()


def matrix(*shape, dtype=torch.bfloat16, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * 3).to(dtype)


def raw(tensor):
    """A tensor's bytes."""
    return bytes(tensor.detach().contiguous().view(torch.uint8).flatten().tolist())


def same(got, wanted):
    """Whether two results, tensors or tuples of them, have the same types, shapes and bytes."""
    got, wanted = ((one,) if isinstance(one, torch.Tensor) else one for one in (got, wanted))
    return len(got) == len(wanted) and all(
        a.dtype == b.dtype and a.shape == b.shape and raw(a) == raw(b) for a, b in zip(got, wanted))
