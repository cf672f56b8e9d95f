"""Weights for a quantized folder on the host device: the bits of that folder, given scales, bad input."""

import json

import numpy
import pytest
from conftest import same_bytes
from folders import ATTENTION, MLP, make_model, read, weights

import diecast

CONFIG = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": []}}
ONE = numpy.ones(1, "f4")


def test_the_bits_of_the_folder(tmp_path):
    model, small = make_model(tmp_path / "model", weights()), tmp_path / "small"
    diecast.quantize_folder(model, small, device="host")
    text = (small / "config.json").read_text()
    wanted = read(small / "model.safetensors")
    for config in (text, json.loads(text)):
        got = dict(diecast.quantize_for(config, weights().items(), device="host"))
        of_dict = dict(diecast.quantize_for(config, weights(), device="host"))
        assert got.keys() == of_dict.keys() and all(same_bytes(of_dict[name], got[name]) for name in got)
        assert got.keys() == wanted.keys()
        for name, tensor in wanted.items():
            assert got[name].shape == tensor.shape and same_bytes(got[name], tensor), name


def test_scales_that_are_given():
    all_of = weights()
    largest = max(numpy.abs(all_of[name].astype("f4")).max() for name in ATTENTION[:3])
    amax = numpy.full(1, largest, "f4")
    whole = dict(diecast.quantize_for(CONFIG, [(name, all_of[name]) for name in ATTENTION[:3]],
                                      device="host"))
    alone = dict(diecast.quantize_for(CONFIG, [(ATTENTION[1], all_of[ATTENTION[1]])],
                                      amaxes={ATTENTION[1]: amax}, input_scales={ATTENTION[1]: 0.5},
                                      device="host"))
    scale = ATTENTION[1].replace("weight", "input_scale")
    assert alone.pop(scale) == numpy.float32(0.5)
    assert len(alone) == 3 and all(same_bytes(tensor, whole[name]) for name, tensor in alone.items())


def test_what_is_not_quantized_is_passed_on():
    norm, count = numpy.ones(32, "f4"), numpy.arange(3)
    got = diecast.quantize_for(CONFIG, [("model.norm.weight", norm), ("steps", count)], device="host")
    assert got[0][1] is norm and got[1] == ("steps", count)
    assert diecast.quantize_for(CONFIG, []) == []


@pytest.mark.parametrize("config, pairs, options, code", [
    ({}, {MLP[2]: (4, 32)}, {}, "not_supported"),
    (CONFIG, {MLP[0]: (4, 32)}, {}, "invalid_argument"),
    (CONFIG, {MLP[2]: (4, 24)}, {}, "shape_mismatch"),
    (CONFIG, {MLP[2]: (4, 32)}, {"profile": "none"}, "value_not_allowed"),
    (CONFIG, {MLP[2]: (4, 32)}, {"input_scales": {MLP[2]: -1}}, "invalid_argument"),
    (CONFIG, {MLP[2]: (4, 32)}, {"amaxes": {MLP[2]: numpy.ones(1, "f8")}}, "shape_mismatch"),
    (CONFIG, {MLP[2]: (4, 32)}, {"device": None}, "invalid_argument"),
])
def test_bad_calls_are_errors_with_a_fix(config, pairs, options, code):
    given = [(name, numpy.ones(shape, "f4")) for name, shape in pairs.items()]
    with pytest.raises(diecast.Error) as caught:
        diecast.quantize_for(config, given, **{"device": "host", **options})
    assert caught.value.code == code and caught.value.fix


def test_tensors_with_rows_apart_are_refused():
    apart = numpy.ones((4, 64), "f4")[:, :32]
    with pytest.raises(diecast.ArgumentError, match="not dense"):
        diecast.quantize_for(CONFIG, [(MLP[2], apart)], device="host")


@pytest.mark.parametrize("given, text", [
    ({"pairs": ["a.weight"]}, "a str is no pair"),
    ({"pairs": [("a.weight", ONE, ONE)]}, "a tuple is no pair"),
    ({"pairs": ONE}, "a float32 is no pair"),
    ({"pairs": [], "amaxes": [("a.weight", ONE)]}, "amaxes is list, no dict"),
    ({"pairs": [], "input_scales": ONE}, "input_scales is ndarray, no dict"),
])
def test_what_is_no_pair_and_no_dict_is_refused(given, text):
    with pytest.raises(diecast.DtypeError, match=text) as caught:
        diecast.quantize_for(CONFIG, **given, device="host")
    assert caught.value.fix
