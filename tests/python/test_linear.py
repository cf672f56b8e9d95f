"""Linear layers with packed weights on the host device: bits of a loop in numpy, there and back, bad input."""

import pickle

import ml_dtypes
import numpy
import pytest
from conftest import same_bytes

import diecast

HOST = {"device": "host"}
BLOCK = {"nvfp4": 16, "mxfp4": 32}
E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], "f4")
ONE = numpy.ones(1, "f4")


def weight(*shape, format="nvfp4", seed=0):
    """Codes and scales that a product holds, drawn."""
    random = numpy.random.default_rng(seed)
    least, most = (1, 127) if format == "nvfp4" else (111, 136)
    return (random.integers(0, 256, (*shape[:-1], shape[-1] // 2), "u1"),
            random.integers(least, most, (*shape[:-1], shape[-1] // BLOCK[format]), "u1"))


def values(data, scale, format="nvfp4"):
    """What they stand for, f32 [N, K]."""
    codes = numpy.stack([data & 15, data >> 4], -1).reshape(*data.shape[:-1], -1)
    numbers = numpy.where(codes & 8, -E2M1[codes & 7], E2M1[codes & 7])
    kind = ml_dtypes.float8_e4m3fn if format == "nvfp4" else ml_dtypes.float8_e8m0fnu
    return numbers * scale.view(kind).astype("f4").repeat(BLOCK[format], -1)


def sums(x, weights, split):
    """x times the weights' transpose, in the order that templates/PROFILES.md states, each step f32."""
    x, depth = x.astype("f4"), x.shape[1]
    part, total = -(-(-(-depth // 64)) // split) * 64, None
    for begin in range(0, split * part, part):
        acc = numpy.zeros((x.shape[0], weights.shape[0]), "f4")
        for k in range(begin, min(begin + part, depth), 16):
            step = numpy.zeros_like(acc)
            for i in range(k, k + 16):
                step += x[:, i, None] * weights[None, :, i]
            acc += step
        total = acc if total is None else total + acc
    return total


def matrix(rows, cols, dtype, seed=1):
    return numpy.random.default_rng(seed).standard_normal((rows, cols)).astype(dtype)


@pytest.mark.parametrize("format", ["nvfp4", "mxfp4"])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, numpy.float16])
@pytest.mark.parametrize("split", [1, 2, 4])
def test_the_bits_of_a_loop(format, dtype, split):
    data, scale = weight(40, 288, format=format)
    packed = diecast.PackedLinear.pack(data, scale, format=format, **HOST)
    x, factor = matrix(3, 288, dtype), numpy.full(1, 0.37, "f4")
    wanted = sums(x, values(data, scale, format), split) * factor
    got = packed.linear(x, factor, split=split, dtype="f32", **HOST)
    assert same_bytes(got, wanted)
    bias, residual = matrix(1, 40, dtype, 2)[0], matrix(3, 40, "f2", 3)
    y = wanted + bias.astype("f4")
    y = numpy.where(y < 0, numpy.float32(0), y * y) + residual.astype("f4")
    out = numpy.empty((3, 40), "f2")
    packed.linear(x, factor, bias, residual, split=split, activation="relu2", out=out, **HOST)
    with numpy.errstate(over="ignore"):
        assert same_bytes(out, y.astype("f2"))


def test_a_split_of_the_weights_own():
    data, scale = weight(24, 4096)
    packed = diecast.PackedLinear.pack(data, scale, **HOST)
    x = matrix(2, 4096, ml_dtypes.bfloat16)
    got = packed.linear(x, ONE, dtype="f32", **HOST)
    assert same_bytes(got, sums(x, values(data, scale), 2))
    one = packed.linear(x[:1].reshape(1, 1, 4096), ONE, dtype="f32", **HOST)
    assert one.shape == (1, 1, 24) and same_bytes(one, got[:1])


def test_rows_that_the_device_counts():
    packed = diecast.PackedLinear.pack(*weight(24, 64), **HOST)
    x, count, out = matrix(5, 64, "f2"), numpy.zeros(1, "i8"), numpy.empty((5, 24), "f4")
    wanted = packed.linear(x, ONE, dtype="f32", **HOST)
    for count[0] in (3, 0, 7, -1):
        out[:] = -77
        packed.linear(x, ONE, device_rows=count, out=out, **HOST)
        rows = min(max(count[0], 0), 5)
        assert same_bytes(out[:rows], wanted[:rows]) and (out[rows:] == -77).all()


def test_gate_and_up():
    data, scale = weight(48, 64, seed=4)
    packed = diecast.PackedLinear.pack(data, scale, gated="halves", **HOST)
    turns = numpy.arange(48).reshape(2, 24).T.reshape(-1)
    other = diecast.PackedLinear.pack(data[turns], scale[turns], gated="alternate", **HOST)
    assert same_bytes(packed.data, other.data)
    x, factor = matrix(2, 64, "f2"), numpy.full(1, 0.01, "f4")
    y = packed.linear(x, factor, activation="silu_and_mul", dtype="f32", **HOST)
    gate, up = numpy.split(x.astype("f8") @ values(data, scale).T.astype("f8") * 0.01, 2, 1)
    assert y.shape == (2, 24)
    assert numpy.allclose(y, gate / (1 + numpy.exp(-gate)) * up, rtol=1e-4, atol=1e-5)


def test_parts_with_factors_of_their_own():
    parts, x = [weight(rows, 64, seed=rows) for rows in (64, 24, 40)], matrix(2, 64, "f2")
    factors = [numpy.full(1, factor, "f4") for factor in (0.3, 1e-3, 7)]
    alone = [diecast.PackedLinear.pack(*part, **HOST).linear(x, factor, dtype="f32", **HOST)
             for part, factor in zip(parts, factors)]
    whole = diecast.PackedLinear.pack(*(numpy.concatenate(pair) for pair in zip(*parts)), **HOST)
    of_rows = numpy.concatenate([factor.repeat(len(part[0])) for part, factor in zip(parts, factors)])
    got = whole.linear(x, of_rows, dtype="f32", settled=True, fast=True, **HOST)
    assert same_bytes(got, numpy.concatenate(alone, 1))
    for wrong in (of_rows[:-1], numpy.append(of_rows, of_rows[:1])):
        with pytest.raises(diecast.ArgumentError, match="one for each part"):
            whole.linear(x, wrong, **HOST)


@pytest.mark.parametrize("format", ["nvfp4", "mxfp4"])
@pytest.mark.parametrize("weights", [(), (3,)])
def test_gate_and_up_as_two_tensors(format, weights):
    gate, up = (weight(*weights, 24, 64, format=format, seed=seed) for seed in (1, 2))
    data, scale = (numpy.concatenate(pair, -2) for pair in zip(gate, up))
    one = diecast.PackedLinear.pack(data, scale, format=format, gated="halves", **HOST)
    two = diecast.PackedLinear.pack(*gate, *up, format=format, **HOST)
    assert same_bytes(one.data, two.data) and one.description() == two.description()
    shapes = diecast.output_shapes("pack_linear", *gate, up_data=up[0], up_scale=up[1], format=format, gated="halves")
    assert shapes == {"out_packed": ("u8", two.data.shape)}
    with pytest.raises(diecast.ArgumentError, match="gated = halves"):
        diecast.PackedLinear.pack(*gate, *up, format=format, gated="alternate", **HOST)


@pytest.mark.parametrize("format", ["nvfp4", "mxfp4"])
@pytest.mark.parametrize("shape", [(1, 32), (130, 160), (3, 64, 96)])
def test_there_and_back(format, shape):
    data, scale = weight(*shape, format=format)
    packed = diecast.PackedLinear.pack(data, scale, format=format, **HOST)
    wanted = diecast.output_shapes("pack_linear", data, scale, format=format)
    assert wanted == {"out_packed": ("u8", packed.data.shape)}
    back = packed.unpack(**HOST)
    assert same_bytes(back[0], data) and same_bytes(back[1], scale)
    assert back[0].shape == data.shape and back[1].shape == scale.shape
    other = weight(*shape, format=format, seed=9)
    again = diecast.PackedLinear.pack(*other, format=format, out=packed.data, **HOST)
    assert again.data is packed.data and same_bytes(packed.unpack(**HOST)[0], other[0])


def test_a_status_counts_scales_that_do_not_fit():
    data, scale = weight(5, 64, format="mxfp4")
    _, status = diecast.pack_linear(data, scale, format="mxfp4", status=True, **HOST)
    assert status.dtype == numpy.int32 and status.tolist() == [0, 0, -1, -1]
    data[data == 0] = 0x22
    scale[3, 0], scale[4, 1] = 100, 200  # the first only with f16
    _, status = diecast.pack_linear(data, scale, format="mxfp4", status=True, **HOST)
    assert status.tolist() == [1, 2, 4, 3]


def test_it_is_kept_as_plain_values():
    packed = diecast.PackedLinear.pack(*weight(32, 64), gated="halves", **HOST)
    state = packed.state_dict()
    assert state["shape"] == [32, 64] and state["gated"] == "halves" and state["version"] == 1
    for again in (pickle.loads(pickle.dumps(packed)), diecast.PackedLinear.from_state_dict(state)):
        assert repr(again) == repr(packed) and same_bytes(again.data, packed.data)


def test_a_prepared_call():
    packed = diecast.PackedLinear.pack(*weight(32, 64), **HOST)
    options = {"rows": 32, "cols": 64, "dtype": "f32"}
    x = matrix(5, 64, "f2")
    run = diecast.prepare("linear", x, packed.data, ONE, **options, **HOST)
    for rows in (1, 5):
        assert same_bytes(run(x[:rows], packed.data, ONE, **HOST),
                          packed.linear(x[:rows], ONE, dtype="f32", **HOST))


@pytest.mark.parametrize("change, options, code, text", [
    ({"version": 2}, {}, "not_supported", "pack it again"),
    ({"gated": "halves"}, {}, "invalid_argument", "pack the weight with gated = none"),
    ({}, {"activation": "swiglu_oai"}, "invalid_argument", "halves or alternate"),
    ({"format": "nvfp8"}, {}, "value_not_allowed", "nvfp4, mxfp4"),
    ({"shape": (32, 128)}, {}, "shape_mismatch", "bytes"),
    ({"shape": (32, 60)}, {}, "shape_mismatch", "whole blocks"),
    ({"shape": (0, 64)}, {}, "value_missing", "as the weight was packed"),
    ({"shape": (1, 32, 64)}, {}, "not_supported", "give one weight"),
    ({"shape": (16, 64)}, {"out": numpy.empty((3, 32), "f4")}, "shape_mismatch", "out of shape"),
    ({}, {"device_rows": numpy.zeros(1, "i4")}, "dtype_mismatch", "i64"),
    ({}, {"split": 3}, "value_not_allowed", "SPLIT"),
    ({}, {"split": 9}, "value_not_allowed", "from 0 to 8"),
    ({}, {"bias": numpy.ones(32, "f4")}, "dtype_mismatch", "give bias as f16"),
    ({}, {"residual": numpy.ones((3, 16), "f4")}, "shape_mismatch", "residual of shape"),
])
def test_bad_calls_are_errors_with_a_fix(change, options, code, text):
    packed = diecast.PackedLinear.pack(*weight(32, 64), **HOST)
    wrong = diecast.PackedLinear(packed.data, **{**packed.description(), **change})
    with pytest.raises(diecast.Error) as caught:
        wrong.linear(matrix(3, 64, "f2"), ONE, **{"dtype": "f32", **options, **HOST})
    assert caught.value.code == code
    assert text in caught.value.fix or text in caught.value.what, caught.value.fix


def test_packing_refuses_what_does_not_fit():
    data, scale = weight(32, 64)
    for wrong, code in (((data, scale[:-1]), "shape_mismatch"), ((data[:, :5], scale), "shape_mismatch"),
                        ((data[0], scale[0]), "shape_mismatch"), ((data.view("i2"), scale), "dtype_mismatch")):
        with pytest.raises(diecast.Error) as caught:
            diecast.pack_linear(*wrong, **HOST)
        assert caught.value.code == code and caught.value.fix
    packed = diecast.pack_linear(data, scale, **HOST)
    with pytest.raises(diecast.ArgumentError, match="packed has"):
        diecast.pack_linear(data, scale, out=packed[:-1], **HOST)
    with pytest.raises(diecast.ArgumentError, match="same memory"):
        diecast.pack_linear(data, scale, out_packed=packed, out_status=packed[:16].view("i4"), **HOST)


@pytest.mark.parametrize("shape", [(), (32,), (1, 2, 32, 64)])
def test_a_weight_has_two_dimensions_or_three(shape):
    with pytest.raises(diecast.ArgumentError, match="the weight's shape is"):
        diecast.PackedLinear(numpy.zeros(2304, "u1"), shape=shape)


def test_bytes_of_another_weight_are_refused():
    packed = diecast.PackedLinear.pack(*weight(32, 64), **HOST)
    for change in ({"format": "mxfp4"}, {"shape": (32, 128)}, {"shape": (65, 64)}, {"shape": (2**62, 64)}):
        other = diecast.PackedLinear(packed.data, **packed.description() | change)
        with pytest.raises(diecast.ArgumentError, match="linear: .*(2304|no memory holds|63 bits)"):
            other.linear(matrix(3, other.shape[1], "f2"), ONE, **HOST)


def test_states_of_something_else_are_refused():
    state = diecast.PackedLinear.pack(*weight(32, 64), **HOST).state_dict()
    for name in state:
        with pytest.raises(diecast.ArgumentError, match=f"the state has no {name}"):
            diecast.PackedLinear.from_state_dict({key: value for key, value in state.items() if key != name})
    with pytest.raises(diecast.ArgumentError, match="the state has bias"):
        diecast.PackedLinear.from_state_dict(state | {"bias": 1})


def test_a_type_that_is_not_outs_is_refused():
    packed, x = diecast.PackedLinear.pack(*weight(32, 64), **HOST), matrix(3, 64, "f2")
    out = numpy.zeros((3, 32), "f4")
    assert packed.linear(x, ONE, out=out, **HOST) is out is packed.linear(x, ONE, out=out, dtype="f32", **HOST)
    with pytest.raises(diecast.DtypeError, match="dtype is bf16, and out is f32") as caught:
        packed.linear(x, ONE, out=out, dtype="bf16", **HOST)
    assert "leave dtype out" in caught.value.fix
    run = diecast.prepare("linear", x, packed.data, ONE, rows=32, cols=64, dtype="f32", **HOST)
    with pytest.raises(diecast.DtypeError, match="dtype is f32, and out is f16"):
        run(x, packed.data, ONE, out=out.astype("f2"), **HOST)


def test_a_residual_may_be_out():
    packed, x, residual = diecast.PackedLinear.pack(*weight(40, 64), **HOST), matrix(3, 64, "f2"), matrix(3, 40, "f4")
    wanted = packed.linear(x, ONE, residual=residual, dtype="f32", **HOST)
    for _ in range(3):
        out = residual.copy()
        packed.linear(x, ONE, residual=out, out=out, **HOST)
        assert same_bytes(out, wanted)
    both = numpy.zeros((4, 40), "f4")
    with pytest.raises(diecast.ArgumentError, match="out is written and residual lies"):
        packed.linear(x, ONE, residual=both[1:], out=both[:3], **HOST)
