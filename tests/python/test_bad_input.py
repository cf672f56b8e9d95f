"""Whatever a caller gets wrong is an exception with a fix, and nothing is written."""

import random

import ml_dtypes
import numpy
import pytest

import diecast

HOST = {"device": "host"}
ONE = numpy.ones(1, "f4")
FP4 = numpy.zeros((4, 32), "u1"), numpy.zeros((4, 4), "u1"), ONE  # codes, scales and their global scale


class Lies:
    """An object whose __dlpack__ gives something else."""

    def __init__(self, gives):
        self.gives = gives

    def __dlpack__(self, **_):
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


@pytest.mark.parametrize("x, error", [
    (None, ValueError), (3, TypeError), ("x", TypeError), ([1.0] * 32, TypeError),
    (object(), TypeError), (numpy.zeros((2, 32)), TypeError), (numpy.zeros(32, bool), TypeError),
    (numpy.zeros((2, 32), "c8"), TypeError), (numpy.zeros((2, 32), ">f4"), TypeError),
    (numpy.zeros((4, 32), "f4")[:, ::2], ValueError), (numpy.zeros((4, 32), "f4").T, ValueError),
    (numpy.zeros((2, 32), "f4")[::-1], ValueError), (numpy.zeros((1,) * 12, "f4"), ValueError),
    (numpy.broadcast_to(numpy.zeros(32, "f4"), (4, 32)), ValueError),
    (numpy.zeros((2, 32), "i4"), TypeError), (Lies(3), TypeError), (Lies(None), TypeError),
    (Lies(ValueError("no")), ValueError)], ids=repr)
def test_25_no_tensor_or_a_wrong_one(x, error):
    with pytest.raises(error) as raised:
        diecast.quantize_nvfp4(x, **HOST)
    if isinstance(raised.value, diecast.Error):
        assert raised.value.code and raised.value.fix


def test_a_cpu_tensor_runs_on_the_host_only_when_asked(matrix):
    with pytest.raises(diecast.ArgumentError) as raised:
        diecast.quantize_nvfp4(matrix(2, 32))
    assert raised.value.code == "invalid_argument" and 'device="host"' in raised.value.fix


def test_names_and_values_of_options(matrix):
    x = matrix(2, 32)
    for keywords, error in (({"layout": "rows"}, ValueError), ({"layout": 3}, TypeError),
                            ({"square": 1}, TypeError), ({"e4m3_bound": "448"}, TypeError),
                            ({"e4m3_bound": 300}, ValueError), ({"e4m3_bound": 2**70}, ValueError),
                            ({"profil": "te"}, TypeError), ({"device": "gpu"}, ValueError),
                            ({"device": 3.0}, ValueError), ({"out": (x,)}, ValueError),
                            ({"out": (x,) * 4}, ValueError), ({"runtime": 3}, TypeError)):
        with pytest.raises(error):
            diecast.quantize_nvfp4(x, **{**HOST, **keywords})
    with pytest.raises(TypeError, match="positional"):
        diecast.quantize_nvfp4(*[x] * 20, **HOST)
    with pytest.raises(TypeError, match="several values"):
        diecast.quantize_nvfp4(x, x=x, **HOST)
    with pytest.raises(TypeError):
        diecast.gemm_nvfp4(alpha="two", **HOST)


# A row of flashinfer: a global scale of another type was read as f32 bytes.
@pytest.mark.parametrize("dtype", ["f8", "f2", "i4"])
def test_38_a_global_scale_of_another_type(matrix, dtype):
    with pytest.raises(diecast.DtypeError, match="amax"):
        diecast.quantize_nvfp4(matrix(2, 32), amax=numpy.ones(1, dtype), **HOST)


def test_outputs_that_overlap_or_are_too_small(matrix):
    x = matrix(2, 32)
    memory = numpy.zeros(256, "u1")
    with pytest.raises(diecast.ArgumentError, match="same memory"):
        diecast.quantize_nvfp4(x, out=(memory[:32], memory[16:20], numpy.empty(1, "f4")), **HOST)
    for data, scale in ((31, 4), (32, 3)):
        memory[:] = 7
        with pytest.raises(diecast.ArgumentError, match="needs"):
            diecast.quantize_nvfp4(x, out=(memory[:data], memory[64:64 + scale],
                                           numpy.empty(1, "f4")), **HOST)
        assert (memory == 7).all()
    with pytest.raises(diecast.ArgumentError, match="same memory"):
        diecast.fp4_fake_quant_block(x, numpy.ones(1, "f4"), out=x, **HOST)
    halves = numpy.broadcast_to(numpy.zeros((1, 32), "f4"), (2, 32))
    with pytest.raises(diecast.ArgumentError):
        diecast.fp4_fake_quant_block(x, numpy.ones(1, "f4"), out=halves, **HOST)


