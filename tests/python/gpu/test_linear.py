"""Linear layers of torch tensors on a GPU: sums that are exact, rows alone and together, `fast`, graphs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

from diecast.torch import PackedLinear  # noqa: E402


def layer(rows, cols, seed=1):
    """A drawn weight of codes and scales, packed, and its values."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    codes = torch.randint(0, 256, (rows, cols // 2), dtype=torch.uint8, device="cuda", generator=generator)
    scale = torch.randint(0x30, 0x41, (rows, cols // 16), dtype=torch.uint8, device="cuda", generator=generator)
    table = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6], device="cuda")
    values = torch.stack([table[(codes & 15).long()], table[(codes >> 4).long()]], -1).flatten(-2)
    values = values * scale.view(torch.float8_e4m3fn).float().repeat_interleave(16, -1)
    return PackedLinear.pack(codes, scale), values


def factor():
    return torch.ones(1, device="cuda")


def test_sums_of_few_numbers_are_exact():
    packed, values = layer(200, 512)
    x = torch.zeros(300, 512, device="cuda", dtype=torch.bfloat16)
    x[torch.arange(300), torch.arange(300) % 512] = 2
    x[torch.arange(300), (torch.arange(300) * 7 + 1) % 512] += 1
    for rows in (1, 17, 300):
        got = packed.linear(x[:rows], factor(), dtype="f32")
        assert torch.equal(got, (x[:rows].double() @ values.double().t()).float())


def test_a_row_does_not_depend_on_the_others():
    packed, _ = layer(4096, 4096)
    x = torch.randn(1024, 4096, device="cuda").bfloat16()
    together = packed.linear(x, factor())
    for rows in (1, 16, 33, 128, 512):
        assert torch.equal(packed.linear(x[:rows], factor()), together[:rows])
    assert torch.equal(packed.linear(x[700:701], factor()), together[700:701])


@pytest.mark.skipif(torch.cuda.get_device_capability()[0] != 9, reason="kernels in one part are of Hopper alone")
def test_fast_sums_many_rows_in_one_part():
    packed, _ = layer(4096, 4096)
    x = torch.randn(8192, 4096, device="cuda").bfloat16()
    parts, one = packed.linear(x, factor()), packed.linear(x, factor(), split=1)
    assert not torch.equal(parts, one)
    assert torch.equal(packed.linear(x, factor(), fast=True), one)
    assert torch.equal(packed.linear(x[:16], factor(), fast=True), parts[:16])


def test_a_graph_takes_the_weight_that_is_packed_anew():
    (packed, _), (other, _) = layer(256, 512), layer(256, 512, seed=2)
    x, out = torch.randn(4, 512, device="cuda").bfloat16(), torch.empty(4, 256, device="cuda", dtype=torch.bfloat16)
    packed.linear(x, factor(), out=out)
    scale, graph = factor(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        packed.linear(x, scale, out=out)
    packed.data.copy_(other.data)
    graph.replay()
    assert torch.equal(out, other.linear(x, factor()))
