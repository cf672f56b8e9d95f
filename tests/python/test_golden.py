"""Bits of other implementations, through Python: the vectors that C++ is held to."""

import ml_dtypes
import numpy
import pytest
from conftest import golden, same_bytes

import diecast


def cases(name):
    return [pytest.param(options, tensors, id=options["name"]) for options, tensors in golden(name)]


def te_options(options):
    out = {"row_scaled": options.get("row_scaled", False),
           "square": options.get("tile", [1, 16]) == [16, 16]}
    if options.get("four_over_six"):
        out["four_over_six"] = options["err_mode"].lower()
        out["e4m3_bound"] = options["e4m3_max"]
    return out


@pytest.mark.parametrize("options, tensors", cases("nvfp4_te.safetensors"))
def test_transformer_engine(options, tensors):
    columns = options.get("columnwise", False)
    got = diecast.quantize_nvfp4(tensors["x"], device="host", **te_options(options),
                                 direction="both" if columns else "rowwise")
    names = ["data", "scale", "amax"] + (["data_t", "scale_t", "amax_t"] if columns else [])
    assert len(got) == len(names)
    for name, output in zip(names, got):
        assert same_bytes(output, tensors[name]), name


@pytest.mark.parametrize("options, tensors", cases("nvfp4_torchao.safetensors"))
def test_torchao_nvfp4(options, tensors):
    given = {"block_scales_alone": True}
    if options.get("per_tensor", True):
        given = {"decode": tensors["per_tensor_scale"].reshape(1)}
    data, scale = diecast.quantize_nvfp4(tensors["x"], profile="torchao", device="host", **given)
    assert same_bytes(data, tensors["data"])
    assert same_bytes(scale, tensors["scale"])


@pytest.mark.parametrize("options, tensors", cases("mx_torchao.safetensors"))
def test_torchao_mx(options, tensors):
    element = options["elem"].lower()
    format = next(f for f in ("mxfp4", "mxfp8_e4m3", "mxfp8_e5m2")
                  if f[-4:] in element or f == "mxfp4" and ("e2m1" in element or "fp4" in element))
    data, scale = diecast.quantize_mx(tensors["x"], format=format, mode=options["mode"].lower(),
                                      profile="torchao", device="host")
    assert same_bytes(data, tensors["data"])
    assert same_bytes(scale, tensors["scale"])


# The file's own arithmetic is approximate in these two: one code in a thousand may be a step off.
def nearly(a, b):
    return numpy.count_nonzero(a != b) <= a.size // 1000 + 1


@pytest.mark.parametrize("options, tensors", cases("fakequant_modelopt.safetensors"))
def test_modelopt_fake(options, tensors):
    del options
    x = tensors["x"]
    fake = diecast.fp4_fake_quant_block(x, tensors["global_amax"], device="host")
    assert nearly(fake, tensors["dynamic"])
    static = diecast.static_blockwise_fp4_fake_quant(x, tensors["block_amax"], unrounded=True,
                                                     device="host")
    assert same_bytes(static, tensors["static_unquantized_scale"])


@pytest.mark.parametrize("options, tensors", cases("nvfp4_modelopt.safetensors"))
def test_modelopt_packed(options, tensors):
    del options
    x, block_amax = tensors["x"], tensors["block_amax"]
    data, scale, amax = diecast.quantize_nvfp4(x, profile="modelopt", device="host")
    assert same_bytes(data, tensors["data"]) and same_bytes(scale, tensors["scale"])
    back = diecast.dequantize_nvfp4(data, scale, decode=tensors["scale_2"], profile="modelopt",
                                    dtype="f32", device="host")
    assert numpy.abs(back - x.astype("f4")).max() <= amax[0]
    largest = block_amax.max().reshape(1)
    for bound in (448, 256):
        got = diecast.quantize_nvfp4(x, amax=largest, block_amax=block_amax, profile="modelopt",
                                     e4m3_bound=bound, device="host")
        assert same_bytes(got[0], tensors[f"static{bound}_data"])
        assert same_bytes(got[1], tensors[f"static{bound}_scale"])
    scales = diecast.compute_fp4_scales(block_amax, device="host")
    assert same_bytes(scales, tensors["fp4_scales"])
    fake = diecast.static_blockwise_fp4_fake_quant(x, block_amax, device="host")
    assert nearly(fake, tensors["static_fake_quant"])


@pytest.mark.parametrize("options, tensors", cases("nvfp4_pr546.safetensors"))
def test_pr546(options, tensors):
    matrices = tensors["x"] if tensors["x"].ndim == 3 else tensors["x"][None]
    given = tensors["global_amax"] if options["global_amax_given"] else [None] * len(matrices)
    for i, x in enumerate(matrices):
        amax = None if given[i] is None else numpy.array([given[i]], "f4")
        data, scale = diecast.quantize_nvfp4(x, amax=amax, profile="pr546", device="host")[:2]
        assert same_bytes(data, tensors["data"].reshape(len(matrices), *data.shape)[i])
        assert same_bytes(scale, tensors["scale"].reshape(len(matrices), *scale.shape)[i])


@pytest.mark.parametrize("rows", [1, 3, 127, 129])
def test_mx_comes_back(rows):
    x = numpy.random.default_rng(rows).standard_normal((rows, 64)).astype(ml_dtypes.bfloat16)
    for format, error in (("mxfp8_e4m3", 0.2), ("mxfp4", 1.1)):
        data, scale = diecast.quantize_mx(x, format=format, profile="torchao", device="host")
        back = diecast.dequantize_mx(data, scale, format=format, device="host")
        assert back.dtype == x.dtype and back.shape == x.shape
        assert numpy.abs(back.astype("f4") - x.astype("f4")).max() < error
