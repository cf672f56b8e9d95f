"""Layers of experts on the host device: bits of loops in numpy, each form of routing, bad input."""

import ml_dtypes
import numpy
import pytest
from conftest import same_bytes
from test_linear import matrix, sums, values, weight

import diecast

HOST = {"device": "host"}
EXPERTS, TOKENS, ROWS, COLS = 3, 5, 40, 96
IDS = numpy.array([[0, 2], [2, -1], [1, 3], [-7, 5], [2, 2]], "i4")
FACTORS = numpy.array([0.5, 0.37, 2], "f4")
NONE = -77


def layer(dtype="f2"):
    """x, packed weights, and what each expert makes of all rows."""
    data, scale = weight(EXPERTS, ROWS, COLS, seed=7)
    x = matrix(TOKENS, COLS, dtype)
    every = [sums(x, values(data[i], scale[i]), 2) * FACTORS[i] for i in range(EXPERTS)]
    return x, diecast.PackedLinear.pack(data, scale, **HOST), every


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, numpy.float16])
def test_the_bits_of_a_loop(dtype):
    x, packed, every = layer(dtype)
    out, wanted = (numpy.full((TOKENS, 2, ROWS), NONE, "f4") for _ in range(2))
    for (token, slot), expert in numpy.ndenumerate(IDS):
        if 0 <= expert < EXPERTS:
            wanted[token, slot] = every[expert][token]
    packed.linear_experts(x, FACTORS, IDS, split=2, out=out, **HOST)
    assert same_bytes(out, wanted)


@pytest.mark.parametrize("x_shape, ids_shape", [
    ((5, COLS), (5,)), ((2, 5, COLS), (2, 5)), ((2, 5, COLS), (10, 1)), ((5, COLS), (5, 1, 2)), ((COLS,), (10,)),
    ((1, COLS), (2, 5)), ((0, COLS), (0, 2)),
])
def test_ids_have_the_rows_of_x(x_shape, ids_shape):
    _, packed, _ = layer()
    x, ids = (numpy.zeros(x_shape, "f2"), numpy.zeros(ids_shape, "i4"))
    out = packed.linear_experts(x, FACTORS, ids, dtype="f32", **HOST)
    assert out.shape == (*ids_shape, ROWS)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_ids_of_experts_that_a_map_brings_here(dtype):
    x, packed, _ = layer()
    expert_map = numpy.array([2, -1, 0, 9, 1], "i4")
    ids = numpy.array([[2, 0], [0, 1], [4, 3], [-7, 5], [0, 0]], dtype)  # IDS, before the map
    out, wanted = (numpy.full((TOKENS, 2, ROWS), NONE, "f4") for _ in range(2))
    packed.linear_experts(x, FACTORS, IDS, out=wanted, **HOST)
    packed.linear_experts(x, FACTORS, ids, expert_map=expert_map, out=out, **HOST)
    assert same_bytes(out, wanted)
    shares = matrix(TOKENS, 2, "f4", 5)
    sums_wanted = diecast.combine_experts(out, IDS, shares, experts=EXPERTS, dtype="f32", **HOST)
    got = diecast.combine_experts(out, ids, shares, expert_map, experts=EXPERTS, dtype="f32", **HOST)
    assert same_bytes(got, sums_wanted)


def test_unexpected_ids_are_added_to_a_word():
    x, packed, _ = layer()
    word, out = numpy.array([7], "i4"), numpy.zeros((TOKENS, 2, ROWS), "f4")
    packed.linear_experts(x, FACTORS, IDS, out=out, out_unexpected=word, **HOST)
    assert word == 10  # 3, -7 and 5
    sums, shares = numpy.zeros((TOKENS, ROWS), "f4"), numpy.ones((TOKENS, 2), "f4")
    diecast.combine_experts(out, IDS, shares, experts=6, out=sums, out_unexpected=word, **HOST)
    assert word == 11  # -7
    for wrong in (numpy.zeros(2, "i4"), numpy.zeros(1, "i8")):
        with pytest.raises(diecast.DtypeError):
            packed.linear_experts(x, FACTORS, IDS, out=out, out_unexpected=wrong, **HOST)


@pytest.mark.parametrize("form, routing, owners", [
    ("contiguous", [1, 2, 2, 4], [None, 0, 2, 2, None]),
    ("contiguous", [-3, 0, 9, 9], [1, 1, 1, 1, 1]),
    ("masked", [1, 0, 7], [0, 2]),
])
def test_offsets_and_counts(form, routing, owners):
    x, packed, every = layer()
    if form == "masked":  # a row an expert
        x, owners = x[:3], [0, None, 2]
    out, wanted = (numpy.full((len(x), ROWS), NONE, "f4") for _ in range(2))
    for row, expert in enumerate(owners):
        if expert is not None:
            wanted[row] = every[expert][row]
    packed.linear_experts(x, FACTORS, numpy.array(routing, "i4"), form=form, split=2, fast=True, out=out,
                          **HOST)
    assert same_bytes(out, wanted)


