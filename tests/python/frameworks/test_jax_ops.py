"""diecast.jax on the CPU: compiled programs give the bits of diecast's own functions; faults are errors."""

import concurrent.futures

import jax
import numpy
import pytest
from conftest import is_tuple, returns_of, run_python, same_bytes

import diecast
import diecast.jax
from diecast import _table

jax.config.update("jax_enable_x64", True)  # offsets of groups are i64
jax.config.update("jax_platforms", "cpu")


def matrix(rows, cols, dtype="bfloat16"):
    values = numpy.random.default_rng(rows + cols).standard_normal((rows, cols)) * 3
    return values.astype(jax.numpy.dtype(dtype))


def calls():
    """Calls of every op: its name, inputs and options."""
    x = matrix(32, 64)
    data, scale, amax = diecast.quantize_nvfp4(x, device="host")
    square = diecast.quantize_nvfp4(x, square=True, device="host")
    mx = diecast.quantize_mx(x, device="host")
    packed, weight = diecast.pack_linear(data, scale, device="host"), {"rows": 32, "cols": 64}
    blocks, one = numpy.abs(matrix(32, 4, "float32")) + 0.1, numpy.full(1, 9, "f4")
    offsets, counts = numpy.array([0, 5, 32]), numpy.array([5, 27], "i4")
    yield "quantize_nvfp4", [x], {}
    yield "quantize_nvfp4", [x, amax], {"layout": "s128x4"}
    yield "quantize_nvfp4", [x], {"direction": "both", "square": True}
    yield "quantize_nvfp4", [x, None, None, amax / 2688], {"row_scaled": False}
    yield "dequantize_nvfp4", [data, scale, amax], {"dtype": "f32", "cols": 63}
    yield "fp4_dequantize", [data, scale, amax / 2688], {"dtype": "f16"}
    yield "quantize_mx", [x], {"format": "mxfp8_e5m2"}
    yield "quantize_mx", [x], {"format": "mxfp4", "profile": "torchao", "mode": "ceil"}
    yield "dequantize_mx", list(mx), {}
    yield "amax", [x], {"per": "block", "block": 32}
    yield "compute_fp4_scales", [blocks], {}
    yield "static_blockwise_fp4_fake_quant", [x, blocks], {"fp8": "extension"}
    yield "fp4_fake_quant_block", [x, one], {}
    yield "gemm_nvfp4", [data, scale, amax, *square], {"alpha": 0.5, "dtype": "f32"}
    yield "arrange_scales", [scale], {"layout": "s8x4"}
    yield "arrange_scales", [mx[1]], {}
    yield "transpose_codes", [data], {}
    yield "transpose_nvfp4", list(square), {}
    yield "quantize_nvfp4_grouped", [x, offsets], {}
    yield "quantize_mx_grouped", [x, offsets, counts], {"layout": "linear"}
    yield "pack_linear", [data, scale], {"status": True}
    yield "unpack_linear", [packed], weight
    yield "linear", [x, packed, one], weight
    ids, shares = numpy.zeros((32, 2), "i4"), numpy.full((32, 2), 0.3, "f4")
    yield "linear_experts", [x, packed, one, ids], {**weight, "weights": 1}
    yield "linear_experts", [x, packed, one, ids, None, ids[0]], {**weight, "weights": 1}
    yield "combine_experts", [matrix(64, 16), ids, shares], {"experts": 1}
    yield "combine_experts", [matrix(64, 16), ids, shares, ids[0]], {"experts": 1}


CALLS = list(calls())
STUB = returns_of("jax.pyi")


def test_every_op_is_called():
    assert {name for name, _, _ in CALLS} == set(_table.OPS) == set(diecast.jax.__all__)


@pytest.mark.parametrize("name, inputs, options", CALLS,
                         ids=[f"{i}-{name}" for i, (name, _, _) in enumerate(CALLS)])
def test_a_compiled_call_gives_diecasts_own_bits(name, inputs, options):
    wanted = getattr(diecast, name)(*inputs, **options, device="host")
    function = getattr(diecast.jax, name)
    compiled = jax.jit(lambda *arrays: function(*arrays, **options))
    for call in (compiled, lambda *arrays: function(*arrays, **options)):
        got = call(*inputs)
        assert isinstance(got, tuple) == is_tuple(STUB[name], options)
        wanted, got = (one if isinstance(one, tuple) else (one,) for one in (wanted, got))
        assert [a.shape for a in got] == [b.shape for b in wanted]
        assert all(same_bytes(numpy.asarray(a), b) for a, b in zip(got, wanted))


