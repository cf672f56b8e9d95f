"""What a folder in compressed-tensors' layout means, taken apart here and by no engine."""

import shutil

import torch
from safetensors.torch import load_file, save_file

E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
PARTS = ("weight_packed", "weight_scale", "weight_global_scale", "input_global_scale")


def values_of_codes(packed):
    """[n, k/2] bytes, the first code in the low nibble, to [n, k] values of E2M1."""
    codes = torch.stack((packed & 15, packed >> 4), -1).flatten(-2).long()
    return E2M1[codes & 7] * torch.where(codes > 7, -1.0, 1.0)


def scaled(values, scales):
    """Each block of a row times its scale: [n, k] and [n, k / block]."""
    block = values.shape[-1] // scales.shape[-1]
    return (values.unflatten(-1, (-1, block)) * scales.unsqueeze(-1)).flatten(-2)


def block_scales(tensors, module):
    """The factors of a module's blocks: E4M3 over a global scale, or powers of two."""
    scales = tensors[module + ".weight_scale"]
    if scales.dtype == torch.uint8:
        return torch.ldexp(torch.ones(scales.shape), scales.int() - 127)
    return scales.float() * (1 / tensors[module + ".weight_global_scale"])


def decoded(folder):
    """All tensors by name, the quantized ones in float32; and the names of these."""
    tensors, plain, quantized = load_file(f"{folder}/model.safetensors"), {}, []
    for name, tensor in tensors.items():
        module, _, part = name.rpartition(".")
        if module + ".weight_scale" not in tensors:
            plain[name] = tensor
        elif part in ("weight", "weight_packed"):
            values = tensor.float() if part == "weight" else values_of_codes(tensor)
            plain[module + ".weight"] = scaled(values, block_scales(tensors, module))
            quantized.append(module + ".weight")
        elif part not in PARTS:
            plain[name] = tensor
    return plain, quantized


def change(folder, out, edit):
    """A copy of a folder whose tensors `edit` has changed."""
    shutil.copytree(folder, out)
    tensors = load_file(f"{out}/model.safetensors")
    edit(tensors)
    save_file(tensors, f"{out}/model.safetensors", {"format": "pt"})
