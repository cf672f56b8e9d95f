"""NVFP4Tensor on the host device: there and back, layouts, saving, other libraries' fields."""

import copy
import io
import pickle

import pytest
import torch

import diecast
import diecast.torch
from diecast.torch import NVFP4Tensor


@pytest.fixture(autouse=True)
def on_host():
    diecast.torch.use_host()


def matrix(*shape, dtype=torch.bfloat16):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(2)) * 3).to(dtype)


def values(x, **options):
    """x through diecast's own functions."""
    made = diecast.quantize_nvfp4(x, **options, device="host")
    return diecast.dequantize_nvfp4(*made, dtype="f32", cols=x.shape[-1], **options, device="host")


@pytest.mark.parametrize("shape", [(5, 48), (130, 64), (2, 3, 40), (0, 32)])
@pytest.mark.parametrize("options", [{}, {"layout": "s128x4"}, {"profile": "torchao"}], ids=str)
def test_there_and_back(shape, options):
    x = matrix(*shape)
    held = NVFP4Tensor.quantize(x, **options)
    assert held.shape == x.shape and held.dtype == x.dtype
    assert torch.equal(held.dequantize(torch.float32), values(x, **options))
    assert held.dequantize().dtype == x.dtype
    doubled = NVFP4Tensor.quantize(x, amax=held.amax * 2, **options)
    assert torch.equal(doubled.amax, held.amax * 2)


def test_scales_move():
    x = matrix(2, 70, 96)
    linear = NVFP4Tensor.quantize(x)
    for layout in ("s128x4", "s8x4"):
        there = linear.with_layout(layout)
        assert torch.equal(there.scale.view(torch.uint8), NVFP4Tensor.quantize(
            x, layout=layout).scale.view(torch.uint8))
        back = there.with_layout("linear")
        assert torch.equal(back.scale.view(torch.uint8), linear.scale.view(torch.uint8))
        assert torch.equal(there.dequantize(), linear.dequantize())
    assert linear.with_layout("linear") is linear


def test_saved_and_moved():
    held = NVFP4Tensor.quantize(matrix(4, 32, dtype=torch.float16), layout="s8x4")
    file = io.BytesIO()
    torch.save(held.state_dict(), file)
    file.seek(0)
    loaded = NVFP4Tensor.from_state_dict(torch.load(file, weights_only=True))
    assert repr(loaded) == repr(held) and "shape=(4, 32)" in repr(held)
    assert torch.equal(loaded.dequantize(), held.dequantize())
    assert held.to("meta").data.device.type == "meta" and held.to("cpu").scale.shape == (8, 4)
    with pytest.raises(TypeError):
        held.to(torch.float16)  # codes are no numbers
    for kept in (copy.deepcopy(held), pickle.loads(pickle.dumps(held))):
        assert repr(kept) == repr(held) and kept.scale.dtype == held.scale.dtype
        assert torch.equal(kept.dequantize(), held.dequantize())


@pytest.mark.parametrize("profile", ["te", "torchao", "modelopt"])
def test_other_libraries_fields(profile):
    x = matrix(33, 80)
    held = NVFP4Tensor.quantize(x, profile=profile)
    for there in (NVFP4Tensor.from_modelopt(**held.to_modelopt()),
                  NVFP4Tensor.from_modelopt(**held.with_layout("s128x4").to_modelopt())):
        assert there.shape == x.shape
        assert torch.allclose(there.dequantize(torch.float32), held.dequantize(torch.float32),
                              rtol=1e-6)
    for layout in ("linear", "s128x4"):
        fields = held.with_layout(layout).to_torchao()
        assert fields["block_size"] == 16 and fields["is_swizzled_scales"] == (layout == "s128x4")
        assert torch.allclose(NVFP4Tensor.from_torchao(**fields).dequantize(torch.float32),
                              held.dequantize(torch.float32), rtol=1e-6)
    with pytest.raises(diecast.ArgumentError, match="8x4"):
        held.with_layout("s8x4").to_torchao()