def test_types_are_jaxs():
    data, scale = diecast.jax.quantize_mx(matrix(4, 64))
    assert data.dtype == jax.numpy.float8_e4m3fn and "e8m0" in str(scale.dtype)
    assert diecast.jax.quantize_nvfp4(matrix(4, 64))[1].dtype == jax.numpy.float8_e4m3fn
    assert diecast.jax.dequantize_mx(data, scale).dtype == jax.numpy.bfloat16


def test_an_outputs_type_is_jaxs_or_a_word():
    made = diecast.jax.quantize_nvfp4(matrix(4, 64))
    for dtype in ("f16", jax.numpy.float16, jax.numpy.dtype("float16"), numpy.float16):
        assert diecast.jax.dequantize_nvfp4(*made, dtype=dtype).dtype == jax.numpy.float16
    assert diecast.jax.dequantize_nvfp4(*made, dtype=jax.numpy.bfloat16).dtype == jax.numpy.bfloat16
    for dtype in (jax.numpy.int8, jax.numpy.int32):
        with pytest.raises(diecast.ArgumentError, match="dtype = ") as caught:
            diecast.jax.dequantize_nvfp4(*made, dtype=dtype)
        assert caught.value.fix == "dtype is one of bf16, f16, f32"


def test_within_a_program_and_over_a_batch():
    @jax.jit
    def layer(x):
        data, scale, amax = diecast.jax.quantize_nvfp4(jax.numpy.maximum(x, 0) * 2)
        return diecast.jax.dequantize_nvfp4(data, scale, amax, dtype="f32") + 1

    batch = numpy.stack([matrix(8, 64), -matrix(8, 64)])
    each = jax.vmap(layer)(batch)
    for one, x in zip(each, batch):
        made = diecast.quantize_nvfp4(numpy.maximum(x, 0) * 2, device="host")
        assert numpy.array_equal(one, diecast.dequantize_nvfp4(*made, dtype="f32", device="host") + 1)
    empty = layer(matrix(0, 64))
    assert empty.shape == (0, 64)


