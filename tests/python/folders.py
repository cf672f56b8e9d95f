"""A small model: its weights, its folder, and reading what became of one."""

import json

import ml_dtypes
import numpy
from conftest import TYPES

ATTENTION = [f"model.layers.0.self_attn.{name}_proj.weight" for name in "qkvo"]
MLP = [f"model.layers.0.mlp.{name}_proj.weight" for name in ("gate", "up", "down")]


def weights():
    """A model of one layer in bf16."""
    random = numpy.random.default_rng(3)
    shapes = {"model.embed_tokens.weight": (16, 32), "model.norm.weight": (32,), "lm_head.weight": (16, 32)}
    shapes |= dict.fromkeys(ATTENTION + MLP, (32, 32))
    return {name: random.standard_normal(shape).astype(ml_dtypes.bfloat16)
            for name, shape in shapes.items()}


def _write(path, tensors):
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "BF16", "shape": tensor.shape, "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text +
                     b"".join(tensor.tobytes() for tensor in tensors.values()))


def make_model(folder, tensors, layers=1):
    """A folder with these weights, all bf16."""
    folder.mkdir()
    _write(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps({"num_hidden_layers": layers}))
    return folder


def read(path):
    whole = path.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header, data = json.loads(whole[8:8 + size]), whole[8 + size:]
    header.pop("__metadata__", None)
    return {name: numpy.frombuffer(data[slice(*of["data_offsets"])], TYPES[of["dtype"]]).reshape(of["shape"])
            for name, of in header.items()}