@pytest.mark.parametrize("call, code, text", [
    (lambda x: diecast.quantize_nvfp4(x, e4m3_bound=1 << 70, **HOST), "value_not_allowed", "e4m3_bound is beyond"),
    (lambda x: diecast.gemm_nvfp4(x, x, x, x, x, x, alpha=1 << 2000, **HOST), "value_not_allowed", "alpha is beyond"),
    (lambda x: diecast.amax(x, device=1 << 32), "no_device", "no such CUDA device"),
    (lambda x: diecast.amax(x, device=-(1 << 70)), "no_device", "no such CUDA device"),
    (lambda x: diecast.amax(x, device="cuda:4294967296"), "no_device", "no such CUDA device"),
    (lambda x: diecast.amax(x, device="cuda:0x"), "invalid_argument", "neither"),
    (lambda x: diecast.amax(x, runtime=3, **HOST), "dtype_mismatch", "no diecast.Runtime"),
    (lambda x: diecast.amax(x, device="\udc80"), "invalid_argument", "neither"),
    (lambda x: diecast.device_info("\udc80"), "invalid_argument", "neither"),
    (lambda x: diecast.kernel("x", runtime=3), "dtype_mismatch", "no diecast.Runtime"),
    (lambda x: diecast.quantize_folder("x", "y", runtime=3, **HOST), "dtype_mismatch", "no diecast.Runtime"),
    (lambda x: diecast.quantize_for("{}", [("w", x)], runtime=3, **HOST), "dtype_mismatch", "no diecast.Runtime"),
    (lambda x: diecast.quantize_for("{}", [("w", x)], e4m3_bound=1 << 70, **HOST), "value_not_allowed", "too large"),
    (lambda x: diecast.quantize_folder("x", "y", e4m3_bound=1 << 40, **HOST), "value_not_allowed", "too large"),
    (lambda x: diecast.quantize_folder("x", "y", jobs=1 << 70, **HOST), "value_not_allowed", "too large"),
    (lambda x: diecast.quantize_folder("x", dry_run=True, last_layers=1 << 70), "value_not_allowed", "too large"),
    (lambda x: diecast.kernel(b"text"), "dtype_mismatch", "source is bytes"),
    (lambda x: diecast.runtime().freeze("never"), "value_not_allowed", "late = 'never'"),
    (lambda x: diecast.quantize_nvfp4(x, layout="\ud800", **HOST), "dtype_mismatch", "no text that UTF-8 has"),
    (lambda x: diecast.gemm_nvfp4(x, x, x, x, x, x, alpha=None, **HOST), "dtype_mismatch", "alpha is no number"),
    (lambda x: diecast.amax(x.astype(ml_dtypes.bfloat16)[0, 0], **HOST), "dtype_mismatch", "x is a number of numpy"),
    (lambda x: diecast.prepare("fp4_dequantize", *FP4, block_size=0, **HOST), "value_not_allowed", "block_size"),
    (lambda x: diecast.prepare("fp4_fake_quant_block", x, ONE, block_size=0, **HOST),
     "value_not_allowed", "block_size"),
    (lambda x: diecast.prepare("static_blockwise_fp4_fake_quant", x, ONE.repeat(999), **HOST),
     "shape_mismatch", "amax has 999 entries"),
])
def test_numbers_and_objects_that_no_call_can_take(matrix, call, code, text):
    with pytest.raises(diecast.Error, match=text) as caught:
        call(matrix(4, 64))
    assert caught.value.code == code and caught.value.fix


@pytest.mark.parametrize("option, fix", [
    ({"dtype": numpy.float32}, "pass one of the texts bf16, f16, f32"), ({"square": 1}, "pass True or False"),
    ({"e4m3_bound": "448"}, "pass an int")])
def test_an_option_of_another_kind_is_told_what_to_be(option, fix):
    with pytest.raises(diecast.DtypeError) as caught:
        diecast.dequantize_nvfp4(*FP4, **option, **HOST)
    assert caught.value.fix == fix


def test_a_factor_that_is_no_number_is_refused():
    codes, scales, amax = numpy.zeros((16, 16), "u1"), numpy.zeros((16, 2), "u1"), numpy.ones(1, "f4")
    with pytest.raises(diecast.ArgumentError, match="alpha is NaN"):
        diecast.gemm_nvfp4(codes, scales, amax, codes, scales, amax, alpha=float("nan"), **HOST)


