"""Folders quantized as the command does with the same options, bad options, and folders verified."""

import json
import re
import subprocess

import numpy
import pytest
from folders import MLP, make_model, weights

import diecast
from diecast.__main__ import _command

WORDS = {"row_scaled": "--row-scale", "s128x4": "128x4"}  # that the command calls otherwise
ELSEWHERE = {"--help", "--json", "--verbose", "--target", "--nibbles"}  # high_first
CHOICES = [
    {}, {"profile": "torchao"}, {"four_over_six": "mse", "e4m3_bound": 256}, {"e4m3_bound": 256},
    {"row_scaled": True}, {"format": "mxfp8"}, {"format": "mxfp4", "config": "sglang"},
    {"format": "nvfp4-w4a16"}, {"config": "compressed-tensors"}, {"recipe": "mlp"}, {"recipe": "mlp+o"},
    {"format": "mxfp8", "experts": "fused"}, {"first_layers": 1}, {"last_layers": 1},
    {"include": "lm_head.weight"}, {"keep": "*down_proj*"}, {"exclude": "*down_proj*"},
    {"mxfp8": "*down_proj*"}, {"input_scale": 0.25}, {"input_scale": -1.0}, {"scale_layout": "s128x4"},
    {"include": "nothing"}, {"include": "nothing", "strict": True}, {"exclude": "*"},
    {"exclude": "*", "force": True}, {"keep_fp8": True}, {"jobs": 3},
    {"format": "fp5"}, {"config": ""}, {"recipe": "moe"}, {"experts": "all"}, {"scale_layout": "4x4"},
    {"first_layers": -1}, {"jobs": 257}, {"input_scales": "none.json"},
]


def two_layers():
    first = weights()
    return first | {name.replace("layers.0", "layers.1"): -tensor for name, tensor in first.items()
                    if "layers.0" in name}


def arguments(options):
    for name, value in options.items():
        yield WORDS.get(name, "--" + name.replace("_", "-"))
        if value is not True:
            yield WORDS.get(value, str(value))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else None


def command(*words):
    return subprocess.run([_command(), *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("folders") / "model", two_layers(), layers=2)


@pytest.mark.parametrize("options", CHOICES, ids=json.dumps)
def test_a_folder_is_what_the_command_makes(tmp_path, model, options):
    told = command("quantize", model, tmp_path / "command", "--target", "host", *arguments(options))
    try:
        report = diecast.quantize_folder(model, tmp_path / "python", device="host", **options)
    except diecast.Error as error:
        assert told.returncode != 0 and error.fix, told.stdout
    else:
        assert told.returncode == 0, told.stderr
        assert report["quantized"] + report["copied"] == len(two_layers())
    assert contents(tmp_path / "python") == contents(tmp_path / "command")


@pytest.mark.parametrize("options", [{}, {"format": "mxfp8", "keep": "*down_proj*"}], ids=json.dumps)
def test_a_dry_run_gives_the_commands_plan(tmp_path, model, options):
    plan = diecast.quantize_folder(model, dry_run=True, **options)
    assert plan == json.loads(command("quantize", model, "--dry-run", "--json", *arguments(options)).stdout)
    assert {entry["name"] for entry in plan["tensors"]} == two_layers().keys()
    with pytest.raises(diecast.Error) as caught:
        diecast.quantize_folder(tmp_path / "none", dry_run=True)
    assert caught.value.code == "file_not_found"
    with pytest.raises(TypeError):
        diecast.quantize_folder(model, device="host")


def test_every_option_of_the_command_is_taken():
    named = set(re.findall(r"--[a-z0-9-]+", "".join(
        line for line in command("quantize", "--help").stdout.splitlines(True) if re.match(r" +-", line))))
    taken = {WORDS.get(name, "--" + name.replace("_", "-"))
             for name in diecast.quantize_folder.__kwdefaults__}
    assert named - ELSEWHERE <= taken
    assert taken - named == {"--high-first", "--device", "--runtime"}


def test_options_of_one_folder(tmp_path, model):
    """Those that need another model: values that are not finite, an output that is there, calibration."""
    tensors = two_layers()
    tensors[MLP[2]][0, 0] = numpy.nan
    broken, out = make_model(tmp_path / "broken", tensors, layers=2), tmp_path / "out"
    with pytest.raises(diecast.Error) as caught:
        diecast.quantize_folder(broken, out, device="host")
    assert caught.value.code == "nonfinite_values"
    assert diecast.quantize_folder(broken, out, device="host", allow_nonfinite=True)["nonfinite"] == 1
    with pytest.raises(diecast.Error) as caught:
        diecast.quantize_folder(model, out, device="host")
    assert caught.value.code == "file_exists"
    scales = tmp_path / "scales.json"
    scales.write_text(json.dumps({MLP[2].replace("weight", "input_scale"): 0.5}))
    diecast.quantize_folder(model, out, device="host", overwrite=True, input_scales=scales)
    again = tmp_path / "again"
    assert command("quantize", model, again, "--target", "host", "--input-scales", scales).returncode == 0
    assert contents(out) == contents(again)


@pytest.mark.parametrize("options,code", [
    ({"format": "fp5"}, "value_not_allowed"), ({"config": ""}, "value_not_allowed"),
    ({"recipe": "moe"}, "value_not_allowed"), ({"last_layers": -1}, "value_not_allowed"),
    ({"jobs": 257}, "value_not_allowed"), ({"input_scale": 0}, "invalid_argument"),
    ({"input_scale": float("nan")}, "invalid_argument"), ({"high_first": True}, "not_supported"),
    ({"profile": "te_fast"}, "not_supported"), ({"input_scales": "none.json"}, "file_not_found"),
])
def test_options_that_say_nothing_are_refused(tmp_path, model, options, code):
    with pytest.raises(diecast.Error) as caught:
        diecast.quantize_folder(model, tmp_path / "out", device="host", **options)
    assert caught.value.code == code and caught.value.fix and not (tmp_path / "out").exists()


def test_a_folder_is_verified(tmp_path):
    model, small = make_model(tmp_path / "model", weights()), tmp_path / "small"
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