@pytest.mark.parametrize("cols", [16, 19])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, numpy.float16, numpy.float32])
def test_sums_in_the_order_of_slots(cols, dtype):
    x = matrix(IDS.size, cols, dtype, 4).reshape(TOKENS, 2, cols)
    shares = matrix(TOKENS, 2, "f4", 5)
    wanted = numpy.zeros((TOKENS, cols), "f4")
    for (token, slot), expert in numpy.ndenumerate(IDS):
        if 0 <= expert < EXPERTS:
            wanted[token] += shares[token, slot] * x[token, slot].astype("f4")
        else:
            x[token, slot], shares[token, slot] = numpy.nan, numpy.nan
    got = diecast.combine_experts(x, IDS, shares, experts=EXPERTS, dtype="f32", **HOST)
    assert same_bytes(got, wanted)
    half = diecast.combine_experts(x, IDS, shares, experts=EXPERTS, dtype="f16", **HOST)
    assert half.shape == (TOKENS, cols) and same_bytes(half, wanted.astype("f2"))


@pytest.mark.parametrize("change, options, code", [
    ({"routing": IDS.astype("u4")}, {}, "dtype_mismatch"),
    ({"routing": numpy.zeros(4, "i8")}, {"form": "contiguous"}, "dtype_mismatch"),
    ({"expert_map": numpy.zeros(3, "i8")}, {}, "dtype_mismatch"),
    ({"expert_map": numpy.zeros(0, "i4")}, {}, "shape_mismatch"),
    ({"routing": numpy.zeros(4, "i4"), "expert_map": numpy.zeros(3, "i4")}, {"form": "contiguous"}, "not_supported"),
    ({"routing": IDS[:2]}, {"out": numpy.empty((10, ROWS), "f4")}, "shape_mismatch"),
    ({"routing": numpy.zeros((5, 3), "i4")}, {"out": numpy.empty((10, ROWS), "f4")}, "shape_mismatch"),
    ({"routing": IDS.T.copy()}, {}, "shape_mismatch"),
    ({"routing": IDS.reshape(10)}, {}, "shape_mismatch"),
    ({"routing": IDS.reshape(10)}, {"out": numpy.empty((10, ROWS), "f4")}, "shape_mismatch"),
    ({"routing": IDS[0]}, {"form": "contiguous"}, "shape_mismatch"),
    ({"routing": IDS}, {"form": "masked"}, "shape_mismatch"),
    ({"factor": FACTORS[:2]}, {}, "shape_mismatch"),
    ({"factor": FACTORS.repeat(2).reshape(-1, 2)}, {}, "shape_mismatch"),
    ({"routing": numpy.zeros(EXPERTS + 2, "i4")}, {"form": "contiguous"}, "shape_mismatch"),
    ({"routing": numpy.zeros(EXPERTS + 1, "i4"), "x": matrix(2 * EXPERTS, COLS, "f2")}, {"form": "masked"},
     "shape_mismatch"),
    ({}, {"form": "sorted"}, "value_not_allowed"),
    ({}, {"activation": "silu_and_mul"}, "shape_mismatch"),
    ({}, {"bias": numpy.ones((2, ROWS), "f2")}, "shape_mismatch"),
])
def test_bad_calls_of_linear_experts(change, options, code):
    x, packed, _ = layer()
    with pytest.raises(diecast.Error) as caught:
        packed.linear_experts(**{"x": x, "factor": FACTORS, "routing": IDS, **change},
                              **{"dtype": "f32", **options, **HOST})
    assert caught.value.code == code and caught.value.fix


@pytest.mark.parametrize("ids, options, code", [
    (IDS, {}, "value_missing"),
    (IDS, {"experts": -1}, "value_missing"),
    (IDS[:4], {"experts": EXPERTS}, "shape_mismatch"),
    (numpy.zeros((5, 3), "i4"), {"experts": EXPERTS, "out": numpy.empty((5, 8), "f2")}, "shape_mismatch"),
    (IDS, {"experts": EXPERTS, "out": numpy.empty((2, 8), "f2")}, "shape_mismatch"),
    (IDS.astype("u4"), {"experts": EXPERTS}, "dtype_mismatch"),
    (IDS, {"experts": EXPERTS, "expert_map": numpy.zeros(3, "i8")}, "dtype_mismatch"),
    (IDS, {"experts": EXPERTS, "expert_map": numpy.zeros(0, "i4")}, "shape_mismatch"),
    (IDS, {"experts": EXPERTS, "out": numpy.empty((TOKENS, 7), "f2")}, "shape_mismatch"),
])
def test_bad_calls_of_combine_experts(ids, options, code):
    with pytest.raises(diecast.Error) as caught:
        diecast.combine_experts(matrix(10, 8, "f2"), ids, numpy.ones((TOKENS, 2), "f4"), **options, **HOST)
    assert caught.value.code == code and caught.value.fix


def test_an_expert_weight_alone_is_not_several():
    x, packed, _ = layer()
    one = diecast.PackedLinear(packed.data, shape=(ROWS, COLS))
    with pytest.raises(diecast.Error) as caught:
        one.linear_experts(x, FACTORS, IDS, dtype="f32", **HOST)
    assert caught.value.code == "value_missing" and "number of experts" in caught.value.fix
