"""The formulas that tracing frameworks take against what the library says, for every op."""

import itertools

import numpy
import pytest

import diecast
from diecast import _shapes, _table

ROWS, COLS = (0, 1, 7, 16, 33, 129, 300), (0, 16, 48, 96, 256)
LAYOUTS = ("linear", "s128x4", "s8x4")
DIRECTIONS = ("rowwise", "columnwise", "both")
SCALE = numpy.ones(1, "f4")


def zeros(*shape, dtype="u1"):
    return numpy.zeros(shape, dtype)


def product(**options):
    """Every combination of values, as dicts."""
    return [dict(zip(options, values)) for values in itertools.product(*options.values())]


def matrices(dtype="f4"):
    """Arrays of many shapes, those of other ranks too."""
    return [zeros(*shape, dtype=dtype) for shape in
            [*itertools.product(ROWS, COLS), (48,), (2, 3, 64), (2, 1, 5, 16)]]


def calls():
    """For each op: its inputs by name and its options."""
    for x in matrices():
        for options in product(layout=LAYOUTS, direction=DIRECTIONS, row_scaled=(False, True)):
            yield "quantize_nvfp4", {"x": x}, options
        for options in product(layout=LAYOUTS, direction=DIRECTIONS,
                               format=("mxfp8_e4m3", "mxfp8_e5m2", "mxfp4")):
            yield "quantize_mx", {"x": x}, options
        for per in ("tensor", "row", "column", "tile"):
            yield "amax", {"x": x}, {"per": per}
        yield "amax", {"x": x}, {"per": "block", "block": 32}
        yield "compute_fp4_scales", {"amax": x}, {}
        yield "static_blockwise_fp4_fake_quant", {"x": x, "amax": x}, {}
        yield "fp4_fake_quant_block", {"x": x, "global_amax": SCALE}, {}
        for layout, members in itertools.product(LAYOUTS, (0, 1, 5)):
            if x.ndim == 2:
                group = {"x": x, "row_offsets": zeros(members + 1, dtype="i8")}
                yield "quantize_nvfp4_grouped", group, {"layout": layout}
                yield "quantize_nvfp4_grouped", group | {"amax": SCALE}, {"row_scaled": True}
                yield "quantize_mx_grouped", group, {"layout": layout, "format": "mxfp4"}
    for given in ({"amax"}, {"encode"}, {"decode_t"}, {"decode", "decode_t"}):
        yield ("quantize_nvfp4", {"x": zeros(32, 32, dtype="f4")} | dict.fromkeys(given, SCALE),
               {"direction": "both"})
    yield "quantize_nvfp4", {"x": zeros(32, 32, dtype="f4")}, {"block_scales_alone": True}
    yield from calls_with_codes()
    yield from calls_of_linear()


def calls_with_codes():
    for data in matrices("u1"):
        rows, codes = int(numpy.prod(data.shape[:-1])), 2 * data.shape[-1]
        for columnwise, dtype in itertools.product((False, True), ("bf16", "f32")):
            for length in (0, max(codes - 3, 0)):
                options = {"columnwise": columnwise, "dtype": dtype,
                           "rows" if columnwise else "cols": length}
                yield "dequantize_nvfp4", {"data": data, "scale": data}, options
                yield "dequantize_mx", {"data": data, "scale": data}, options | {"format": "mxfp4"}
            yield "dequantize_mx", {"data": data, "scale": data}, {"columnwise": columnwise}
        yield "fp4_dequantize", {"data": data, "scale": data, "decode": SCALE}, {"dtype": "f16"}
        for pad in (2, 16):
            yield "transpose_codes", {"data": data}, {"pad": pad, "cols": codes // 16 * 16}
        for layout in LAYOUTS:
            yield "transpose_nvfp4", {"data": data, "scale": zeros(0), "amax": SCALE}, {"layout": layout}
            yield "arrange_scales", {"scale": data}, {"layout": layout}
            tiled = {"from_layout": layout, "rows": rows + 1, "cols": data.shape[-1] + 1}
            yield "arrange_scales", {"scale": zeros(512 * 512)}, tiled | {"batch": 2}
        b = zeros(5, data.shape[-1])
        yield ("gemm_nvfp4", {"a": data, "a_scale": zeros(0), "a_amax": SCALE, "b": b, "b_scale": zeros(0),
                              "b_amax": SCALE}, {"dtype": "f16"})


def calls_of_linear():
    for weights, rows, cols in itertools.product((0, 3), (1, 64, 130), (32, 64, 160)):
        for format, block in (("nvfp4", 16), ("mxfp4", 32)):
            leading = (weights, rows) if weights else (rows,)
            weight = {"data": zeros(*leading, cols // 2), "scale": zeros(*leading, cols // block)}
            for status in (False, True):
                yield "pack_linear", weight, {"format": format, "status": status}
            options = {"format": format, "rows": rows, "cols": cols}
            yield "unpack_linear", {"packed": zeros(0)}, options | {"weights": weights}
    for x, activation in itertools.product(matrices("f2"), ("none", "silu_and_mul", "relu2")):
        yield ("linear", {"x": x, "packed": zeros(0), "factor": SCALE},
               {"rows": 48, "cols": 64, "activation": activation, "dtype": "f32"})
    for form, shape in itertools.product(("indexed", "contiguous", "masked"), ((12,), (4, 3), (2, 2, 3))):
        tensors = {"x": zeros(3, 4, 64, dtype="f2"), "packed": zeros(0), "factor": SCALE,
                   "routing": zeros(*shape, dtype="i4")}
        for activation in ("none", "swiglu_oai"):
            yield "linear_experts", tensors, {"rows": 48, "cols": 64, "weights": 5, "form": form,
                                              "activation": activation, "dtype": "f16"}
        yield ("combine_experts", {"x": zeros(12, 48, dtype="f4"), "topk_ids": tensors["routing"],
                                   "topk_weights": zeros(*shape, dtype="f4")}, {"experts": 5})


def test_shapes_are_the_librarys():
    compared = dict.fromkeys(_table.OPS, 0)
    for name, tensors, options in calls():
        wanted = diecast.output_shapes(name, **tensors, **options)
        got = _shapes.outputs(_table.OPS[name], tensors, options)
        got = {key: ("f32" if kind == numpy.float32 else kind, shape)
               for key, (kind, shape) in got.items()}
        assert got == wanted, (name, {key: value.shape for key, value in tensors.items()}, options)
        compared[name] += 1
    assert all(compared.values()), compared


def test_a_word_that_is_none():
    op = _table.OPS["quantize_nvfp4"]
    with pytest.raises(diecast.ArgumentError, match="layout = 's64x4'") as caught:
        _shapes.outputs(op, {"x": zeros(1, 16, dtype="f4")}, {"layout": "s64x4"})
    assert "linear" in caught.value.fix


def test_output_shapes_says_what_is_wrong():
    assert diecast.output_shapes("amax", zeros(3, 16, dtype="f4"), per="row") == {"out": ("f32", (3,))}
    with pytest.raises(TypeError, match="needs the op's name"):
        diecast.output_shapes()
    with pytest.raises(diecast.ArgumentError, match="no op is named"):
        diecast.output_shapes("quantise", zeros(1, 16))
    with pytest.raises(diecast.ArgumentError, match="too few|cols"):
        diecast.output_shapes("transpose_codes", zeros(1, 16), cols=64)
