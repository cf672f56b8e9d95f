"""Weights for a quantized folder on the host device: the bits of that folder, given scales, bad input."""

import json

import ml_dtypes
import numpy
import pytest
from conftest import TYPES, same_bytes

import diecast

ATTENTION = [f"model.layers.0.self_attn.{name}_proj.weight" for name in "qkvo"]
MLP = [f"model.layers.0.mlp.{name}_proj.weight" for name in ("gate", "up", "down")]
CONFIG = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": []}}


def weights():
    """A model of one layer in bf16."""
    random = numpy.random.default_rng(3)
    shapes = {"model.embed_tokens.weight": (16, 32), "model.norm.weight": (32,), "lm_head.weight": (16, 32)}
    shapes |= dict.fromkeys(ATTENTION + MLP, (32, 32))
    return {name: random.standard_normal(shape).astype(ml_dtypes.bfloat16)
            for name, shape in shapes.items()}


def write(path, tensors):
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "BF16", "shape": tensor.shape, "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text +
                     b"".join(tensor.tobytes() for tensor in tensors.values()))


def read(path):
    whole = path.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header, data = json.loads(whole[8:8 + size]), whole[8 + size:]
    header.pop("__metadata__", None)
    return {name: numpy.frombuffer(data[slice(*of["data_offsets"])], TYPES[of["dtype"]]).reshape(of["shape"])
            for name, of in header.items()}


def test_the_bits_of_the_folder(tmp_path):
    model, small = tmp_path / "model", tmp_path / "small"
    model.mkdir()
    write(model / "model.safetensors", weights())
    (model / "config.json").write_text('{"num_hidden_layers": 1}')
    diecast.quantize_folder(model, small, device="host")
    text = (small / "config.json").read_text()
    wanted = read(small / "model.safetensors")
    for config in (text, json.loads(text)):
        got = dict(diecast.quantize_for(config, weights().items(), device="host"))
        assert got.keys() == wanted.keys()
        for name, tensor in wanted.items():
            assert got[name].shape == tensor.shape and same_bytes(got[name], tensor), name


def test_a_folder_is_verified(tmp_path):
    model, small = tmp_path / "model", tmp_path / "small"
    model.mkdir()
    write(model / "model.safetensors", weights())
    (model / "config.json").write_text('{"num_hidden_layers": 1}')
    diecast.quantize_folder(model, small, device="host")
    report = diecast.verify_folder(small)
    assert report["quantized"] == 7 and report["faults"] == []
    assert all(engine["loads"] and engine["version"] for engine in report["engines"].values())
    assert {"vllm", "sglang"} == report["engines"].keys()
    (small / "config.json").write_text("{}")
    (small / "hf_quant_config.json").unlink()
    report = diecast.verify_folder(str(small))
    assert not any(engine["loads"] for engine in report["engines"].values())
    assert all(fault["what"] and fault["fix"] and fault["engines"] for fault in report["faults"])
    for path, code in ((small / "model.safetensors", "invalid_argument"), (tmp_path / "none", "file_not_found")):
        with pytest.raises(diecast.Error) as caught:
            diecast.verify_folder(path)
        assert caught.value.code == code and caught.value.fix


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
