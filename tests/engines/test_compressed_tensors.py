"""transformers with compressed-tensors reads what `diecast quantize` writes, and means the same by it."""

import os
import subprocess

import pytest
import torch
import transformers
from decoded import change, decoded

SIZES = {"vocab_size": 64, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
         "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
MODELS = {  # transformers' class, its matrices in layers, and what else its config says
    "llama": ("LlamaForCausalLM", 14, {}),
    "qwen3": ("Qwen3ForCausalLM", 14, {"head_dim": 32, "tie_word_embeddings": True}),
    "phi3": ("Phi3ForCausalLM", 8, {}),
}
PROMPT = torch.tensor([[1, 17, 45, 7, 33, 60, 5, 12]])


@pytest.fixture(scope="module", params=MODELS)
def source(request, tmp_path_factory):
    """A small model with drawn weights, saved by transformers: its folder and its matrices in layers."""
    name, count, more = MODELS[request.param]
    cls = getattr(transformers, name)
    torch.manual_seed(1)
    model = cls(cls.config_class(**SIZES, **more))
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.data.normal_(0, parameter.shape[1] ** -0.5)
    folder = tmp_path_factory.mktemp(request.param) / "model"
    model.to(torch.bfloat16).save_pretrained(folder)
    return folder, count


def quantized(source, tmp_path, form):
    out = tmp_path / form
    done = subprocess.run([os.environ["DIECAST_TOOL"], "quantize", source, out, "--target", "host",
                           "--format", form, "--config", "compressed-tensors"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def loaded(folder):
    """The model with unpacked weights, run once, and what was missing or left over."""
    cls = getattr(transformers, transformers.AutoConfig.from_pretrained(folder).architectures[0])
    model, told = cls.from_pretrained(folder, dtype=torch.bfloat16, output_loading_info=True)
    with torch.no_grad():
        model.eval()(PROMPT)  # compressed-tensors unpacks in the first pass
    return model, {kind: names for kind, names in told.items() if names and kind.endswith("_keys")}


def faults(folder, meaning):
    """How the model that transformers makes of a folder differs from what another one means."""
    model, told = loaded(folder)
    plain, names = decoded(meaning)
    have = model.state_dict()
    wrong = [name for name in names if not torch.equal(have[name], plain[name].bfloat16())]
    return len(names), {**told, **({"wrong": wrong} if wrong else {})}


@pytest.mark.parametrize("form", ["nvfp4", "nvfp4-w4a16", "mxfp8", "mxfp4"])
def test_every_weight_is_read_as_it_is_meant(source, tmp_path, form):
    folder = quantized(source[0], tmp_path, form)
    assert faults(folder, folder) == (source[1], {})


def one_code(tensors):
    tensors["model.layers.1.mlp.down_proj.weight_packed"][3, 5] ^= 0x10


def reciprocal(tensors):
    tensors["model.layers.1.mlp.down_proj.weight_global_scale"].reciprocal_()


def missing(tensors):
    del tensors["model.layers.1.mlp.down_proj.weight_scale"]


@pytest.mark.parametrize("edit", [one_code, reciprocal, missing])
def test_a_wrong_folder_is_told(source, tmp_path, edit):
    folder = quantized(source[0], tmp_path, "nvfp4")
    change(folder, tmp_path / "wrong", edit)
    assert faults(tmp_path / "wrong", folder)[1] != {}