@pytest.mark.parametrize("call", [
    lambda: diecast.quantize_folder(None, "out", **HOST),
    lambda: diecast.quantize_folder("none", None, **HOST),
    lambda: diecast.quantize_folder("none", "out", include=[3], **HOST),
    lambda: diecast.quantize_folder("none", "out", mxfp8=3, **HOST),
    lambda: diecast.quantize_folder("none", "out", recipe=3, **HOST),
    lambda: diecast.Runtime(cache=3.0), lambda: diecast.Runtime(trace=[]),
    lambda: diecast.runtime().add(3), lambda: diecast.runtime().add_header("a.h", 3),
    lambda: diecast.verify_folder(None), lambda: diecast.kernel(None)])
def test_paths_are_texts_or_paths(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("call, text", [
    (lambda x, d, s, a: diecast.quantize_nvfp4(x, out=(numpy.zeros((4, 64), "u1"), s, a), **HOST),
     "out_data is .4, 64.: rows of 64 bytes, not 32"),
    (lambda x, d, s, a: diecast.quantize_nvfp4(x, out=(d, numpy.zeros((4, 8), "u1"), a), **HOST),
     "out_scale is .4, 8.: rows of 8 bytes, not 4"),
    (lambda x, d, s, a: diecast.dequantize_nvfp4(d, s, a, out=numpy.zeros((8, 32), "f4"), **HOST),
     "data is .4, 32.: rows of 32 bytes, not 16"),
    (lambda x, d, s, a: diecast.dequantize_nvfp4(d, numpy.zeros((4, 8), "u1"), a, **HOST), "rows of 8 bytes, not 4"),
    (lambda x, d, s, a: diecast.dequantize_nvfp4(d, s, a, cols=63, out=numpy.zeros((4, 62), "f4"), **HOST),
     "cols = 63, and out has 62"),
    (lambda x, d, s, a: diecast.gemm_nvfp4(d, numpy.zeros((4, 8), "u1"), a, d, s, a, **HOST), "a_scale is .4, 8."),
    (lambda x, d, s, a: diecast.arrange_scales(s, cols=2, **HOST), "scale is .4, 4.: rows of 4 bytes, not 2"),
    (lambda x, d, s, a: diecast.transpose_codes(d, cols=32, **HOST), "data is .4, 32.: rows of 32 bytes, not 16"),
], ids=range(8))
def test_rows_of_another_length_are_refused(matrix, call, text):
    """They would be read and written at wrong places, where there are bytes enough."""
    x = matrix(4, 64)
    data, scale, amax = diecast.quantize_nvfp4(x, **HOST)
    with pytest.raises(diecast.ArgumentError, match=text):
        call(x, data, scale, amax)
    flat = [numpy.zeros(one.size, one.dtype) for one in (data, scale, amax)]  # one line is dense
    diecast.quantize_nvfp4(x, out=flat, **HOST)
    assert (flat[0].reshape(data.shape) == data).all()


def test_fuzzed_calls_raise_or_return():
    """Every op with tensors of random types, shapes and strides: no call ends the process."""
    random.seed(7)
    shapes = [(), (0,), (16,), (1, 32), (4, 64), (3, 33), (2, 3, 32), (0, 32), (4, 0)]
    types = ["f4", "f2", "u1", "i8", "f8", "i4"]

    def value():
        kind = random.randrange(8)
        if kind == 0:
            return None
        if kind == 1:
            return random.choice([float("nan"), -1, 2**40, "x", b"bytes", (), Lies(None)])
        made = numpy.zeros(random.choice(shapes), random.choice(types))
        return made[..., ::2] if made.ndim and random.random() < 0.2 else made

    import inspect
    outcomes = {"returned": 0, "raised": 0}
    for name in diecast.__all__:
        function = getattr(diecast, name)
        if type(function).__name__ != "builtin_function_or_method" or name in (
                "output_shapes", "prepare"):
            continue
        names = list(inspect.signature(function).parameters)
        for _ in range(120):
            keywords = {key: value() for key in random.sample(names, random.randrange(1, 6))}
            keywords["device"] = "host"
            keywords.pop("runtime", None)
            try:
                function(**keywords)
                outcomes["returned"] += 1
            except (ValueError, TypeError, RuntimeError, OverflowError):
                outcomes["raised"] += 1
    assert outcomes["raised"] > 500