def test_threads():
    compiled = jax.jit(lambda x: diecast.jax.amax(x, per="row"))
    arrays = [matrix(rows, 64) for rows in range(1, 9)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got, x in zip(pool.map(compiled, arrays * 4), arrays * 4):
            assert numpy.array_equal(got, numpy.abs(x).max(1).astype("f4"))


@pytest.mark.parametrize("call, error, text", [
    (lambda x: diecast.jax.quantize_nvfp4(x, layout="s1x4"), diecast.ArgumentError, "layout"),
    (lambda x: diecast.jax.quantize_nvfp4(x, layout=1), diecast.DtypeError, "layout"),
    (lambda x: diecast.jax.quantize_nvfp4(x.astype("int32")), diecast.DtypeError, "i32"),
    (lambda x: diecast.jax.quantize_nvfp4_grouped(x, x[0]), diecast.DtypeError, "row_offsets"),
    (lambda x: diecast.jax.dequantize_nvfp4(x, x), diecast.Error, "data"),
    (lambda x: diecast.jax.linear(x, CALLS[22][1][1], x[0, :1].astype("f4"), rows=32, cols=64),
     diecast.ArgumentError, "linear: x is .4, 32."),
    (lambda x: diecast.jax.amax(x, accumulate=True), diecast.ArgumentError, "accumulated"),
    (lambda x: diecast.jax.amax(x, out=x), TypeError, "'out'"),
    (lambda x: diecast.jax.amax(), TypeError, "takes x"),
    (lambda x: diecast.jax.amax(x, x, x), TypeError, "takes x"),
    (lambda x: diecast.jax.amax(x, x=x), TypeError, "several values for 'x'"),
    (lambda x: diecast.jax.quantize_nvfp4(x, 2.5), diecast.DtypeError, "amax is float, no array"),
    (lambda x: diecast.jax.quantize_nvfp4([1.0]), diecast.DtypeError, "x is list, no array"),
    (lambda x: diecast.jax.amax(jax.random.key(0)), diecast.DtypeError, "no array"),
    (lambda x: diecast.jax.unpack_linear(x, rows=2**61, cols=64), diecast.Error, "63 bits"),
    (lambda x: diecast.jax.linear(x, x, x, rows=2**62, cols=32), diecast.ArgumentError, "no memory holds"),
])
def test_faults_are_raised_where_a_call_is_traced(call, error, text):
    for program in (call, jax.jit(call)):
        with pytest.raises(error, match=text):
            program(jax.numpy.asarray(matrix(4, 32)))


def others(array):
    """Arrays of other shapes and types."""
    yield from (array[:-1], array[:0], array.reshape(-1), array[None], numpy.concatenate([array, array], -1))
    yield from (numpy.zeros(array.shape, kind) for kind in ("float32", "uint8", "int32") if kind != array.dtype)


@pytest.mark.parametrize("name, inputs, options", CALLS, ids=[f"{i}-{one[0]}" for i, one in enumerate(CALLS)])
def test_what_is_traced_fails_by_values_alone(name, inputs, options):
    function = getattr(diecast.jax, name)
    for place, one in enumerate(inputs):
        for other in () if one is None else others(one):
            arrays = [*inputs[:place], other, *inputs[place + 1:]]
            try:
                jax.eval_shape(lambda *of: function(*of, **options), *arrays)
            except diecast.Error as error:
                assert error.fix
                continue
            try:
                jax.block_until_ready(function(*arrays, **options))
            except Exception as error:  # pylint: disable=broad-exception-caught
                assert "row offset" in str(error), error


@pytest.mark.parametrize("attributes", [
    {}, {"op": "quantise"}, {"op": "amax"}, {"op": "amax", "fields": numpy.array([0])},
    {"op": "amax", "fields": numpy.array([0, 99])}, {"op": 3, "fields": numpy.array([0, 2])},
    {"op": "amax", "fields": numpy.array([0, 2], "i4")},
    {"op": "amax", "fields": numpy.array([2, 0])}], ids=str)
def test_a_call_that_is_not_ours_is_an_error(attributes):
    x = jax.numpy.ones((2, 16), "float32")
    call = jax.ffi.ffi_call("diecast", jax.ShapeDtypeStruct((2, 16), x.dtype))
    with pytest.raises(Exception, match="diecast|amax"):
        jax.block_until_ready(call(x, **attributes))


@pytest.mark.parametrize("name, inputs, options", CALLS, ids=[f"{i}-{one[0]}" for i, one in enumerate(CALLS)])
def test_numbers_that_an_option_cannot_be_are_errors_or_harmless(name, inputs, options):
    for option in _table.OPS[name].options:
        if option.kind is not int:
            continue
        for value in (-1, 0, 3, 2**31):
            try:
                jax.eval_shape(lambda *arrays, of=options | {option.name: value}: getattr(diecast.jax, name)(
                    *arrays, **of), *(one for one in inputs if one is not None))
            except diecast.Error as error:
                assert error.fix


def test_sizes_that_are_symbols_are_refused():
    (rows,) = jax.export.symbolic_shape("rows")
    with pytest.raises(diecast.ArgumentError, match="a size of x is a symbol, .rows, 64.") as caught:
        jax.export.export(jax.jit(diecast.jax.amax))(jax.ShapeDtypeStruct((rows, 64), "float32"))
    assert "numbers" in caught.value.fix


def test_there_are_no_gradients():
    with pytest.raises(ValueError, match="differentiated"):
        jax.grad(lambda x: diecast.jax.fp4_fake_quant_block(x, x[0, :1]).sum())(
            jax.numpy.ones((2, 16), "float32"))


def test_kernels_are_compiled_where_a_call_is_traced(tmp_path):
    counts = run_python("""
import jax, numpy, diecast, diecast.jax
x = numpy.ones((4, 64), "f4")
lowered = jax.jit(lambda x: diecast.jax.quantize_nvfp4(x, layout="s8x4")).lower(x)
before = diecast.runtime().counters()["compiled"]
lowered.compile()(x)
print(before, diecast.runtime().counters()["compiled"])
""", DIECAST_CACHE=str(tmp_path), JAX_PLATFORMS="cpu")
    before, after = counts.split()
    assert int(before) > 0 and before == after
