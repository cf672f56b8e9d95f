"""diecast.quantize_for with torch tensors: parameters go in, tensors with the bits of NumPy's come out."""

import ml_dtypes
import numpy
import torch

import diecast

FAMILY = [f"model.layers.0.self_attn.{name}_proj.weight" for name in "qkv"]
CONFIG = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": []}}


def test_parameters_become_the_tensors_of_a_folder():
    torch.manual_seed(5)
    given = {name: torch.nn.Parameter(torch.randn(32, 48, dtype=torch.bfloat16)) for name in FAMILY}
    norm = torch.ones(48)
    got = dict(diecast.quantize_for(CONFIG, [*given.items(), ("model.norm.weight", norm)], device="host"))
    assert got.pop("model.norm.weight") is norm
    arrays = {name: tensor.detach().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
              for name, tensor in given.items()}
    wanted = dict(diecast.quantize_for(CONFIG, arrays.items(), device="host"))
    assert got.keys() == wanted.keys() and len(got) == 12
    for name, array in wanted.items():
        tensor = got[name]
        assert isinstance(tensor, torch.Tensor) and not tensor.requires_grad, name
        assert tuple(tensor.shape) == array.shape, name
        raw = tensor.reshape(-1).view(torch.uint8).numpy()
        assert numpy.array_equal(raw, numpy.frombuffer(array.tobytes(), numpy.uint8)), name
