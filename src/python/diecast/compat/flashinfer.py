"""FlashInfer's quantization functions (flashinfer.quantization). Codes and scales are uint8."""

import enum
import os

import torch

import diecast.torch as ops

from .._errors import ArgumentError
from ..torch._arguments import sizes, tensors
from ._refuse import only


class SfLayout(enum.Enum):
    """Where block scales lie. FlashInfer's own enumeration is taken too."""
    layout_128x4 = 0
    layout_8x4 = 1
    layout_linear = 2


_LAYOUTS = {"layout_128x4": "s128x4", "layout_8x4": "s8x4", "layout_linear": "linear"}


def _layout(function, **argument):
    ((name, value),) = argument.items()
    word = getattr(value, "name", value)
    only(function, **{name: (word, tuple(_LAYOUTS))})
    return _LAYOUTS[word]


def _profile(backend, device):
    """Whose bits: FlashInfer's variable says whether it divides exactly."""
    exact = os.environ.get("FLASHINFER_DISABLE_FP4_QUANT_FAST_MATH") == "1"
    if device.type == "cpu" and not exact:
        raise ArgumentError("not_supported", "nvfp4_quantize: its bits are of a GPU's approximate reciprocal",
                            "pass tensors of a GPU, or set FLASHINFER_DISABLE_FP4_QUANT_FAST_MATH=1, which "
                            "divides exactly")
    return f"flashinfer_{'' if backend == 'cuda' else 'dsl_'}{'exact' if exact else 'fast'}"


def nvfp4_quantize(a, a_global_sf, sfLayout=SfLayout.layout_128x4, do_shuffle=False, sf_vec_size=16,
                   enable_pdl=None, backend="cuda", per_token_activation=False,
                   expanded_idx_to_permuted_idx=None):
    """bf16 or f16 [M, K] under the encode scale f32 [1]: codes [M, K/2] and block scales, linear
    [M, K/16] or padded to whole tiles."""
    only("nvfp4_quantize", do_shuffle=(do_shuffle, (False,)), sf_vec_size=(sf_vec_size, (16,)),
         backend=(backend, ("cuda", "cute-dsl")),
         per_token_activation=(per_token_activation, (False,)))
    if expanded_idx_to_permuted_idx is not None:
        only("nvfp4_quantize", expanded_idx_to_permuted_idx=("a tensor", (None,)))
    tensors("nvfp4_quantize", a=a, a_global_sf=a_global_sf)
    data, scale = ops.quantize_nvfp4(a, encode=a_global_sf, profile=_profile(backend, a.device),
                                     layout=_layout("nvfp4_quantize", sfLayout=sfLayout))
    return data, scale.view(torch.uint8)


def mxfp8_quantize(input, is_sf_swizzled_layout=True, alignment=32, enable_pdl=None, backend="cuda",
                   sf_swizzle_layout=None):
    """bf16 or f16 [.., K]: E4M3 [.., K padded to `alignment`], the padding 0, and one line of scales."""
    if sf_swizzle_layout is not None:
        layout = _layout("mxfp8_quantize", sf_swizzle_layout=sf_swizzle_layout)
    else:
        layout = "s128x4" if is_sf_swizzled_layout else "linear"
    if alignment <= 0:
        raise ArgumentError("invalid_argument", f"mxfp8_quantize: alignment = {alignment}",
                            "pass a multiple of 32")
    padding = -sizes("mxfp8_quantize", input=input)[1] % alignment
    padded = torch.nn.functional.pad(input, (0, padding)) if padding else input
    data, scale = ops.quantize_mx(padded, layout=layout)
    return data, scale.view(torch.uint8).reshape(-1)


def block_scale_interleave(unswizzled_sf):
    """Linear scales u8 [M, K] or [E, M, K] in tiles of 128x4, each matrix padded, one line."""
    tensors("block_scale_interleave", unswizzled_sf=unswizzled_sf)
    batch = unswizzled_sf.shape[0] if unswizzled_sf.ndim == 3 else 1
    return ops.arrange_scales(unswizzled_sf.contiguous(), batch=batch).reshape(-1)


nvfp4_block_scale_interleave = block_scale_interleave


def e2m1_and_ufp8sf_scale_to_float(e2m1_tensor, ufp8_scale_tensor, global_scale_tensor=None,
                                   sf_vec_size=16, ufp8_type=1, is_sf_swizzled_layout=True,
                                   is_sf_8x4_layout=False):
    """f32 [M, K] on the CPU: codes [M, K/2] times E4M3 scales times the decode scale."""
    only("e2m1_and_ufp8sf_scale_to_float", sf_vec_size=(sf_vec_size, (16,)),
         ufp8_type=(ufp8_type, (1,)))
    tensors("e2m1_and_ufp8sf_scale_to_float", e2m1_tensor=e2m1_tensor, ufp8_scale_tensor=ufp8_scale_tensor)
    layout = "linear" if not is_sf_swizzled_layout else "s8x4" if is_sf_8x4_layout else "s128x4"
    decode = global_scale_tensor
    if decode is None:
        decode = torch.ones(1, dtype=torch.float32, device=e2m1_tensor.device)
    return ops.dequantize_nvfp4(e2m1_tensor, ufp8_scale_tensor, decode=decode, layout=layout,
                                dtype="f32").cpu()
