"""diecast.torch.PackedLinear on the host device: saved, moved, compiled, the bits of diecast's own."""

import io

import pytest
import torch

import diecast
import diecast.torch
from diecast.torch import PackedLinear

ONE = torch.ones(1)


@pytest.fixture(autouse=True)
def on_host():
    diecast.torch.use_host()


def weight(rows, cols):
    x = torch.randn((rows, cols), generator=torch.Generator().manual_seed(1))
    return diecast.torch.quantize_nvfp4(x)


def test_saved_and_moved():
    data, scale, _ = weight(32, 64)
    packed = PackedLinear.pack(data, scale, gated="halves")
    file = io.BytesIO()
    torch.save(packed.state_dict(), file)
    file.seek(0)
    loaded = PackedLinear.from_state_dict(torch.load(file, weights_only=True)).to("cpu")
    assert repr(loaded) == repr(packed)
    again = loaded.unpack()
    assert torch.equal(again[0], data) and torch.equal(again[1].view(torch.uint8), scale.view(torch.uint8))


def test_a_layer_is_one_graph_with_diecasts_own_bits():
    up, down = (PackedLinear.pack(*weight(*shape)[:2], gated=gated)
                for shape, gated in (((64, 48), "halves"), ((48, 32), "none")))

    def layer(x):
        return down.linear(up.linear(x, ONE, activation="silu_and_mul"), ONE, residual=x)

    x = torch.randn((5, 48), generator=torch.Generator().manual_seed(2)).to(torch.bfloat16)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager", dynamic=True)
    plain = [diecast.PackedLinear(one.data, **one.description()) for one in (up, down)]
    middle = plain[0].linear(x, ONE, activation="silu_and_mul", device="host")
    wanted = plain[1].linear(middle, ONE, residual=x, device="host")
    for got in (layer(x), compiled(x)):
        assert torch.equal(got, wanted)


def test_unexpected_ids_are_counted_in_a_compiled_function():
    data, scale, _ = weight(64, 48)
    packed = PackedLinear.pack(data.reshape(2, 32, 24), scale.reshape(2, 32, 3))
    x, ids = torch.randn(3, 48).to(torch.bfloat16), torch.tensor([[0, 1], [-1, 2], [-2, 1]])
    word = torch.zeros(1, dtype=torch.int32)

    def layer(x, word):
        out = torch.zeros(3, 2, 32)
        packed.linear_experts(x, torch.ones(2), ids, out=out, out_unexpected=word)
        return out

    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x, word), layer(x, word))
    assert word.item() == 4


def test_a_residual_that_is_out_in_a_compiled_function():
    packed = PackedLinear.pack(*weight(32, 64)[:2])
    x = torch.randn((5, 64), generator=torch.Generator().manual_seed(3)).to(torch.bfloat16)
    residual = torch.arange(160.0).reshape(5, 32)

    def step(x, residual):
        packed.linear(x, ONE, residual=residual, out=residual)
        return residual + 1

    wanted = packed.linear(x, ONE, residual=residual, dtype="f32")
    for run in (step, torch.compile(step, fullgraph=True, backend="aot_eager")):
        given = residual.clone()
        assert torch.equal(run(x, given), wanted + 1) and torch.equal(given, wanted)


def test_an_outputs_type_is_torchs_or_a_word():
    packed = PackedLinear.pack(*weight(32, 64)[:2])
    x = torch.ones(3, 64, dtype=torch.bfloat16)
    wanted = packed.linear(x, ONE, dtype="f32")
    assert wanted.dtype is torch.float32

    def call(x):
        return packed.linear(x, ONE, dtype=torch.float32)

    for run in (call, torch.compile(call, fullgraph=True, backend="aot_eager")):
        assert torch.equal(run(x), wanted)
    with pytest.raises(diecast.ArgumentError, match="linear: dtype = torch.int8") as caught:
        packed.linear(x, ONE, dtype=torch.int8)
    assert "torch.float32" in caught.value.fix


def test_a_type_that_is_not_outs_is_refused():
    packed = PackedLinear.pack(*weight(32, 64)[:2])
    x, out = torch.zeros(3, 64, dtype=torch.bfloat16), torch.zeros(3, 32)
    for call in (packed.linear, lambda x, factor, **options: torch.ops.diecast.linear.out(
            x, packed.data, factor, rows=32, cols=64, **options)):
        call(x, ONE, out=out), call(x, ONE, out=out, dtype="f32")
        for dtype in ("bf16", "f16"):
            with pytest.raises(diecast.DtypeError, match=f"dtype is {dtype}, and out is f32"):
                call(x, ONE, out=out, dtype=dtype)


def test_tensors_of_several_devices_are_refused():
    """torch traces a call with a meta tensor, and would return what nobody wrote."""
    packed = PackedLinear.pack(*weight(32, 64)[:2]).to("meta")
    x = torch.zeros(3, 64, dtype=torch.bfloat16)
    for options in ({}, {"out": torch.zeros(3, 32)}):
        with pytest.raises(diecast.ArgumentError, match="tensors are on cpu and meta"):
            packed.linear(x, ONE, **options)