def test_transformer_engines_fields():
    x = matrix(130, 80)
    held = NVFP4Tensor.quantize(x, layout="s128x4")
    fields = held.to_transformer_engine()
    assert fields["rowwise_scale_inv"].shape == (256, 8)
    assert fields["rowwise_scale_inv"].dtype == torch.uint8
    assert (fields["rowwise_scale_inv"][130:] == 0).all()
    there = NVFP4Tensor.from_transformer_engine(**fields)
    assert torch.equal(there.dequantize(), held.dequantize())
    decoded = NVFP4Tensor.from_modelopt(**held.to_modelopt())
    with pytest.raises(diecast.ArgumentError, match="needs the amax"):
        decoded.to_transformer_engine()


def test_a_decode_scale_of_zeros_is_one():
    assert NVFP4Tensor.quantize(torch.zeros(2, 16)).decode_scale().item() == 1


def test_what_cannot_be():
    held = NVFP4Tensor.quantize(matrix(2, 32))
    with pytest.raises(diecast.ArgumentError, match="neither amax nor decode"):
        NVFP4Tensor(held.data, held.scale, shape=(2, 32))
    with pytest.raises(diecast.ArgumentError, match="float64"):
        NVFP4Tensor(held.data, held.scale, held.amax, shape=(2, 32), dtype=torch.float64)
    with pytest.raises(diecast.ArgumentError, match="float64"):
        held.dequantize(torch.float64)


@pytest.mark.parametrize("change, error, text", [
    ({"shape": (3, 32)}, diecast.ArgumentError, "data is .2, 16., the shape .3, 32."),
    ({"shape": (2, 64)}, diecast.ArgumentError, "the shape .2, 64."),
    ({"shape": ()}, diecast.ArgumentError, "the shape "),
    ({"data": None}, diecast.DtypeError, "data is NoneType, no tensor"),
    ({"scale": 2.0}, diecast.DtypeError, "scale is float, no tensor"),
    ({"amax": torch.ones(2)}, diecast.ArgumentError, "amax has 2 elements"),
    ({"layout": "s1x4"}, diecast.ArgumentError, "layout = 's1x4'"),
    ({"profile": "none"}, diecast.ArgumentError, "profile = 'none'"),
])
def test_parts_that_do_not_fit_are_refused(change, error, text):
    state = NVFP4Tensor.quantize(matrix(2, 32)).state_dict()
    with pytest.raises(error, match=text):
        NVFP4Tensor.from_state_dict(state | change)


def test_states_of_something_else_are_refused():
    state = NVFP4Tensor.quantize(matrix(2, 32)).state_dict()
    with pytest.raises(diecast.ArgumentError, match="the state has no scale"):
        NVFP4Tensor.from_state_dict({name: value for name, value in state.items() if name != "scale"})
    with pytest.raises(diecast.ArgumentError, match="the state has bias"):
        NVFP4Tensor.from_state_dict(state | {"bias": 1})
    with pytest.raises(diecast.ArgumentError, match="dtype = f64"):
        NVFP4Tensor.from_state_dict(state | {"dtype": "f64"})


@pytest.mark.parametrize("call, error, text", [
    (lambda d, s, a: NVFP4Tensor.quantize(None), diecast.DtypeError, "x is NoneType, no tensor"),
    (lambda d, s, a: NVFP4Tensor.quantize(d[0, 0]), diecast.ArgumentError, "x has no dimensions"),
    (lambda d, s, a: NVFP4Tensor.quantize(d.float(), amax=2.0), diecast.DtypeError, "amax is float"),
    (lambda d, s, a: NVFP4Tensor.from_torchao(d, s, None), diecast.DtypeError, "per_tensor_scale is NoneType"),
    (lambda d, s, a: NVFP4Tensor.from_torchao(d, s, a, block_size=32), diecast.ArgumentError, "block_size = 32"),
    (lambda d, s, a: NVFP4Tensor.from_modelopt(d, s, torch.ones(3)), diecast.ArgumentError, "has 3 elements"),
    (lambda d, s, a: NVFP4Tensor.from_transformer_engine(d, s[:1].view(torch.uint8), a), diecast.ArgumentError,
     "rowwise_scale_inv is torch.uint8 .1, 2."),
    (lambda d, s, a: NVFP4Tensor.from_transformer_engine(d, s.float(), a), diecast.ArgumentError, "float32"),
])
def test_fields_that_do_not_fit_are_refused(call, error, text):
    held = NVFP4Tensor.quantize(matrix(2, 32))
    with pytest.raises(error, match=text):
        call(held.data, held.scale, held.amax)
