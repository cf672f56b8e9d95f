"""Ops on the host device: outputs made and given, scales given, layouts, directions, edge shapes."""

import array

import numpy
import pytest
from conftest import same_bytes

import diecast

HOST = {"device": "host"}


def test_outputs_are_made_or_filled(matrix):
    x = matrix(5, 96)
    made = diecast.quantize_nvfp4(x, **HOST)
    out = tuple(numpy.full_like(one, 99) for one in made)
    assert diecast.quantize_nvfp4(x, out=out, **HOST)[0] is out[0]
    named = [numpy.full_like(one, 99) for one in made]
    diecast.quantize_nvfp4(x, out_data=named[0], out_scale=named[1], out_amax=named[2], **HOST)
    for a, b, c in zip(made, out, named):
        assert same_bytes(a, b) and same_bytes(a, c)
    one = numpy.empty(1, "f4")
    assert diecast.amax(x, out=one, **HOST) is one
    assert one[0] == numpy.abs(x).max()


def test_a_global_scale_is_given_or_found_never_guessed(matrix):
    x = matrix(4, 64)
    data, scale, amax = diecast.quantize_nvfp4(x, **HOST)
    given = diecast.quantize_nvfp4(x, amax=amax, **HOST)
    assert len(given) == 2 and same_bytes(given[0], data) and same_bytes(given[1], scale)
    half = diecast.quantize_nvfp4(x, amax=amax * 2, **HOST)
    assert not same_bytes(half[1], scale)
    encode = diecast.quantize_nvfp4(x, encode=2688 / amax, **HOST)
    assert same_bytes(encode[0], data)
    with pytest.raises(diecast.ArgumentError, match="two global scales"):
        diecast.quantize_nvfp4(x, amax=amax, decode=amax, **HOST)
    with pytest.raises(diecast.ArgumentError, match="neither of amax and decode"):
        diecast.dequantize_nvfp4(data, scale, dtype="f32", **HOST)
    decoded = diecast.dequantize_nvfp4(data, scale, decode=amax / 2688, dtype="f32", **HOST)
    assert numpy.abs(decoded - x).max() < 1.5


