"""modelopt.torch.kernels.quantization.gemm.fp4_kernel and fp4_kernel_hopper."""

import torch

import diecast.torch as ops

from ..torch._arguments import number, tensors
from ._refuse import only

_WORDS = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}


def fp4_dequantize(packed_tensor, scale_tensor, global_scale, block_size=16, tile_size=128,
                   dtype=torch.float32):
    """Packed u8 [.., N/2] and E4M3 scales [.., N/block_size] under the decode scale, as `dtype`."""
    only("fp4_dequantize", dtype=(dtype, tuple(_WORDS)))
    tensors("fp4_dequantize", packed_tensor=packed_tensor, scale_tensor=scale_tensor)
    decode = number("fp4_dequantize", packed_tensor, global_scale=global_scale)
    return ops.fp4_dequantize(packed_tensor, scale_tensor, decode, block_size=block_size,
                              tile_size=tile_size, dtype=_WORDS[dtype])


def _scale_arguments(function, amax, global_amax, quantize_block_scales, fp8_max_for_normalization):
    """The amaxes, and options of the ops of scales. Upstream takes its CUDA extension for the scales of
    amaxes with one dimension."""
    tensors(function, amax=amax)
    amax = amax.float().contiguous()
    if global_amax is not None:
        global_amax = number(function, amax, global_amax=global_amax)
    if quantize_block_scales and fp8_max_for_normalization != 448.0 and amax.numel() != 0:
        largest = amax.max().reshape(1) if global_amax is None else global_amax
        global_amax = largest * (448.0 / fp8_max_for_normalization)
    extension = amax.is_cuda and amax.squeeze().ndim <= 1
    return amax, global_amax, {"unrounded": not quantize_block_scales,
                               "fp8": "extension" if extension else "eager"}


def compute_fp4_scales(amax, global_amax=None, quantize_block_scales=True,
                       fp8_max_for_normalization=448.0):
    """f32 of amax's shape: the scales of blocks with these amaxes."""
    amax, global_amax, options = _scale_arguments("compute_fp4_scales", amax, global_amax,
                                                  quantize_block_scales, fp8_max_for_normalization)
    return ops.compute_fp4_scales(amax, global_amax, **options)


def static_blockwise_fp4_fake_quant(x, amax, global_amax=None, quantize_block_scales=True,
                                    fp8_max_for_normalization=448.0, out_dtype=None):
    """x in blocks of x.numel() / amax.numel() neighbours, under given amaxes."""
    tensors("static_blockwise_fp4_fake_quant", x=x)
    amax, global_amax, options = _scale_arguments("static_blockwise_fp4_fake_quant", amax, global_amax,
                                                  quantize_block_scales, fp8_max_for_normalization)
    out = torch.empty(x.shape, dtype=out_dtype or x.dtype, device=x.device)
    return ops.static_blockwise_fp4_fake_quant(x.contiguous(), amax, global_amax, out=out, **options)


def fp4_fake_quant_block(x, global_amax, block_size=16, tile_rows=16, tile_cols=64, num_warps=None,
                         num_stages=None):
    """x with each block of a row under its own amax and the tensor's."""
    tensors("fp4_fake_quant_block", x=x)
    amax = number("fp4_fake_quant_block", x, global_amax=global_amax)
    return ops.fp4_fake_quant_block(x.contiguous(), amax, block_size=block_size)