# Rows of vllm#37563, #30260, sglang#9346 and flashinfer#2861: every byte of padding is written.
@pytest.mark.parametrize("layout, tile", [("s128x4", 128), ("s8x4", 8)])
def test_1_2_5_6_padding_of_scales_is_zero(layout, tile):
    for rows in (1, 7, 8, 9, 127, 128, 129, 257):
        x = numpy.ones((rows, 48), "f4")
        blocks, padded = 3, -(-rows // tile) * tile
        scale = numpy.full((padded, 4), 0xFF, "u1")
        data = numpy.full((rows, 24), 0xFF, "u1")
        amax = numpy.full(1, 99, "f4")
        diecast.quantize_nvfp4(x, layout=layout, out=(data, scale, amax), **HOST)
        assert numpy.count_nonzero(scale) == rows * blocks
        assert (scale != 0xFF).all()


# Rows of TransformerEngine#2779, flashinfer#4420, Model-Optimizer#1323.
@pytest.mark.parametrize("shape", [(0, 64), (0, 16), (3, 0)])
def test_21_22_23_nothing_is_fine(shape):
    x = numpy.empty(shape, "f4")
    data, scale, amax = diecast.quantize_nvfp4(x, **HOST)
    assert data.size == 0 and scale.size == 0 and amax[0] == 0
    assert diecast.quantize_mx(x, **HOST)[0].size == 0
    assert diecast.dequantize_nvfp4(data, scale, amax, dtype="f32", cols=shape[1], **HOST).size == 0


def test_directions_and_square_blocks_agree(matrix):
    x = matrix(32, 48)
    data, scale, amax, data_t, scale_t, amax_t = diecast.quantize_nvfp4(
        x, direction="both", square=True, **HOST)
    turned = diecast.transpose_nvfp4(data, scale, amax, **HOST)
    assert same_bytes(turned[0], data_t) and same_bytes(turned[1], scale_t)
    assert same_bytes(turned[2], amax_t)
    assert same_bytes(diecast.transpose_codes(data, **HOST), data_t)
    columns = diecast.quantize_nvfp4(x, direction="columnwise", square=True, **HOST)
    assert same_bytes(columns[0], data_t)
    back = diecast.dequantize_nvfp4(data_t, scale_t, amax_t, columnwise=True, dtype="f32", **HOST)
    assert back.shape == x.shape


def test_scales_move_between_layouts(matrix):
    x = matrix(100, 96)
    linear = diecast.quantize_nvfp4(x, **HOST)[1]
    tiled = diecast.quantize_nvfp4(x, layout="s128x4", **HOST)[1]
    moved = diecast.arrange_scales(linear, **HOST)
    assert same_bytes(moved, tiled)
    back = diecast.arrange_scales(moved, from_layout="s128x4", layout="linear", rows=100, cols=6,
                                  **HOST)
    assert same_bytes(back, linear)


def test_slices_are_read_where_they_are(matrix):
    wide = matrix(6, 160)
    x = wide[:, 32:96]
    assert all(map(same_bytes, diecast.quantize_nvfp4(x, **HOST),
                   diecast.quantize_nvfp4(x.copy(), **HOST)))
    batch = matrix(12, 64).reshape(3, 4, 64)
    data, scale, _ = diecast.quantize_nvfp4(batch, **HOST)
    assert data.shape == (3, 4, 32) and scale.shape == (3, 4, 4)
    assert same_bytes(data, diecast.quantize_nvfp4(batch.reshape(12, 64), **HOST)[0])
    target = numpy.zeros((6, 160), "f4")
    diecast.fp4_fake_quant_block(x, numpy.abs(x).max().reshape(1), out=target[:, 64:128], **HOST)
    assert numpy.count_nonzero(target[:, :64]) == 0 and numpy.count_nonzero(target[:, 64:128]) > 0


def test_a_product_is_that_of_the_values(matrix):
    a, b = matrix(5, 64), matrix(24, 64, seed=2)
    qa, qb = diecast.quantize_nvfp4(a, **HOST), diecast.quantize_nvfp4(b, **HOST)
    out = diecast.gemm_nvfp4(*qa, *qb, dtype="f32", alpha=2.0, **HOST)
    da = diecast.dequantize_nvfp4(*qa, dtype="f32", **HOST)
    db = diecast.dequantize_nvfp4(*qb, dtype="f32", **HOST)
    assert numpy.allclose(out, 2 * da @ db.T, rtol=1e-4, atol=1e-3)


def test_amaxes_are_numpys(matrix):
    x = matrix(32, 48)
    absolute = numpy.abs(x)
    for per, wanted in (("tensor", absolute.max().reshape(1)), ("row", absolute.max(1)),
                        ("column", absolute.max(0)),
                        ("block", absolute.reshape(32, 3, 16).max(2))):
        assert numpy.array_equal(diecast.amax(x, per=per, **HOST), wanted), per
    kept = numpy.full(1, 1000, "f4")
    assert diecast.amax(x, out=kept, accumulate=True, **HOST)[0] == 1000
    with pytest.raises(diecast.ArgumentError, match="no out to accumulate in"):
        diecast.amax(x, accumulate=True, **HOST)


def test_fake_quantization_stays_on_the_grid(matrix):
    x = matrix(4, 64)
    largest = numpy.abs(x).max().reshape(1)
    fake = diecast.fp4_fake_quant_block(x, largest, **HOST)
    again = diecast.fp4_fake_quant_block(fake, largest, **HOST)
    assert fake.dtype == x.dtype and numpy.abs(fake - x).max() < 1.5
    assert numpy.abs(again - fake).max() < 1e-5
    amax = numpy.abs(x).reshape(4, 4, 16).max(2)
    scales = diecast.compute_fp4_scales(amax, **HOST)
    assert scales.shape == amax.shape
    assert diecast.static_blockwise_fp4_fake_quant(x, amax, **HOST).shape == x.shape


def test_packed_modelopt_form(matrix):
    x = matrix(3, 64)
    data, scale, amax = diecast.quantize_nvfp4(x, profile="modelopt", **HOST)
    ours = diecast.dequantize_nvfp4(data, scale, decode=amax / 2688, dtype="f32",
                                    profile="modelopt", **HOST)
    theirs = diecast.fp4_dequantize(data, scale, amax / 2688, dtype="f32", **HOST)
    assert same_bytes(ours, theirs)


# vllm#42988, #47587: scales of an expert's padding rows were left as they were.
@pytest.mark.parametrize("layout", ["linear", "s128x4"])
def test_3_4_members_of_a_group_are_as_alone(matrix, layout):
    offsets = numpy.array([0, 3, 3, 20, 33], "i8")
    x = matrix(40, 64)
    made = diecast.quantize_nvfp4_grouped(x, offsets, layout=layout, **HOST)
    out = tuple(numpy.full_like(one, 0xFF) for one in made)
    data, scale, amax = diecast.quantize_nvfp4_grouped(x, offsets, layout=layout, out=out, **HOST)
    at = 0
    for i in range(4):
        member = x[offsets[i]:offsets[i + 1]]
        alone = diecast.quantize_nvfp4(member, layout=layout, **HOST)
        assert same_bytes(data[offsets[i]:offsets[i + 1]], alone[0])
        assert same_bytes(scale.ravel()[at:at + alone[1].size], alone[1])
        assert amax[i] == alone[2][0]
        at += alone[1].size
    assert (data[33:] == 0xFF).all()
    counts = numpy.array([1, 0, 17, 2], "i4")
    counted = diecast.quantize_nvfp4_grouped(x, offsets, counts, layout=layout, **HOST)
    assert counted[2][3] == numpy.abs(x[20:22]).max()
    mx = diecast.quantize_mx_grouped(x, offsets, **HOST)
    assert same_bytes(mx[0][3:20], diecast.quantize_mx(x[3:20], **HOST)[0])
    for wrong in (offsets.astype("i4"), counts):
        with pytest.raises(diecast.DtypeError):
            diecast.quantize_nvfp4_grouped(x, wrong, **HOST)
    with pytest.raises(diecast.ArgumentError, match="row counts"):
        diecast.quantize_nvfp4_grouped(x, offsets, counts[:3], **HOST)


def test_buffers_need_no_numpy(matrix):
    x = matrix(2, 32)
    data, scale, amax = diecast.quantize_nvfp4(x, **HOST)
    view = memoryview(array.array("f", x.ravel().tolist())).cast("B").cast("f", (2, 32))
    got = diecast.quantize_nvfp4(view, **HOST)
    assert all(isinstance(one, memoryview) for one in got)
    assert bytes(got[0]) == data.tobytes() and bytes(got[1]) == scale.tobytes()
    assert got[2].tolist() == amax.tolist()
    back = diecast.dequantize_nvfp4(got[0], got[1], got[2], dtype="f32", **HOST)
    assert back.shape == (2, 32)


def test_read_only_inputs_are_fine_and_outputs_are_not(matrix):
    x = matrix(2, 32)
    x.flags.writeable = False
    out = numpy.empty(1, "f4")
    assert diecast.amax(x, out=out, **HOST)[0] > 0
    out.flags.writeable = False
    with pytest.raises(diecast.ArgumentError, match="read-only"):
        diecast.amax(x, out=out, **HOST)


def test_a_prepared_op_knows_its_device(matrix):
    x = matrix(4, 64)
    run, wanted = diecast.prepare("quantize_nvfp4", x, **HOST), diecast.quantize_nvfp4(x, **HOST)
    for made in (run(x), run(x, device="host"), run(x, out=tuple(map(numpy.empty_like, wanted)))):
        assert all(map(same_bytes, wanted, made))


def test_one_place_calls_many_functions_by_the_same_names(matrix):
    x = matrix(4, 64)
    prepared = diecast.prepare("quantize_nvfp4", x, **HOST)

    def call(function, layout):
        return function(x, layout=layout, device="host")
    plain = call(diecast.quantize_nvfp4, "s128x4")
    assert all(map(same_bytes, plain, diecast.quantize_nvfp4(x, layout="s128x4", **HOST)))
    with pytest.raises(TypeError, match="layout"):
        call(prepared, "linear")
    with pytest.raises(TypeError, match="layout"):
        call(diecast.amax, "linear")
    assert all(map(same_bytes, plain, call(diecast.quantize_nvfp4, "s128x4")))


def test_names_made_at_each_call_are_read_at_each_call(matrix):
    x = matrix(4, 64)
    data, scale, amax = diecast.quantize_nvfp4(x, **HOST)
    names = {"x": x, "out_data": data, "out_scale": scale, "out_amax": amax, **HOST}
    for turn in range(20):
        order = list(names)[turn % 5:] + list(names)[:turn % 5]
        assert diecast.quantize_nvfp4(**{name: names[name] for name in order})[0] is data
    with pytest.raises(TypeError, match="several values"):
        diecast.quantize_nvfp4(x, **names)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        diecast.quantize_nvfp4(**names, **{f"name{i}": 1 for i in range(100)})
